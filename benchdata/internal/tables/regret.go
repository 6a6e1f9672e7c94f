package tables

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	"go.dw1.io/mmapfile/benchdata/internal/results"
)

// worstShown is the number of programs that the page lists.
const worstShown = 10

// regretFigures are the lines of the table of percentiles.
var regretFigures = []struct{ figure, impl, what string }{
	{"cpu", "mmapfile", "CPU time, mmapfile"}, {"cpu", "base", "CPU time, mmapfile before"}, {"cpu", "os-again", "CPU time, `os.File` again"},
	{"wall", "mmapfile", "wall time, mmapfile"}, {"wall", "base", "wall time, mmapfile before"}, {"wall", "os-again", "wall time, `os.File` again"},
}

// drawnRatios are the times of the programs that were drawn, relative to os.File.
func drawnRatios(list []results.Program, figure, impl string) (ratios []float64) {
	for _, p := range list {
		if ratio := p.Ratio(figure, impl); p.Drawn && ratio > 0 {
			ratios = append(ratios, ratio)
		}
	}
	return ratios
}

// percentileGrid is the table of the programs that were drawn.
func percentileGrid(list []results.Program) grid {
	g := grid{{"relative to `os.File`", "geometric mean", "median", "90th percentile", "97th", "worst"}}
	for _, f := range regretFigures {
		ratios := drawnRatios(list, f.figure, f.impl)
		if len(ratios) == 0 {
			continue
		}
		line := []string{f.what, results.Number(results.Geomean(ratios))}
		for _, share := range []float64{0.5, 0.9, 0.97, 1} {
			line = append(line, results.Number(results.Percentile(ratios, share)))
		}
		g = append(g, line)
	}
	return g
}

// worstGrid is the table of the confirmed losers, the worst first.
func worstGrid(list []results.Program) grid {
	lost := slices.DeleteFunc(slices.Clone(list), func(p results.Program) bool { return !p.Lost })
	slices.SortStableFunc(lost, func(a, b results.Program) int {
		return cmp.Compare(b.Ratio(b.Figure(), "mmapfile"), a.Ratio(a.Figure(), "mmapfile"))
	})
	g := grid{{"`make regret PROGRAM=…`", "judged by", "mmapfile / os.File", "os.File again", "rounds"}}
	for _, p := range lost[:min(len(lost), worstShown)] {
		g = append(g, []string{"`" + p.Text + "`", p.Figure(), results.Number(p.Ratio(p.Figure(), "mmapfile")),
			results.Number(p.Ratio(p.Figure(), "os-again")), fmt.Sprint(p.Rounds)})
	}
	return g
}

// lostCount says how many programs lose.
func lostCount(list []results.Program) string {
	drawn, lost, mutated, worse := 0, 0, 0, 0
	for _, p := range list {
		switch {
		case p.Drawn && p.Lost:
			lost++
			fallthrough
		case p.Drawn:
			drawn++
		case p.Lost:
			worse++
			fallthrough
		default:
			mutated++
		}
	}
	return fmt.Sprintf("Confirmed slower by more than 5%%: %d of %d programs that were drawn, and %d of %d that were made of losers.", lost, drawn, worse, mutated)
}

// renderRegret is what a visitor needs to know of the search: a sentence.
func renderRegret(res *results.Set) (string, error) {
	list, err := res.RandomPrograms()
	if err != nil {
		return "", err
	}
	var said [2]string
	for i, impl := range []string{"mmapfile", "os-again"} {
		ratios := drawnRatios(list, "cpu", impl)
		said[i] = fmt.Sprintf("half took at most %s, 97 of 100 at most %s, and the worst %s",
			results.Number(results.Percentile(ratios, 0.5)), results.Number(results.Percentile(ratios, 0.97)), results.Number(results.Percentile(ratios, 1)))
	}
	return fmt.Sprintf("A [search](benchdata/regret.md) draws random programs of calls. Of the CPU time with `os.File`, %s.\nOf `os.File` against itself, %s.\n", said[0], said[1]), nil
}

// regretSections are the tables. A program that was measured alone is named.
func regretSections(res *results.Set) ([]section, error) {
	list, err := res.RandomPrograms()
	if err != nil {
		return nil, err
	}
	percentiles := section{title: "Percentiles", grid: percentileGrid(list), notes: lostCount(list),
		text: fmt.Sprintf("Of %s programs of seed %s, those that were drawn, and not made of losers.", res.Config["programs"], res.Config["seed"])}
	if len(list) == 1 {
		percentiles.notes = fmt.Sprintf("%s, %d rounds", list[0].Text, list[0].Rounds)
		return []section{percentiles}, nil
	}
	return []section{percentiles, {text: "![Number of programs by their time relative to os.File](charts/regret.svg)"}, {title: "The worst", grid: worstGrid(list)}}, nil
}

// regretPages is the page.
func regretPages(res *results.Set, dir string) ([]Artifact, error) {
	list, err := regretSections(res)
	page := "# Where a File loses\n\n" +
		"A search over random programs of calls: file system, content, size, calls between opening and closing, pattern, length, writes, goroutines, in memory or not. " +
		"Each program runs in a process of its own, in turns with `os.File`, `os.File` again and mmapfile, and again until a loss is confirmed against both or is none. " +
		"A fourth of the programs is made of losers by changing one or two fields. " +
		"A program is judged by its CPU time, or by its wall time if the file is not in memory. " +
		"Made from [regret.txt](results/regret.txt) by `make -C benchdata readme`.\n\n"
	return []Artifact{{filepath.Join(dir, "regret.md"), []byte(page + markdown(list...) + origin(res, "make regret"))}}, err
}
