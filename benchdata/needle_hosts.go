package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"go.dw1.io/mmapfile/benchdata/internal/needle"
)

// The searches on other hosts, and at other commits, have their raw results in needle/*.txt, each from
// a run of its own:
//
//	make needle ROUNDS=9 OUT=needle/xeon.txt
const hostsDir = "needle"

// publishNeedle writes the page about the searches.
func publishNeedle(res *results, file string, check bool) error {
	dir := filepath.Join(filepath.Dir(file), hostsDir)
	others, err := readAll(dir, "cpu")
	if err != nil {
		return err
	}
	page, err := renderNeedlePage(res, others)
	if err != nil {
		return err
	}
	return artifact{filepath.Join(dir, "README.md"), []byte(page)}.put(check)
}

// renderNeedlePage is that page: the tables of all ways on the host of all other figures, and then host by host.
func renderNeedlePage(res *results, others []*results) (string, error) {
	tables, err := renderNeedle(res)
	if err != nil {
		return "", err
	}
	hosts, err := renderHosts(append([]*results{res}, others...))
	if err != nil {
		return "", err
	}
	return "# Searches\n\n" +
		"A published experiment looks for one word that is not zero, at the end of a file of zeros, in thirteen ways. " +
		"`make needle` repeats all of them, interleaved, with `scan.IndexNot` beside them. " +
		"Two cores read a mapping that is in memory as fast as memory gives it, and faster than they copy it. " +
		"If the file is not in memory, the disk decides more than the way. " +
		"The last of the three tables counts the lines of Go's own sources.\n\n" +
		tables + "\n" + hosts, nil
}

// renderHosts has for each run what IndexNot has against the best of the other ways, and the bare loops.
func renderHosts(runs []*results) (string, error) {
	var b strings.Builder
	b.WriteString("## Host by host\n\n" +
		"The first byte that is not zero, at the end of the file: median GB/s, and in parentheses the lowest and the highest round. " +
		"Compare only figures of one run. Made by `make -C benchdata readme`.\n")
	for _, res := range runs {
		s, err := newSearched(res, "Needle")
		if err != nil {
			return "", err
		}
		load, _, _ := strings.Cut(res.config["load"], " ")
		fmt.Fprintf(&b, "\n### %s, %.10s\n\n%sThe load average was %s when it began.\n\n", res.config["cpu"], res.config["date"],
			origin(res, "make needle SIZE="+res.config["size"]), cmp.Or(load, "unknown"))
		b.WriteString("| `scan.IndexNot` at that commit | GB/s | best of the published ways | GB/s | ratio | memory, eight words a step | ratio |\n|---|--:|---|--:|--:|--:|--:|\n")
		for _, way := range []string{"scan", "scan-warm"} {
			b.WriteString(s.indexNotLine(way))
		}
		b.WriteString(s.loopTable())
	}
	return b.String(), nil
}

// indexNotLine compares IndexNot with the best of the published ways, and with memory, file in memory.
func (s *searched) indexNotLine(name string) string {
	var own, best, memory needle.Way
	for _, w := range needle.Ways() {
		switch {
		case w.Name == name:
			own = w
		case w.Name == "memory":
			memory = w
		case !strings.HasPrefix(w.Name, "scan") && s.speedHere(w, "warm") > s.speedHere(best, "warm"):
			best = w
		}
	}
	speed := s.speedHere(own, "warm")
	over := func(other needle.Way) string {
		if v := s.speedHere(other, "warm"); v > 0 {
			return digits(speed / v)
		}
		return digits(0)
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %s | %s |\n", strings.TrimPrefix(own.What, "`scan`, "), s.spread("Needle", own.Name),
		best.What, digits(s.speedHere(best, "warm")), over(best), s.spread("Needle", memory.Name), over(memory))
}

// spread is the median of a way with all workers, and how far its rounds lie apart.
func (s *searched) spread(bench, way string) string {
	times := s.res.times[searchRow(bench, "warm", s.workers)][way]
	if len(times) == 0 {
		return digits(0)
	}
	speed := func(sec float64) string { return digits(s.size / sec / 1e9) }
	return fmt.Sprintf("%s (%s–%s)", speed(median(times)), speed(slices.Max(times)), speed(slices.Min(times)))
}

// loopTable is the table of the bare loops, empty for a run that has none of them.
func (s *searched) loopTable() string {
	places := needle.LoopPlaces()
	if !slices.ContainsFunc(places, func(p string) bool { return slices.Contains(s.res.rows, searchRow(loopRows+p, "warm", s.workers)) }) {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n| loop, %d workers | memory | mapped before | fresh mapping |\n|---|--:|--:|--:|\n", s.workers)
	for _, w := range needle.Loops(places[0]) {
		fmt.Fprintf(&b, "| %s |", w.What)
		for _, p := range places {
			fmt.Fprintf(&b, " %s |", s.spread(loopRows+p, w.Name))
		}
		b.WriteString("\n")
	}
	return b.String()
}
