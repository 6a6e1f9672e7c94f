package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"go.dw1.io/mmapfile/benchdata/internal/needle"
)

// ofNeedle says whether these are the results of searches.
func (res *results) ofNeedle() bool {
	return strings.HasPrefix(res.rows[0], "Needle/")
}

func searchRow(name, state string, workers int) string {
	return fmt.Sprintf("%s/state=%s/workers=%d", name, state, workers)
}

// searched are the results of searches, in billions of bytes a second.
type searched struct {
	name    string // of the benchmark
	res     *results
	size    float64
	workers int // of the ways that run in parallel, in the first table
}

func newSearched(res *results, name string) (*searched, error) {
	size, err := parseSize(res.config["size"])
	if err != nil {
		return nil, err
	}
	workers, err := strconv.Atoi(res.config["workers"])
	if err != nil {
		return nil, fmt.Errorf("number of workers: %w", err)
	}
	return &searched{name, res, float64(size), workers}, nil
}

// speed is the median speed of a way, 0 if it was not measured.
func (s *searched) speed(way, state string, workers int) float64 {
	if sec := s.res.median(searchRow(s.name, state, workers), way); sec > 0 {
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

// grid is a table, the heading first.
type grid [][]string

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
			line = append(line, digits(speed), digits(up))
		}
		g = append(g, line)
	}
	return g
}

// parallel is the table of the ways that run in parallel, by their number of workers.
func (s *searched) parallel(ways []needle.Way) grid {
	var counts []int
	for _, row := range s.res.rows {
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
				line = append(line, digits(s.speed(w.Name, state, n)))
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
		if why := s.res.config["missing-"+w.Name]; why != "" {
			notes = append(notes, fmt.Sprintf("Not measured: %s; %s.", w.What, why))
		}
		if note := s.res.config["note-"+w.Name]; note != "" {
			notes = append(notes, fmt.Sprintf("%s: %s.", w.What, note))
		}
	}
	if why := s.res.config["missing-cold"]; why != "" {
		return append(notes, "Not measured: cold; "+why+".")
	}
	least, most := 100.0, 0.0
	for row, values := range s.res.resident {
		if strings.Contains(row, "/state=warm") {
			least = min(least, slices.Min(values))
		} else {
			most = max(most, slices.Max(values))
		}
	}
	if least < 100 {
		notes = append(notes, fmt.Sprintf("As little as %.3g%% of the file was in memory before a warm search: this machine has too little memory for that.", least))
	}
	switch {
	case most >= 99:
		notes = append(notes, "The file did not leave the memory: cold is warm here.")
	case most > 0:
		notes = append(notes, fmt.Sprintf("Up to %s%% of the file stayed in memory before a cold search.", digits(math.Ceil(most*100)/100)))
	default:
		notes = append(notes, "Before each cold search, none of the file was in memory (mincore). Whether the disk, or the host of a virtual machine, had it in a cache of its own cannot be seen from here.")
	}
	return notes
}

// digits prints a speed or a ratio to about three digits, with a dash for none.
func digits(v float64) string {
	switch {
	case v == 0:
		return "–"
	case v < 9.995:
		return fmt.Sprintf("%.2f", v)
	case v < 99.95:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", v)
}

// needleGrids are all tables, and their notes.
func needleGrids(res *results) (grids []grid, notes []string, err error) {
	s, err := newSearched(res, "Needle")
	if err != nil {
		return nil, nil, err
	}
	ways, lineWays := needle.Ways(), needle.LineWays()
	lines := *s
	lines.name = "Lines"
	return []grid{
		s.compare(ways, "way", "warm", "cold"),
		s.parallel(ways),
		lines.compare(lineWays, "counting lines", "warm"),
	}, s.notes(slices.Concat(ways, lineWays)), nil
}

// reportNeedle prints the tables.
func reportNeedle(out io.Writer, res *results) error {
	grids, notes, err := needleGrids(res)
	if err != nil {
		return err
	}
	for _, g := range grids {
		w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w)
		for _, line := range g {
			fmt.Fprintln(w, plain(strings.Join(line, "\t")))
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "\nEach file: %s. Medians of %d rounds.\n", sizeName(res.config["size"]), res.rounds())
	for _, note := range notes {
		fmt.Fprintln(out, plain(note))
	}
	return nil
}

// plain is text without the marks of Markdown.
func plain(text string) string { return strings.ReplaceAll(text, "`", "") }

// renderNeedle are all tables in Markdown.
func renderNeedle(res *results) (string, error) {
	grids, notes, err := needleGrids(res)
	if err != nil {
		return "", err
	}
	for _, g := range grids {
		for _, line := range g[1:] {
			if line[1] == digits(0) && !slices.ContainsFunc(notes, func(note string) bool { return strings.HasPrefix(note, "Not measured: "+line[0]+";") }) {
				return "", fmt.Errorf("%s was not measured", line[0])
			}
		}
	}
	var b strings.Builder
	for _, g := range grids {
		for i, line := range g {
			fmt.Fprintf(&b, "| %s |\n", strings.Join(line, " | "))
			if i == 0 {
				b.WriteString("|---|" + strings.Repeat("--:|", len(line)-1) + "\n")
			}
		}
		b.WriteString("\n")
	}
	command := "make needle SIZE=" + cmp.Or(res.config["size"], "unknown")
	b.WriteString(origin(res, command) + strings.Join(notes, "\n") + "\n")
	return b.String(), nil
}
