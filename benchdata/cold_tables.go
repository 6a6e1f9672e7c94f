package main

import (
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"go.dw1.io/mmapfile/benchdata/internal/cold"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
)

// faultUnit is the unit of major faults: for the rows larger and sweep, in one read.
const faultUnit = "majfaults"

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

// ofCold reports whether these are the results of files that are not in memory.
func (res *results) ofCold() bool {
	return slices.ContainsFunc(res.rows, func(row string) bool { return strings.HasPrefix(row, coldRows) })
}

// measured reports whether a row begins with prefix.
func (res *results) measured(prefix string) bool {
	return slices.ContainsFunc(res.rows, func(row string) bool { return strings.HasPrefix(row, prefix) })
}

// sweep returns the rows of the picture alone, or all others: it has fewer rounds.
func (res *results) sweep(alone bool) *results {
	part := *res
	part.rows, part.times = nil, map[string]map[string][]float64{}
	for _, row := range res.rows {
		if strings.HasPrefix(row, coldRows+"what=sweep") == alone {
			part.rows = append(part.rows, row)
			part.times[row] = res.times[row]
		}
	}
	return &part
}

// thousands prints a rate to three digits, with commas.
func thousands(v float64) string {
	if v < 1000 {
		return fmt.Sprintf("%.3g", v)
	}
	unit := math.Pow(10, math.Floor(math.Log10(v))-2)
	text := fmt.Sprintf("%.0f", math.Round(v/unit)*unit)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// passGrid is the table of the passes over a file.
func passGrid(res *results) grid {
	g := grid{{"a pass over a file", "os.File", "mmapfile", "a bare mapping", "mmapfile / os.File", "mapping / os.File", "noise"}}
	for _, n := range coldNames {
		row := coldRows + n.row
		if res.median(row, cold.OS) == 0 {
			continue
		}
		g = append(g, []string{n.what, duration(res.median(row, cold.OS)), duration(res.median(row, cold.Mmapfile)),
			duration(res.median(row, cold.Mapping)), res.ratioInBold(row), number(res.ratio(row, cold.Mapping, cold.OS)),
			number(math.Exp(res.noise(row)))})
	}
	return g
}

// largerGrid is the table of the file that is larger than memory.
func largerGrid(res *results) grid {
	g := grid{{fmt.Sprintf("a file of %d GiB, memory of %d MiB", largeSize>>30, largeMemory>>20),
		"reads a second", "rate / os.File", "99th percentile", "major faults in 1,000 reads"}}
	for _, n := range []int{1, 4} {
		row := fmt.Sprintf("%swhat=larger/goroutines=%d/figure=", coldRows, n)
		for _, impl := range coldImpls {
			t := res.median(row+"read", impl)
			if t == 0 {
				continue
			}
			goroutines := fmt.Sprintf("%d goroutines", n)
			if n == 1 {
				goroutines = "1 goroutine"
			}
			g = append(g, []string{implNames[impl] + ", " + goroutines, thousands(1 / t),
				number(res.ratio(row+"read", cold.OS, impl)), duration(res.median(row+"p99", impl)),
				fmt.Sprintf("%.0f", 1000*median(res.faults[row+"read"][impl]))})
		}
	}
	return g
}

// tickerGrid is the table of the ticker beside a slow disk.
func tickerGrid(res *results) grid {
	g := grid{{"16 goroutines read with", "median", "99th percentile", "maximum"}}
	for _, n := range tickerNames {
		row := coldRows + "what=ticker/figure="
		if res.median(row+"p50", n.row) > 0 {
			g = append(g, []string{n.what, duration(res.median(row+"p50", n.row)),
				duration(res.median(row+"p99", n.row)), duration(res.median(row+"max", n.row))})
		}
	}
	return g
}

// sweepGrid is the table of the picture: reads a second.
func sweepGrid(res *results) grid {
	impls := []string{cold.OS, cold.Mmapfile, cold.Mapping}
	g := grid{{"size of the file / memory"}}
	for _, impl := range impls {
		g[0] = append(g[0], implNames[impl])
	}
	for _, percent := range sweepPercents {
		row := sweepRow(percent)
		if res.median(row, cold.OS) == 0 {
			continue
		}
		line := []string{fmt.Sprintf("%.4g", float64(percent)/100)}
		for _, impl := range impls {
			line = append(line, thousands(1/res.median(row, impl)))
		}
		g = append(g, line)
	}
	return g
}

func sweepRow(percent int) string {
	return fmt.Sprintf("%swhat=sweep/percent=%d/figure=read", coldRows, percent)
}

// memoryChart shows the rate against the size of the file.
func memoryChart(res *results) figure {
	fig := figure{title: "Reads of 1 KiB a second, by the size of the file relative to the memory", height: 330}
	p := newPanel("")
	p.X.Label.Text = "size of the file / limit of memory"
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Min, p.X.Max = 0.25, 4
	p.X.Tick.Marker = plot.ConstantTicks{{Value: 0.25, Label: "1/4"}, {Value: 0.5, Label: "1/2"}, {Value: 1, Label: "1"}, {Value: 2, Label: "2"}, {Value: 4, Label: "4"}}
	p.Y.Tick.Marker = decades{thousands}
	for _, impl := range []string{cold.Mapping, cold.OS, cold.Mmapfile} {
		var points plotter.XYs
		for _, percent := range sweepPercents {
			if t := res.median(sweepRow(percent), impl); t > 0 {
				points = append(points, plotter.XY{X: float64(percent) / 100, Y: 1 / t})
			}
		}
		addLine(p, look(impl), points)
		fig.legend = append(fig.legend, look(impl))
	}
	fig.panels = [][]*plot.Plot{{p}}
	return fig
}

// coldText is the text about the figures that are shown.
func coldText(res *results) []struct {
	prefix, missing, head, text string
	grid                        grid
} {
	return []struct {
		prefix, missing, head, text string
		grid                        grid
	}{
		{"what=dropped", "", "Dropped and evicted files", "In bold: slower than `os.File` by more than the noise, which is what `os.File` differs by from itself. " +
			"The kernel reads ahead " + res.config["readahead"] + " on this disk.", passGrid(res)},
		{"what=larger", "larger", "A file that is larger than memory", "Reads of 1 KiB by Zipf's distribution in a memory cgroup, the hottest pages being in memory at first.", largerGrid(res)},
		{"what=sweep", "sweep", "The size of the file", "Reads of 1 KiB a second, one goroutine, by Zipf's distribution in a memory cgroup of " +
			fmt.Sprintf("%d MiB; medians of %d rounds.\n\n![the same as a picture](charts/memory.svg)", sweepMemory>>20, res.sweep(true).rounds()), sweepGrid(res)},
		{"what=ticker", "ticker", "A ticker beside a slow disk", fmt.Sprintf("A ticker fires every 5 ms while 16 goroutines read 4 KiB at random, and the table says how late it is. "+
			"The file is not in memory, "+
			"except for 4 MiB of it. The disk serves %d reads a second; GOMAXPROCS is 2.", tickReads), tickerGrid(res)},
	}
}

// renderCold is the page with all figures.
func renderCold(res *results) (string, error) {
	var b strings.Builder
	b.WriteString("# Files that are not in memory\n\n" +
		"Each figure is of a process of its own. Made from [cold.txt](cold.txt) by `make -C benchdata readme`.\n\n")
	for _, part := range coldText(res) {
		if !res.measured(coldRows + part.prefix) {
			why := res.config["missing-"+part.missing]
			if part.missing == "" || why == "" {
				return "", fmt.Errorf("%s was not measured", part.prefix)
			}
			fmt.Fprintf(&b, "## %s\n\nNot measured: %s.\n\n", part.head, why)
			continue
		}
		fmt.Fprintf(&b, "## %s\n\n%s\n\n", part.head, part.text)
		part.grid.markdown(&b)
	}
	b.WriteString(origin(res.sweep(false), "make bench-cold"))
	return b.String(), nil
}

// publishCold writes the page and the picture beside the file with the raw results, or with check
// compares them.
func publishCold(res *results, file string, check bool) error {
	page, err := renderCold(res)
	if err != nil {
		return err
	}
	made := []artifact{{strings.TrimSuffix(file, ".txt") + ".md", []byte(page)}}
	if res.measured(coldRows + "what=sweep") {
		svg, err := memoryChart(res).draw(res.sweep(true))
		if err != nil {
			return err
		}
		made = append(made, artifact{filepath.Join(filepath.Dir(file), "charts", "memory.svg"), svg})
	}
	for _, a := range made {
		if err := a.put(check); err != nil {
			return err
		}
	}
	return nil
}

// reportCold prints all tables.
func reportCold(out io.Writer, res *results) error {
	for _, part := range coldText(res) {
		if len(part.grid) > 1 {
			fmt.Fprintf(out, "\n%s\n", part.head)
			if err := part.grid.print(out); err != nil {
				return err
			}
		}
	}
	if others := res.sweep(false); len(others.rows) > 0 {
		res = others
	}
	_, err := fmt.Fprintf(out, "\nMedians of %d rounds.\n", res.rounds())
	return err
}
