package tables

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

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
	column := func(text string) string {
		if old {
			return text + "\t"
		}
		return ""
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "\n\tos.File\t%smmapfile\t/ os.File\t%snoise\n", column("v0.1.2"), column("/ v0.1.2"))
	for _, r := range rows {
		if res.Median(r.row, "mmapfile") == 0 {
			continue
		}
		noise := "–"
		if own := res.OwnNoise(r.row); own > 0 {
			noise = fmt.Sprintf("%.0f%%", 100*(math.Exp(own)-1))
		}
		fmt.Fprintf(w, "%s\t%s\t%s%s\t%s\t%s%s\n", results.Plain(r.what), results.Duration(res.Median(r.row, "os")),
			column(results.Duration(res.Median(r.row, "v0.1.2"))), results.Duration(res.Median(r.row, "mmapfile")),
			results.Number(res.Ratio(r.row, "mmapfile", "os")), column(results.Number(res.Ratio(r.row, "mmapfile", "v0.1.2"))), noise)
	}
	if err := w.Flush(); err != nil {
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
		fmt.Fprintln(out, results.Plain(lostText(res, "v0.1.2", 8)))
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

// lostText names the rows that are lost to base, at most limit of them unless that is 0.
func lostText(res *results.Set, base string, limit int) string {
	list := res.LostTo(base, res.Rows)
	compared := 0
	for _, row := range res.Rows {
		if res.Ratio(row, "mmapfile", base) > 0 {
			compared++
		}
	}
	if res.Rounds() < leastRounds {
		return fmt.Sprintf("Too few rounds (%d) to tell which of %d rows are slower than with %s.", res.Rounds(), compared, results.ImplNames[base])
	}
	if len(list) == 0 {
		return fmt.Sprintf("Of %d rows, none is slower than with %s beyond the noise.", compared, results.ImplNames[base])
	}
	var names []string
	for i, l := range list {
		if i == limit && limit > 0 {
			names = append(names, fmt.Sprintf("and %d more", len(list)-limit))
			break
		}
		names = append(names, fmt.Sprintf("`%s` (%s)", l.Row, results.Number(l.Ratio)))
	}
	return fmt.Sprintf("Of %d rows, %d are slower than with %s beyond the noise: %s.",
		compared, len(list), results.ImplNames[base], strings.Join(names, ", "))
}

// requirement is a limit on a ratio of two medians.
type requirement struct {
	what  string
	limit float64
	value func(res *results.Set) float64 // 0: not measured
}

// requirements are the speeds that the package has to show, row by row.
func requirements() []requirement {
	list := []requirement{
		against("copy", "ReadAtRecord/size=64B", 4),
		against("copy", "ReadAtRecord/size=1KB", 1.8),
	}
	for _, name := range []string{"ReadAtOneCall", "WriteAt"} {
		for _, size := range []string{"10KB", "100KB", "1MB", "2MB", "10MB", "100MB", "500MB", "1GB"} {
			limit := 1.05
			if size == "1MB" || size == "2MB" {
				limit = 0.85 // a copy in pieces is faster there than one copy
			}
			list = append(list, against("copy", name+"/size="+size, limit))
		}
	}
	return append(list,
		requirement{"ReadAt of 1 KiB on two goroutines / on one", 1 / 1.7, func(res *results.Set) float64 {
			one := res.Median("ReadAtGoroutines/goroutines=1", "mmapfile")
			if one == 0 {
				return 0
			}
			return res.Median("ReadAtGoroutines/goroutines=2", "mmapfile") / one
		}},
		against("os", "ReadRecord/size=1KB", 1.0/15),
		against("os", "WriteRecord/size=1KB", 1.0/15),
		against("os", "Policy/state=random-64B", 0.1),
		requirement{"geometric mean / os, published rows", 0.20, func(res *results.Set) float64 {
			return fullGeomean(res, published(), "os")
		}},
		requirement{"geometric mean / os, rows of pages in memory", 0.23, func(res *results.Set) float64 {
			return fullGeomean(res, calls(res), "os")
		}},
		requirement{"geometric mean / v0.1.2, published rows", 0.85, func(res *results.Set) float64 {
			return fullGeomean(res, published(), "v0.1.2")
		}},
	)
}

func against(base, row string, limit float64) requirement {
	return requirement{row + " / " + base, limit, func(res *results.Set) float64 {
		return res.Ratio(row, "mmapfile", base)
	}}
}

// report prints what the tables of benchstat do not show: the speeds that are required, the rows
// that are lost, and the summary.
func report(out io.Writer, res *results.Set) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "\nrequired\tat most\tmeasured\t\n")
	for _, req := range requirements() {
		if v := req.value(res); v > 0 {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", req.what, results.Number(req.limit), results.Number(v), verdict(v <= req.limit))
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(out)
	for _, base := range []string{"exp", "edsrzf"} {
		fmt.Fprintln(out, results.Plain(lostText(res, base, 0)))
	}
	return summarize(out, res)
}

func verdict(holds bool) string {
	if holds {
		return "holds"
	}
	return "FAILS"
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
	return fmt.Sprintf("Rows of a steady state are warmed up, by %s. The calls of that are in no figure: %s.",
		cmp.Or(res.Config["warm"], "a rule that is not known"), strings.Join(parts, "; "))
}
