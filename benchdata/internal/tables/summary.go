package tables

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"go.dw1.io/mmapfile/benchdata/internal/results"
)

// screen is how many rows the summary shows at most by their own names: of more, it shows those of
// the tables.
const screen = 40

// summarize prints what a person wants to know after a run, on one screen.
func summarize(out io.Writer, res *results.Set) error {
	rows := callRows
	for _, r := range reasonRows {
		rows = append(rows[:len(rows):len(rows)], r.rows...)
	}
	if len(res.Rows) <= screen {
		rows = nil
		for _, row := range res.Rows {
			rows = append(rows, named{row, row})
		}
	}
	// v0.1.2 has no columns if it could not be had.
	old := slices.ContainsFunc(res.Rows, func(row string) bool { return res.Median(row, "v0.1.2") > 0 })
	g := grid{{"", "os.File", "v0.1.2", "mmapfile", "/ os.File", "/ v0.1.2", "noise"}}
	for _, r := range rows {
		if res.Median(r.row, "mmapfile") == 0 {
			continue
		}
		noise := results.Number(0)
		if own := res.OwnNoise(r.row); own > 0 {
			noise = fmt.Sprintf("%.0f%%", 100*(math.Exp(own)-1))
		}
		g = append(g, []string{r.what, results.Duration(res.Median(r.row, "os")), results.Duration(res.Median(r.row, "v0.1.2")), results.Duration(res.Median(r.row, "mmapfile")),
			results.Number(res.Ratio(r.row, "mmapfile", "os")), results.Number(res.Ratio(r.row, "mmapfile", "v0.1.2")), noise})
	}
	if !old {
		for i, line := range g {
			g[i] = slices.Delete(slices.Delete(line, 5, 6), 2, 3)
		}
	}
	if err := g.print(out); err != nil {
		return err
	}
	fmt.Fprintf(out, "\nNoise is os.File against itself: %.1f%% in the middle row. Medians of %d rounds; %s, load %s.\n",
		100*(math.Exp(res.TypicalNoise())-1), res.Rounds(), res.Config["fs"], res.Config["load"])
	for _, m := range means(res) {
		fmt.Fprintf(out, "Geometric mean over %s: %.3f of os.File", m.what, m.os)
		if m.before > 0 {
			fmt.Fprintf(out, ", %.3f of v0.1.2", m.before)
		}
		fmt.Fprintln(out, ".")
	}
	fmt.Fprintln(out, results.Plain(lostText(res, "os", 8)))
	if old {
		fmt.Fprintln(out, results.Plain(verdict(res, "v0.1.2", res.Rows, 0, nil)))
	}
	if text := warmText(res); text != "" {
		fmt.Fprintln(out, results.Plain(text))
	}
	return nil
}

// mean is the geometric mean of mmapfile against os.File and against v0.1.2 over some rows.
type mean struct {
	what       string
	os, before float64
}

func means(res *results.Set) []mean {
	var list []mean
	for _, set := range []struct {
		what string
		rows []string
	}{
		{"rows published for v0.1.2", published()},
		{"rows of pages in memory", calls(res)},
		{"states of a file", states(res)},
	} {
		os, n := res.Geomean(set.rows, "os")
		if n == 0 {
			continue
		}
		before, _ := res.Geomean(set.rows, "v0.1.2")
		what := fmt.Sprintf("%d %s", n, set.what)
		if n < len(set.rows) {
			what = fmt.Sprintf("%d of %d %s", n, len(set.rows), set.what)
		}
		list = append(list, mean{what, os, before})
	}
	return list
}

// leastRounds is how many rounds it takes for a difference to be significant (Mann and Whitney's test).
const leastRounds = 4

// verdict says in how many of the rows mmapfile is faster and slower than base, by one rule, and names the slower
// ones, at most limit of them unless that is 0. Without name it only counts them.
func verdict(res *results.Set, base string, rows []string, limit int, name func(row string) string) string {
	compared := 0
	for _, row := range rows {
		if res.Ratio(row, "mmapfile", base) > 0 {
			compared++
		}
	}
	if n := res.Rounds(); n < leastRounds {
		return fmt.Sprintf("Too few rounds (%d) to tell in which of %d rows mmapfile is slower than %s.", n, compared, results.ImplNames[base])
	}
	faster, slower := res.Compared(base, rows)
	text := fmt.Sprintf("Of %d rows, mmapfile is faster than %s beyond the noise in %d, and slower in ", compared, results.ImplNames[base], faster)
	if len(slower) == 0 {
		return text + "none."
	}
	if name == nil {
		return fmt.Sprintf("%s%d.", text, len(slower))
	}
	var names []string
	for i, l := range slower {
		if i == limit && limit > 0 {
			names = append(names, fmt.Sprintf("and %d more", len(slower)-limit))
			break
		}
		names = append(names, fmt.Sprintf("%s (%s)", name(l.Row), results.Number(l.Ratio)))
	}
	return fmt.Sprintf("%s%d: %s.", text, len(slower), strings.Join(names, ", "))
}

// lostText is the verdict over all rows.
func lostText(res *results.Set, base string, limit int) string {
	return verdict(res, base, res.Rows, limit, func(row string) string { return "`" + row + "`" })
}

// report prints what the tables of benchstat do not show: the rows that are lost, and the summary.
func report(out io.Writer, res *results.Set) error {
	fmt.Fprintln(out)
	for _, base := range []string{"exp", "edsrzf"} {
		fmt.Fprintln(out, results.Plain(lostText(res, base, 0)))
	}
	return summarize(out, res)
}

// warmText says what the first calls cost, which are in no figure; nothing for results that do not tell.
func warmText(res *results.Set) string {
	var parts []string
	for _, impl := range []string{"os", "mmapfile"} {
		var ratios []float64
		dearest, worst := "", 0.0
		for _, row := range res.Rows {
			if w := res.Warm[row][impl]; w != nil {
				ratio := results.Median(w.Ratios)
				ratios = append(ratios, ratio)
				if ratio > worst {
					dearest = fmt.Sprintf("`%s`: %.0f calls of %s times its figure", row, results.Median(w.Calls), results.Number(ratio))
					worst = ratio
				}
			}
		}
		if len(ratios) > 0 {
			parts = append(parts, fmt.Sprintf("with %s one took %s times the row's figure in the middle row (the most: %s)", results.ImplNames[impl], results.Number(results.Median(ratios)), dearest))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("Rows of a steady state are warmed up, by %s. Warm-up calls are excluded: %s.",
		cmp.Or(res.Config["warm"], "a rule that is not known"), strings.Join(parts, "; "))
}
