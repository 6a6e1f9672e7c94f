package tables

import (
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"go.dw1.io/mmapfile/benchdata/internal/cold"
	"go.dw1.io/mmapfile/benchdata/internal/results"
)

// aheadParts are the parts of the page, with what holds for their rows.
var aheadParts = []struct{ part, text string }{
	{cold.PartOrder, "A file of 256 MiB, dropped from the page cache. %s"},
	{cold.PartEvents, "128 MiB of events of 1 KiB. With `os.File`: reading their bytes in order in calls of 64 KiB, with their checksum."},
	{cold.PartScattered, "256 × 4 KiB anywhere in 256 MiB."},
	{cold.PartLarger, "A memory cgroup of 128 MiB, which has all memory in the last row. The time is that of a read, with the goroutines side by side."},
	{cold.PartWrites, "The time is that of a write."},
	{cold.PartTmpfs, "Files in `/dev/shm`. The time is that of a read."},
	{cold.PartLives, "The file is in memory. The time is that of a life."},
}

// aheadRatio is mmapfile's time relative to that of os.File that a case is compared with.
func aheadRatio(res *results.Set, c cold.Case) float64 {
	base := res.Median(results.AheadRows+aheadBase(c), cold.OS)
	if base == 0 {
		return 0
	}
	return res.Median(results.AheadRows+c.Key, cold.Mmapfile) / base
}

func aheadBase(c cold.Case) string {
	if c.Base != "" {
		return c.Base
	}
	return c.Key
}

// aheadGrid is the table of a part.
func aheadGrid(res *results.Set, part string) grid {
	g := grid{{"", "os.File", "mmapfile", "mmapfile / os.File", "noise"}}
	for _, c := range cold.Cases() {
		row, ratio := results.AheadRows+c.Key, aheadRatio(res, c)
		if c.Part != part || ratio == 0 {
			continue
		}
		text := results.Number(ratio)
		if c.Base == "" {
			text = ratioInBold(res, row)
		}
		g = append(g, []string{c.What, results.Duration(res.Median(results.AheadRows+aheadBase(c), cold.OS)),
			results.Duration(res.Median(row, cold.Mmapfile)), text, results.Number(math.Exp(res.Noise(row)))})
	}
	return g
}

// aheadGaps says which rows were not measured, and why. It is an error if there is no reason.
func aheadGaps(res *results.Set) (string, error) {
	var reasons []string
	for _, c := range cold.Cases() {
		if aheadRatio(res, c) > 0 {
			continue
		}
		why := res.Config["missing-"+c.Place]
		if why == "" && c.Work.Memory != 0 {
			why = res.Config["missing-memory"]
		}
		if why == "" {
			return "", fmt.Errorf("%s was not measured", c.Key)
		}
		if !slices.Contains(reasons, why) {
			reasons = append(reasons, why)
		}
	}
	if len(reasons) == 0 {
		return "", nil
	}
	return "Rows were not measured: " + strings.Join(reasons, "; ") + ".\n\n", nil
}

// renderAhead is the page with all figures.
func renderAhead(res *results.Set) (string, error) {
	gaps, err := aheadGaps(res)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("# The disk works ahead\n\n" +
		"What the disk can begin before it is asked, and what a `File` costs until it gains. " +
		"Each figure is of a process of its own. Where files are not in memory, a run before, which fills the caches of the disk and of the host, is not counted. Made from [ahead.txt](results/ahead.txt) by `make -C benchdata readme`. " +
		"In bold: slower than `os.File` by more than the noise, which is what `os.File` differs by from itself.\n\n" + gaps)
	for _, part := range aheadParts {
		g := aheadGrid(res, part.part)
		if len(g) == 1 {
			continue
		}
		text := part.text
		if strings.Contains(text, "%s") {
			text = fmt.Sprintf(text, "The kernel reads ahead "+res.Config["readahead"]+" where nothing else is said.")
		}
		fmt.Fprintf(&b, "## %s\n\n%s\n\n", part.part, text)
		g.markdown(&b)
	}
	b.WriteString(origin(res, "make bench-ahead"))
	return b.String(), nil
}

// aheadPages is the page.
func aheadPages(res *results.Set, dir string) ([]Artifact, error) {
	page, err := renderAhead(res)
	return []Artifact{{filepath.Join(dir, "ahead.md"), []byte(page)}}, err
}

// reportAhead prints all tables.
func reportAhead(out io.Writer, res *results.Set) error {
	for _, part := range aheadParts {
		g := aheadGrid(res, part.part)
		if len(g) > 1 {
			fmt.Fprintf(out, "\n%s\n", part.part)
			if err := g.print(out); err != nil {
				return err
			}
		}
	}
	_, err := fmt.Fprintf(out, "\nMedians of %d rounds.\n", res.Rounds())
	return err
}

// aheadBlock is what the page about where it pays says of reading once. It has its own heading, for
// the page has none before it is measured.
var aheadBlock = block{paysPage, "ahead", renderAheadPays}

// aheadPaysRows are the rows in it.
var aheadPaysRows = []string{
	"order/device=disk/call=read-4KB", "order/device=loop/call=read-4KB", "order/device=loop/call=scanner", "order/device=loop/call=copy",
	"scattered/how=one", "scattered/how=advised", "scan", "life/reads=1", "life/reads=64", "life/reads=1000",
}

func renderAheadPays(res *results.Set) (string, error) {
	g := grid{{"files that are read once", "os.File", "mmapfile", "mmapfile / os.File"}}
	for _, c := range cold.Cases() {
		ratio := aheadRatio(res, c)
		if !slices.Contains(aheadPaysRows, c.Key) || ratio == 0 {
			continue
		}
		what := c.What
		if c.Part != cold.PartLives {
			what = c.Part + ": " + what
		}
		g = append(g, []string{what, results.Duration(res.Median(results.AheadRows+aheadBase(c), cold.OS)),
			results.Duration(res.Median(results.AheadRows+c.Key, cold.Mmapfile)), results.Number(ratio)})
	}
	var b strings.Builder
	b.WriteString("## Files that are read once\n\n[benchdata/ahead.md](../benchdata/ahead.md) has all rows, with their noise.\n\n")
	g.markdown(&b)
	b.WriteString(origin(res, "make bench-ahead"))
	return b.String(), nil
}
