package main

import (
	"fmt"
	"strings"
)

// The states of a file that is written have their raw results on other file systems in
// filesystems/*.txt, each from a run of its own:
//
//	BENCH_DIR=/mnt/xfs benchdata run -rounds 5 -bench Policy -impl '^(os|os-again|mmapfile)$' -out filesystems/xfs.txt
//
// and so have those of a file that is larger than half of memory:
//
//	benchdata run -rounds 5 -bench Policy/state=huge -huge 13 -impl '^(os|mmapfile)$' -out filesystems/huge.txt

const (
	systemsDir = "filesystems"
	hugeKey    = "huge"
)

// renderSystems is a page about them, with res, from the file system of all other figures, first.
func renderSystems(res *results, systems []*results) string {
	all := append([]*results{res}, systems...)
	var names, runs []string
	for _, r := range all {
		name := r.config["fs"]
		if size := r.config[hugeKey]; size != "" {
			name += ", a file of " + size
		}
		names = append(names, name)
		runs = append(runs, fmt.Sprintf("%s: %d rounds at commit %s on %.10s, %s", name, r.rounds(), r.config["commit"], r.config["date"], r.config["kernel"]))
	}
	var s strings.Builder
	s.WriteString("# Writes on other file systems\n\nmmapfile / `os.File`, by the state of the file. In parentheses `os.File` against itself, which is the noise. Made by `make -C benchdata readme`.\n\n")
	fmt.Fprintf(&s, "| state | %s |\n|---|%s\n", strings.Join(names, " | "), strings.Repeat("--:|", len(names)))
	for _, row := range stateRows(all) {
		fmt.Fprintf(&s, "| `%s` |", strings.TrimPrefix(row, writeStates))
		for _, r := range all {
			ratio, noise := r.ratio(row, "mmapfile", "os"), r.ratio(row, "os-again", "os")
			switch {
			case ratio == 0:
				s.WriteString(" – |")
			case noise == 0:
				fmt.Fprintf(&s, " %s |", number(ratio))
			default:
				fmt.Fprintf(&s, " %s (%s) |", number(ratio), number(noise))
			}
		}
		s.WriteString("\n")
	}
	fmt.Fprintf(&s, "\n%s.\n", strings.Join(runs, "; "))
	return s.String()
}
