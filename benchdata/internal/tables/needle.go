package tables

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"go.dw1.io/mmapfile/benchdata/internal/needle"
	"go.dw1.io/mmapfile/benchdata/internal/results"
)

// searched are the results of searches, in billions of bytes a second.
type searched struct {
	name    string // of the benchmark
	res     *results.Set
	size    float64
	workers int // of the ways that run in parallel, in the first table
}

func newSearched(res *results.Set, name string) (*searched, error) {
	size, err := results.ParseSize(res.Config["size"])
	if err != nil {
		return nil, err
	}
	workers, err := strconv.Atoi(res.Config["workers"])
	if err != nil {
		return nil, fmt.Errorf("number of workers: %w", err)
	}
	return &searched{name, res, float64(size), workers}, nil
}

// speed is the median speed of a way, 0 if it was not measured.
func (s *searched) speed(way, state string, workers int) float64 {
	if sec := s.res.Median(results.SearchRow(s.name, state, workers), way); sec > 0 {
		return s.size / sec / 1e9
	}
	return 0
}

// speedHere is that of the first table: there is one number for each way.
func (s *searched) speedHere(w needle.Way, state string) float64 {
	if w.Parallel {
		return s.speed(w.Name, state, s.workers)
	}
	return s.speed(w.Name, state, 1)
}

// compare is a table of ways in some states. The speed-up is that over the first of them.
func (s *searched) compare(ways []needle.Way, what string, states ...string) grid {
	g := grid{{fmt.Sprintf("%s, %d workers where in parallel", what, s.workers)}}
	for _, state := range states {
		g[0] = append(g[0], state+", GB/s", "speed-up")
	}
	for _, w := range ways {
		line := []string{w.What}
		for _, state := range states {
			speed, first := s.speedHere(w, state), s.speedHere(ways[0], state)
			up := 0.0
			if first > 0 {
				up = speed / first
			}
			line = append(line, results.Digits(speed), results.Digits(up))
		}
		g = append(g, line)
	}
	return g
}

// parallel is the table of the ways that run in parallel, by their number of workers.
func (s *searched) parallel(ways []needle.Way) grid {
	var counts []int
	for _, row := range s.res.Rows {
		_, n, _ := strings.Cut(row, "/workers=")
		if n, err := strconv.Atoi(n); err == nil && !slices.Contains(counts, n) {
			counts = append(counts, n)
		}
	}
	slices.Sort(counts)

	g := grid{{"GB/s by the number of workers"}}
	for _, n := range counts {
		g[0] = append(g[0], strconv.Itoa(n))
	}
	for _, state := range []string{"warm", "cold"} {
		for _, w := range ways {
			if !w.Parallel || s.speedHere(w, state) == 0 {
				continue
			}
			line := []string{strings.TrimSuffix(w.What, ", in parallel") + ", " + state}
			for _, n := range counts {
				line = append(line, results.Digits(s.speed(w.Name, state, n)))
			}
			g = append(g, line)
		}
	}
	return g
}

// notes say what was not measured, or not as it should have been.
func (s *searched) notes(ways []needle.Way) []string {
	var notes []string
	for _, w := range ways {
		if why := s.res.Config["missing-"+w.Name]; why != "" {
			notes = append(notes, fmt.Sprintf("Not measured: %s; %s.", w.What, why))
		}
		if note := s.res.Config["note-"+w.Name]; note != "" {
			notes = append(notes, fmt.Sprintf("%s: %s.", w.What, note))
		}
	}
	if why := s.res.Config["missing-cold"]; why != "" {
		return append(notes, "Not measured: cold; "+why+".")
	}
	least, most, searches, partial := 100.0, 0.0, 0, 0
	for row, values := range s.res.Resident {
		if !strings.Contains(row, "/state=warm") {
			most = max(most, slices.Max(values))
			continue
		}
		for _, v := range values {
			least = min(least, v)
			searches++
			if v < 100 {
				partial++
			}
		}
	}
	if partial > 0 {
		notes = append(notes, fmt.Sprintf("Before %d of %d warm searches a part of the file was not in memory: at most %s%% of it.", partial, searches, results.Digits(100-least)))
	}
	switch {
	case most >= 99:
		notes = append(notes, "The file did not leave the memory: cold is warm here.")
	case most > 0:
		notes = append(notes, fmt.Sprintf("Up to %s%% of the file stayed in memory before a cold search.", results.Digits(math.Ceil(most*100)/100)))
	default:
		notes = append(notes, "Before each cold search, none of the file was in memory (mincore). Whether the disk, or the host of a virtual machine, had it in a cache of its own cannot be seen from here.")
	}
	return notes
}

// needleSections are all tables, with their notes after the last one.
func needleSections(res *results.Set) ([]section, error) {
	s, err := newSearched(res, "Needle")
	if err != nil {
		return nil, err
	}
	ways, lineWays := needle.Ways(), needle.LineWays()
	lines := *s
	lines.name = "Lines"
	return []section{
		{grid: s.compare(ways, "way", "warm", "cold")},
		{grid: s.parallel(ways)},
		{grid: lines.compare(lineWays, "counting lines", "warm"), notes: "Each file: " + results.SizeName(res.Config["size"]) + ".\n" + strings.Join(s.notes(slices.Concat(ways, lineWays)), "\n")},
	}, nil
}

// renderNeedle are all tables in Markdown. They leave no way out.
func renderNeedle(res *results.Set) (string, error) {
	list, err := needleSections(res)
	if err != nil {
		return "", err
	}
	for _, s := range list {
		for _, line := range s.grid[1:] {
			if line[1] == results.Digits(0) && !strings.Contains("\n"+list[len(list)-1].notes, "\nNot measured: "+line[0]+";") {
				return "", fmt.Errorf("%s was not measured", line[0])
			}
		}
	}
	command := "make needle SIZE=" + cmp.Or(res.Config["size"], "unknown")
	return markdown(list...) + origin(res, command), nil
}

// needlePages is the page about the searches.
func needlePages(res *results.Set, dir string) ([]Artifact, error) {
	tables, err := renderNeedle(res)
	if err != nil {
		return nil, err
	}
	page := "# Searches\n\n" +
		"A published experiment looks for the only word that is not zero, at the end of a file of zeros, in thirteen ways. " +
		"`make needle` repeats all of them, interleaved, with `scan.IndexNot` beside them. " +
		"Two cores read a mapping that is in memory at the speed of memory, and faster than they copy it. " +
		"If the file is not in memory, the disk matters more than the way. " +
		"The last of the three tables counts the lines of Go's own sources.\n\n" +
		tables
	return []Artifact{{filepath.Join(dir, "needle.md"), []byte(page)}}, nil
}
