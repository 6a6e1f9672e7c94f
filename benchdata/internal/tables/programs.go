package tables

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"go.dw1.io/mmapfile/benchdata/internal/results"
)

// programNames returns the programs that were measured, in the order of the file.
func programNames(res *results.Set) (names []string) {
	for _, row := range res.Rows {
		if rest, ok := strings.CutPrefix(row, results.ProgramRows+"program="); ok {
			name, _, _ := strings.Cut(rest, "/")
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// programName is the name of a program for people.
func programName(res *results.Set, program string) string {
	return cmp.Or(res.Config["what-"+program], program)
}

// slower reports whether mmapfile takes longer than os.File in a row: by more than os.File differs
// from itself, and significantly.
func slower(res *results.Set, row string) bool { return len(res.LostTo("os", []string{row})) > 0 }

// ratioInBold is mmapfile's time relative to os.File's, in bold where it is slower.
func ratioInBold(res *results.Set, row string) string {
	text := results.Number(res.Ratio(row, "mmapfile", "os"))
	if slower(res, row) {
		return "**" + text + "**"
	}
	return text
}

// byRatio sorts rows, or what has a row, by mmapfile's time relative to os.File's: best first.
func byRatio[T any](res *results.Set, list []T, row func(T) string) {
	ratio := func(t T) float64 { return cmp.Or(res.Ratio(row(t), "mmapfile", "os"), math.Inf(1)) }
	slices.SortStableFunc(list, func(a, b T) int { return cmp.Compare(ratio(a), ratio(b)) })
}

// programGrid has a line for every program in every state, best first.
func programGrid(res *results.Set) grid {
	type line struct{ program, state, row string }
	var lines []line
	for _, program := range programNames(res) {
		for _, state := range results.ProgramStates {
			row := results.ProgramRow(program, state.Key)
			if res.Ratio(row, "mmapfile", "os") > 0 {
				lines = append(lines, line{program, state.What, row})
			}
		}
	}
	byRatio(res, lines, func(l line) string { return l.row })
	g := grid{{"program", "state", "os.File", "mmapfile / os.File", "noise"}}
	for _, l := range lines {
		g = append(g, []string{programName(res, l.program), l.state, results.Duration(res.Median(l.row, "os")),
			ratioInBold(res, l.row), results.Number(math.Exp(res.Noise(l.row)))})
	}
	return g
}

// programLosses is the verdict over all rows.
func programLosses(res *results.Set) string {
	rows := slices.DeleteFunc(slices.Clone(res.Rows), func(row string) bool { return !strings.HasPrefix(row, results.ProgramRows) })
	text := verdict(res, "os", rows, 0, func(row string) string {
		program, state, _ := strings.Cut(strings.TrimPrefix(row, results.ProgramRows+"program="), "/state=")
		return "`" + program + "` " + state
	})
	if len(res.LostTo("os", rows)) > 0 {
		text += " Slower rows are in bold."
	}
	return text
}

// programsComplete is an error unless every program was measured in every state, at full size.
func programsComplete(res *results.Set) error {
	if scale := res.Config["scale"]; scale != "1" {
		return fmt.Errorf("programs were measured at scale %s, and only those of scale 1 are published", scale)
	}
	var rows []string
	for _, name := range programNames(res) {
		for _, state := range results.ProgramStates {
			if state.Key != "cold" || res.Config["missing-cold"] == "" {
				rows = append(rows, results.ProgramRow(name, state.Key))
			}
		}
	}
	return res.Complete(rows)
}

func programsOrigin(res *results.Set) string { return origin(res, "make bench-programs") }

func programSections(res *results.Set) ([]section, error) {
	return []section{{grid: programGrid(res), notes: programLosses(res)}}, nil
}

// programPages is the page with all rows.
func programPages(res *results.Set, dir string) ([]Artifact, error) {
	list, _ := programSections(res)
	s := section{
		text: "Each program opens its files, does its work and closes them, with `os.File` and with `mmapfile.File`, and both get the same results. " +
			"*One process* runs it again and again, with all pages in memory; *new processes* run it once each. " +
			"*Not in memory* means that the files were dropped from the page cache before, after a first run that fills the caches of the disk and of the host and is not counted. " +
			"The noise is the difference of `os.File` from itself. Made from [programs.txt](results/programs.txt) by `make -C benchdata readme`.",
		grid:  list[0].grid,
		notes: list[0].notes + "\n\nFiles in memory were read page by page, so the page cache has no large folios.",
	}
	if why := res.Config["missing-cold"]; why != "" {
		s.notes = list[0].notes + "\n\nNothing was measured on files that are not in memory: " + why + "."
	}
	page := "# Programs\n\n" + markdown(s) + programsOrigin(res)
	return []Artifact{{filepath.Join(dir, "programs.md"), []byte(page)}}, programsComplete(res)
}

// The page docs/where-it-pays.md has the programs in three tables, by what they gain in one process.
const paysPage = "../docs/where-it-pays.md"

const (
	gainsBelow  = 0.90 // of os.File's time
	littleBelow = 0.97 // from here on it is what os.File differs by from itself in many rows
)

var (
	gainsBlock   = block{paysPage, "gains", func(res *results.Set) (string, error) { return renderPays(res, 0, gainsBelow) }}
	littleBlock  = block{paysPage, "little", func(res *results.Set) (string, error) { return renderPays(res, gainsBelow, littleBelow) }}
	nothingBlock = block{paysPage, "nothing", renderNothing}
)

// programReasons is what a program does that makes it gain or not.
var programReasons = map[string]string{
	"fscan":            "reads single bytes",
	"pages-100000":     "reads the same 4 KiB pages again",
	"sqlite-fs-scan":   "seeks to and reads each page of 4 KiB",
	"scanner":          "reads 4 KiB at a time, in order",
	"sfnt-glyphs":      "reads a few bytes at a time, many of them again",
	"sqlite-file-scan": "reads each page of 4 KiB, in order",
	"leveldb":          "reads blocks of 4 KiB, most of them again",
	"pebble":           "reads blocks of 4 KiB, most of them again",
	"csv":              "reads 4 KiB at a time; most of the time is parsing",
	"tar-extract":      "reads each file once, and writes it",
	"zip-extract":      "most of the time is inflating",
	"sqlite-fs-id":     "reads few pages twice",
	"pages-1000":       "reads few pages twice",
	"json":             "most of the time is decoding",
	"fs-walk":          "reads directories, and no file",
	"zip-list":         "reads the directory of the archive once",
	"tar-list":         "seeks over the contents, and reads each header once",
	"parquet-rows":     "reads large pieces once, and decodes them",
	"parquet-column":   "reads large pieces once, and decodes them",
	"git-log":          "reads each object in small calls, and inflates it",
	"http-large":       "reads each file once, in pieces: `net/http` hides the file from the kernel",
	"http-small":       "reads each file once; most of the time is the protocol",
	"seek-read":        "reads hardly any page twice",
	"fs-read":          "reads each file once",
	"sfnt-open":        "opens, reads little, and closes",
	"sqlite-file-id":   "reads few pages twice",
}

// renderPays has the programs that take from low to high of os.File's time in one process, best first.
func renderPays(res *results.Set, low, high float64) (string, error) {
	row := func(name string) string { return results.ProgramRow(name, results.ProgramStates[0].Key) }
	names := slices.DeleteFunc(programNames(res), func(name string) bool {
		ratio := res.Ratio(row(name), "mmapfile", "os")
		return ratio < low || ratio >= high
	})
	byRatio(res, names, row)
	g := grid{{"program", "what it does"}}
	for _, state := range results.ProgramStates {
		g[0] = append(g[0], state.What)
	}
	for _, name := range names {
		line := []string{programName(res, name), programReasons[name]}
		for _, state := range results.ProgramStates {
			line = append(line, ratioInBold(res, results.ProgramRow(name, state.Key)))
		}
		g = append(g, line)
	}
	var b strings.Builder
	g.words(&b, 2)
	return strings.TrimSuffix(b.String(), "\n"), programsComplete(res)
}

// renderNothing is renderPays for the rest, with where the figures are from.
func renderNothing(res *results.Set) (string, error) {
	text, err := renderPays(res, littleBelow, 1e9)
	return text + "\n" + programLosses(res) + "\n\n" + programsOrigin(res), err
}
