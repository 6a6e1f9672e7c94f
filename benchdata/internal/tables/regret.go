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
	return fmt.Sprintf("Confirmed to be slower by more than 5%%: %d of %d programs that were drawn, and %d of %d variations of losers.", lost, drawn, worse, mutated)
}

// renderRegret is what a visitor needs to know of the search: a sentence.
func renderRegret(res *results.Set) (string, error) {
	list, err := res.RandomPrograms()
	if err != nil {
		return "", err
	}
	of := func(impl string) (half, most, worst string) {
		ratios := drawnRatios(list, "cpu", impl)
		at := func(share float64) string { return results.Number(results.Percentile(ratios, share)) + "×" }
		return at(0.5), at(0.97), at(1)
	}
	half, most, worst := of("mmapfile")
	text := fmt.Sprintf("Of the random programs that a [search](benchdata/regret.md) draws, half used at most %s the CPU time of `os.File`; 97%% used at most %s; the worst used %s.\n", half, most, worst)
	half, most, worst = of("os-again")
	return text + fmt.Sprintf("Measured against itself, `os.File` used at most %s (half), %s (97%%) and %s (the worst): that is the noise.\n", half, most, worst), nil
}

// regretSections are the tables. A program that was measured alone is named.
func regretSections(res *results.Set) ([]section, error) {
	list, err := res.RandomPrograms()
	if err != nil {
		return nil, err
	}
	percentiles := section{title: "Percentiles", grid: percentileGrid(list), notes: lostCount(list),
		text: fmt.Sprintf("Of the %s programs of seed %s, those that are not variations of losers.", res.Config["programs"], res.Config["seed"])}
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
		"A search for programs that lose. Each program draws a file system, the content and size of the file, the number of calls between opening and closing it, their pattern and length, writes, goroutines, and whether the file is in memory. " +
		"It runs in processes of its own, alternately with `os.File`, `os.File` again and mmapfile, until a loss against both is confirmed or refuted. " +
		"A quarter of the programs are variations of losers. " +
		"A program is judged by its CPU time, or by its wall time if the file is not in memory. " +
		"Made from [regret.txt](results/regret.txt) by `make -C benchdata readme`.\n\n"
	return []Artifact{{filepath.Join(dir, "regret.md"), []byte(page + markdown(list...) + origin(res, "make regret"))}}, err
}
