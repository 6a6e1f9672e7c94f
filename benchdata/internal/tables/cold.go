package tables

import (
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"

	"go.dw1.io/mmapfile/benchdata/internal/cold"
	"go.dw1.io/mmapfile/benchdata/internal/results"
)

// coldNames are the passes over files that are not in memory.
var coldNames = []named{
	{"what=dropped-random", "dropped from the page cache before it was opened: 200 × `ReadAt` 4 KiB anywhere in 256 MiB"},
	{"what=dropped-order", "the same, 256 MiB in order in 4 KiB calls"},
	{"what=evicted-random", "read often, then evicted by the kernel, while open: 200 × `ReadAt` 4 KiB anywhere in 256 MiB"},
	{"what=evicted-order", "the same, 256 MiB in order in 4 KiB calls"},
}

// tickerNames are what reads beside the ticker.
var tickerNames = []named{
	{cold.OS, "`os.File`: `ReadAt`"},
	{cold.Mmapfile, "mmapfile: `ReadAt`"},
	{"mmapfile-view", "mmapfile: `View`"},
	{"mmapfile-populate", "mmapfile: `Advise(PopulateRead)`"},
	{cold.Mapping, "a bare mapping"},
}

// passGrid is the table of the passes over a file.
func passGrid(res *results.Set) grid {
	g := grid{{"a pass over a file", "os.File", "mmapfile", "a bare mapping", "mmapfile / os.File", "mapping / os.File", "noise"}}
	for _, n := range coldNames {
		row := results.ColdRows + n.row
		if res.Median(row, cold.OS) == 0 {
			continue
		}
		g = append(g, []string{n.what, results.Duration(res.Median(row, cold.OS)), results.Duration(res.Median(row, cold.Mmapfile)),
			results.Duration(res.Median(row, cold.Mapping)), ratioInBold(res, row), results.Number(res.Ratio(row, cold.Mapping, cold.OS)),
			results.Number(math.Exp(res.Noise(row)))})
	}
	return g
}

// largerGrid is the table of the file that is larger than memory.
func largerGrid(res *results.Set) grid {
	g := grid{{fmt.Sprintf("a file of %d GiB, memory of %d MiB", cold.LargeSize>>30, cold.LargeMemory>>20),
		"reads a second", "rate / os.File", "99th percentile", "major faults in 1,000 reads"}}
	for _, n := range []int{1, 4} {
		row := fmt.Sprintf("%swhat=larger/goroutines=%d/figure=", results.ColdRows, n)
		for _, impl := range cold.Impls {
			t := res.Median(row+"read", impl)
			if t == 0 {
				continue
			}
			goroutines := fmt.Sprintf("%d goroutines", n)
			if n == 1 {
				goroutines = "1 goroutine"
			}
			g = append(g, []string{results.ImplNames[impl] + ", " + goroutines, results.Thousands(1 / t),
				results.Number(res.Ratio(row+"read", cold.OS, impl)), results.Duration(res.Median(row+"p99", impl)),
				fmt.Sprintf("%.0f", 1000*results.Median(res.Faults[row+"read"][impl]))})
		}
	}
	return g
}

// tickerGrid is the table of the ticker beside a slow disk.
func tickerGrid(res *results.Set) grid {
	g := grid{{"16 goroutines read with", "median", "99th percentile", "maximum"}}
	for _, n := range tickerNames {
		row := results.ColdRows + "what=ticker/figure="
		if res.Median(row+"p50", n.row) > 0 {
			g = append(g, []string{n.what, results.Duration(res.Median(row+"p50", n.row)),
				results.Duration(res.Median(row+"p99", n.row)), results.Duration(res.Median(row+"max", n.row))})
		}
	}
	return g
}

// sweepGrid is the table of the picture: reads a second.
func sweepGrid(res *results.Set) grid {
	impls := []string{cold.OS, cold.Mmapfile, cold.Mapping}
	g := grid{{"size of the file / memory"}}
	for _, impl := range impls {
		g[0] = append(g[0], results.ImplNames[impl])
	}
	for _, percent := range cold.SweepPercents {
		row := results.SweepRow(percent)
		if res.Median(row, cold.OS) == 0 {
			continue
		}
		line := []string{fmt.Sprintf("%.4g", float64(percent)/100)}
		for _, impl := range impls {
			line = append(line, results.Thousands(1/res.Median(row, impl)))
		}
		g = append(g, line)
	}
	return g
}

// coldText is the text about the figures that are shown.
func coldText(res *results.Set) []struct {
	prefix, missing, head, text string
	grid                        grid
} {
	return []struct {
		prefix, missing, head, text string
		grid                        grid
	}{
		{"what=dropped", "", "Dropped and evicted files", "In bold: slower than `os.File` by more than the noise, which is what `os.File` differs by from itself. " +
			"The kernel reads ahead " + res.Config["readahead"] + " on this disk.", passGrid(res)},
		{"what=larger", "larger", "A file that is larger than memory", "Reads of 1 KiB by Zipf's distribution in a memory cgroup, the hottest pages being in memory at first.", largerGrid(res)},
		{"what=sweep", "sweep", "The size of the file", "Reads of 1 KiB a second, one goroutine, by Zipf's distribution in a memory cgroup of " +
			fmt.Sprintf("%d MiB; medians of %d rounds.\n\n![the same as a picture](charts/memory.svg)", cold.SweepMemory>>20, res.Sweep(true).Rounds()), sweepGrid(res)},
		{"what=ticker", "ticker", "A ticker beside a slow disk", fmt.Sprintf("A ticker fires every 5 ms while 16 goroutines read 4 KiB at random, and the table says how late it is. "+
			"The file is not in memory, "+
			"except for 4 MiB of it. The disk serves %d reads a second; GOMAXPROCS is 2.", cold.TickReads), tickerGrid(res)},
	}
}

// renderCold is the page with all figures.
func renderCold(res *results.Set) (string, error) {
	var b strings.Builder
	b.WriteString("# Files that are not in memory\n\n" +
		"Each figure is of a process of its own. Made from [cold.txt](results/cold.txt) by `make -C benchdata readme`.\n\n")
	for _, part := range coldText(res) {
		if !res.Measured(results.ColdRows + part.prefix) {
			why := res.Config["missing-"+part.missing]
			if part.missing == "" || why == "" {
				return "", fmt.Errorf("%s was not measured", part.prefix)
			}
			fmt.Fprintf(&b, "## %s\n\nNot measured: %s.\n\n", part.head, why)
			continue
		}
		fmt.Fprintf(&b, "## %s\n\n%s\n\n", part.head, part.text)
		part.grid.markdown(&b)
	}
	b.WriteString(origin(res.Sweep(false), "make bench-cold"))
	return b.String(), nil
}

// coldPages is the page.
func coldPages(res *results.Set, dir string) ([]Artifact, error) {
	page, err := renderCold(res)
	return []Artifact{{filepath.Join(dir, "cold.md"), []byte(page)}}, err
}

// reportCold prints all tables.
func reportCold(out io.Writer, res *results.Set) error {
	for _, part := range coldText(res) {
		if len(part.grid) > 1 {
			fmt.Fprintf(out, "\n%s\n", part.head)
			if err := part.grid.print(out); err != nil {
				return err
			}
		}
	}
	if others := res.Sweep(false); len(others.Rows) > 0 {
		res = others
	}
	_, err := fmt.Fprintf(out, "\nMedians of %d rounds.\n", res.Rounds())
	return err
}
