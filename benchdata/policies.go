package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Ways to choose between a store and a system call that were tried have their raw results in
// policies/*.txt, and in them the name, and why it is not the one that is used:
//
//	benchdata run -rounds 10 -bench Policy -impl '^(os|mmapfile)$' \
//		-policy always -why 'it reads each page before it is written' -out policies/always.txt

// readAll reads all raw results in dir. What is compared is always within one file: a run.
// Each has to have a line with key.
func readAll(dir, key string) ([]*results, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil {
		return nil, err
	}
	slices.Sort(files)
	var list []*results
	for _, file := range files {
		res, err := readResults(file)
		if err != nil {
			return nil, err
		}
		if res.config[key] == "" {
			return nil, fmt.Errorf("%s has no line with its %s", file, key)
		}
		list = append(list, res)
	}
	return list, nil
}

// policiesWithin are what took the place of mmapfile in the rows of this run, by a key "policy".
func (res *results) policiesWithin(rows []string) []string {
	var names []string
	for _, row := range rows {
		for impl := range res.times[row] {
			if implNames[impl] == "" && !slices.Contains(names, impl) {
				names = append(names, impl)
			}
		}
	}
	slices.Sort(names)
	return names
}

// renderPolicies is a page about them.
func renderPolicies(res *results, policies []*results) string {
	names := []string{"mmapfile"}
	for _, p := range policies {
		names = append(names, p.config["policy"])
	}
	var s strings.Builder
	s.WriteString("# Ways to write that were tried\n\nmmapfile / `os.File`, by the state of the file. Made by `make -C benchdata readme`.\n\n")
	fmt.Fprintf(&s, "| state | %s |\n|---|%s\n", strings.Join(names, " | "), strings.Repeat("--:|", len(names)))
	all := append([]*results{res}, policies...)
	for _, row := range stateRows(all) {
		fmt.Fprintf(&s, "| `%s` |", strings.TrimPrefix(row, writeStates))
		for _, r := range all {
			fmt.Fprintf(&s, " %s |", number(r.ratio(row, "mmapfile", "os")))
		}
		s.WriteString("\n")
	}
	s.WriteString("\n")
	for _, p := range policies {
		fmt.Fprintf(&s, "- %s: %s (%s, %s, %d rounds)\n", p.config["policy"], p.config["why"], p.config["fs"], p.config["kernel"], p.rounds())
	}
	return s.String()
}

// writeStates is what the rows of the states begin with.
const writeStates = "Policy/state="

// stateRows are the states that one of the runs has, in their order.
func stateRows(runs []*results) []string {
	var rows []string
	for _, res := range runs {
		for _, row := range res.rows {
			if strings.HasPrefix(row, writeStates) && res.ratio(row, "mmapfile", "os") > 0 && !slices.Contains(rows, row) {
				rows = append(rows, row)
			}
		}
	}
	return rows
}
