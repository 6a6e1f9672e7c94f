package main

import (
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"
)

// screen is how many rows the summary shows at most by their own names: of more, it shows those of
// the tables.
const screen = 40

// summarize prints what a person wants to know after a run, on one screen.
func summarize(out io.Writer, res *results) error {
	rows := callRows
	for _, r := range reasonRows {
		rows = append(rows[:len(rows):len(rows)], r.rows...)
	}
	if len(res.rows) <= screen {
		rows = nil
		for _, row := range res.rows {
			rows = append(rows, named{row, row})
		}
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "\n\tos.File\tv0.1.2\tmmapfile\t/ os.File\t/ v0.1.2\tnoise\n")
	for _, r := range rows {
		if res.median(r.row, "mmapfile") == 0 {
			continue
		}
		noise := "–"
		if own := res.ownNoise(r.row); own > 0 {
			noise = fmt.Sprintf("%.0f%%", 100*(math.Exp(own)-1))
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", plain(r.what), duration(res.median(r.row, "os")),
			duration(res.median(r.row, "v0.1.2")), duration(res.median(r.row, "mmapfile")),
			number(res.ratio(r.row, "mmapfile", "os")), number(res.ratio(r.row, "mmapfile", "v0.1.2")), noise)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(out, "\nNoise is os.File against itself: %.1f%% in the middle row. Medians of %d rounds; %s, load %s.\n",
		100*(math.Exp(res.typicalNoise())-1), res.rounds(), res.config["fs"], res.config["load"])
	for _, m := range res.means() {
		fmt.Fprintf(out, "Geometric mean over %s: %.3f of os.File", m.what, m.os)
		if m.before > 0 {
			fmt.Fprintf(out, ", %.3f of v0.1.2", m.before)
		}
		fmt.Fprintln(out, ".")
	}
	for _, base := range []string{"os", "v0.1.2"} {
		fmt.Fprintln(out, plain(lostText(res, base, 8)))
	}
	if text := warmText(res); text != "" {
		fmt.Fprintln(out, plain(text))
	}
	return nil
}

// mean is the geometric mean of mmapfile against os.File and against v0.1.2 over some rows.
type mean struct {
	what       string
	os, before float64
}

func (res *results) means() []mean {
	var list []mean
	for _, set := range []struct {
		what string
		rows []string
	}{
		{"rows published for v0.1.2", published()},
		{"rows of pages in memory", res.calls()},
		{"states of a file", res.states()},
	} {
		os, n := res.geomean(set.rows, "os")
		if n == 0 {
			continue
		}
		before, _ := res.geomean(set.rows, "v0.1.2")
		what := fmt.Sprintf("%d %s", n, set.what)
		if n < len(set.rows) {
			what = fmt.Sprintf("%d of %d %s", n, len(set.rows), set.what)
		}
		list = append(list, mean{what, os, before})
	}
	return list
}

// implNames are the implementations as people know them.
var implNames = map[string]string{
	"os": "`os.File`", "os-again": "`os.File` again", "mmapfile": "mmapfile", "v0.1.2": "v0.1.2",
	"exp": "x/exp/mmap", "edsrzf": "edsrzf/mmap-go", "copy": "the bare copy",
	"mapping": "a bare mapping",
}

// leastRounds is how many rounds it takes for a difference to be significant (Mann and Whitney's test).
const leastRounds = 4

// lostText names the rows that are lost to base, at most limit of them unless that is 0.
func lostText(res *results, base string, limit int) string {
	list := res.lostTo(base, res.rows)
	compared := 0
	for _, row := range res.rows {
		if res.ratio(row, "mmapfile", base) > 0 {
			compared++
		}
	}
	if res.rounds() < leastRounds {
		return fmt.Sprintf("Too few rounds (%d) to tell which of %d rows are slower than with %s.", res.rounds(), compared, implNames[base])
	}
	if len(list) == 0 {
		return fmt.Sprintf("Of %d rows, none is slower than with %s beyond the noise.", compared, implNames[base])
	}
	var names []string
	for i, l := range list {
		if i == limit && limit > 0 {
			names = append(names, fmt.Sprintf("and %d more", len(list)-limit))
			break
		}
		names = append(names, fmt.Sprintf("`%s` (%s)", l.row, number(l.ratio)))
	}
	return fmt.Sprintf("Of %d rows, %d are slower than with %s beyond the noise: %s.",
		compared, len(list), implNames[base], strings.Join(names, ", "))
}
