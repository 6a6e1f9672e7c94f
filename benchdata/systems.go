package main

import (
	"fmt"
	"strings"
)

// The states of a file that is written have their raw results on other file systems in
// filesystems/*.txt, each from a run of its own:
//
//	BENCH_DIR=/mnt/xfs benchdata run -rounds 5 -bench Policy -impl '^(os|os-again|mmapfile)$' -out filesystems/xfs.txt

const systemsDir = "filesystems"

// renderSystems is a page about them, with res, from the file system of all other figures, first.
func renderSystems(res *results, systems []*results) string {
	all := append([]*results{res}, systems...)
	var names, runs []string
	for _, r := range all {
		names = append(names, r.config["fs"])
		runs = append(runs, fmt.Sprintf("%s: %d rounds at commit %s on %.10s, %s", r.config["fs"], r.rounds(), r.config["commit"], r.config["date"], r.config["kernel"]))
	}
	var s strings.Builder
	s.WriteString("# Writes on other file systems\n\nmmapfile's time in terms of `os.File`'s, by the state of the file, and in parentheses `os.File`'s against itself, which is the noise; made by `make -C benchdata readme`.\n\n")
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
