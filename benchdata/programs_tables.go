package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
)

// programRows is what the rows of programs begin with.
const programRows = "Programs/"

// ofPrograms reports whether these are the results of programs.
func (res *results) ofPrograms() bool {
	return slices.ContainsFunc(res.rows, func(row string) bool { return strings.HasPrefix(row, programRows) })
}

// programRow is the row of a program in a state.
func programRow(program, state string) string {
	return programRows + "program=" + program + "/state=" + state
}

// programNames returns the programs that were measured, in the order of the file.
func (res *results) programNames() (names []string) {
	for _, row := range res.rows {
		if rest, ok := strings.CutPrefix(row, programRows+"program="); ok {
			name, _, _ := strings.Cut(rest, "/")
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// programName is the name of a program for people.
func (res *results) programName(program string) string {
	return cmp.Or(res.config["what-"+program], program)
}

// slower reports whether mmapfile takes longer than os.File in a row: by more than os.File differs
// from itself, and significantly.
func (res *results) slower(row string) bool { return len(res.lostTo("os", []string{row})) > 0 }

// ratioInBold is mmapfile's time relative to os.File's, in bold where it is slower.
func (res *results) ratioInBold(row string) string {
	text := number(res.ratio(row, "mmapfile", "os"))
	if res.slower(row) {
		return "**" + text + "**"
	}
	return text
}

// byRatio sorts rows, or what has a row, by mmapfile's time relative to os.File's: best first.
func byRatio[T any](res *results, list []T, row func(T) string) {
	ratio := func(t T) float64 { return cmp.Or(res.ratio(row(t), "mmapfile", "os"), math.Inf(1)) }
	slices.SortStableFunc(list, func(a, b T) int { return cmp.Compare(ratio(a), ratio(b)) })
}

// programGrid has a line for every program in every state, best first.
func programGrid(res *results) grid {
	type line struct{ program, state, row string }
	var lines []line
	for _, program := range res.programNames() {
		for _, state := range programStates {
			row := programRow(program, state.row)
			if res.ratio(row, "mmapfile", "os") > 0 {
				lines = append(lines, line{program, state.what, row})
			}
		}
	}
	byRatio(res, lines, func(l line) string { return l.row })
	g := grid{{"program", "state", "os.File", "mmapfile / os.File", "noise"}}
	for _, l := range lines {
		g = append(g, []string{res.programName(l.program), l.state, duration(res.median(l.row, "os")),
			res.ratioInBold(l.row), number(math.Exp(res.noise(l.row)))})
	}
	return g
}

// programSummary has a line for every program, best first in one process.
func programSummary(res *results) grid {
	names := res.programNames()
	byRatio(res, names, func(name string) string { return programRow(name, programStates[0].row) })
	g := grid{{"program", "os.File"}}
	for _, state := range programStates {
		g[0] = append(g[0], state.what)
	}
	for _, name := range names {
		line := []string{res.programName(name), duration(res.median(programRow(name, programStates[0].row), "os"))}
		for _, state := range programStates {
			line = append(line, res.ratioInBold(programRow(name, state.row)))
		}
		g = append(g, line)
	}
	return g
}

// programLosses names the rows in which mmapfile is slower.
func programLosses(res *results) string {
	rows := slices.DeleteFunc(slices.Clone(res.rows), func(row string) bool { return !strings.HasPrefix(row, programRows) })
	list := res.lostTo("os", rows)
	if n := res.rounds(); n < leastRounds {
		return fmt.Sprintf("Too few rounds (%d) to tell which of %d rows are slower.\n", n, len(rows))
	}
	if len(list) == 0 {
		return fmt.Sprintf("None of the %d rows is slower than `os.File` by more than the noise.\n", len(rows))
	}
	var names []string
	for _, l := range list {
		program, state, _ := strings.Cut(strings.TrimPrefix(l.row, programRows+"program="), "/state=")
		names = append(names, fmt.Sprintf("`%s` %s (%s)", program, state, number(l.ratio)))
	}
	return fmt.Sprintf("%d of %d rows are slower than `os.File` by more than the noise (in bold): %s.\n", len(list), len(rows), strings.Join(names, ", "))
}

// programsComplete is an error unless every program was measured in every state, at full size.
func programsComplete(res *results) error {
	if scale := res.config["scale"]; scale != "1" {
		return fmt.Errorf("programs were measured at scale %s, and only those of scale 1 are published", scale)
	}
	var rows []string
	for _, name := range res.programNames() {
		for _, state := range programStates {
			if state.row != "cold" || res.config["missing-cold"] == "" {
				rows = append(rows, programRow(name, state.row))
			}
		}
	}
	return res.complete(rows)
}

// renderPrograms is the summary, a line for each program.
func renderPrograms(res *results) (string, error) {
	if err := programsComplete(res); err != nil {
		return "", err
	}
	var b strings.Builder
	programSummary(res).markdown(&b)
	b.WriteString("The columns on the right are mmapfile / `os.File`. The first one is the time of `os.File` in one process. " + programLosses(res) + "\n")
	b.WriteString(programsOrigin(res))
	return b.String(), nil
}

func programsOrigin(res *results) string { return origin(res, "make bench-programs") }

// fillText says how the files came into memory.
var fillText = map[string]string{
	"order": "What is in memory was read in order, so that the page cache has large folios.\n\n",
	"pages": "What is in memory was read page by page, so that the page cache has no large folios.\n\n",
}

// renderProgramsPage is the page with all rows.
func renderProgramsPage(res *results) (string, error) {
	if err := programsComplete(res); err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("# Programs\n\n" +
		"Each program opens its files, does its work and closes them, with `os.File` and with `mmapfile.File`. Both find the same. " +
		"*One process*: again and again in one process, all pages in memory. *New processes*: once in each of several processes, all pages in memory. " +
		"*Not in memory*: the same, after the files were dropped from the page cache; a run before, which fills the caches of the disk and of the host, is not counted. " +
		"The noise is what `os.File` differs by from itself. Made from [programs.txt](programs.txt) by `make -C benchdata readme`.\n\n")
	programGrid(res).markdown(&b)
	b.WriteString(programLosses(res) + "\n")
	b.WriteString(fillText[res.config["fill"]])
	if why := res.config["missing-cold"]; why != "" {
		fmt.Fprintf(&b, "Nothing was measured on files that are not in memory: %s.\n\n", why)
	}
	b.WriteString(programsOrigin(res))
	return b.String(), nil
}

// reportPrograms prints all rows.
func reportPrograms(out io.Writer, res *results) error {
	if err := programGrid(res).print(out); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\nMedians of at least %d rounds. %s", res.rounds(), plain(programLosses(res)))
	return err
}

// print writes the table in columns.
func (g grid) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w)
	for _, line := range g {
		fmt.Fprintln(w, strings.ReplaceAll(plain(strings.Join(line, "\t")), "**", ""))
	}
	return w.Flush()
}
