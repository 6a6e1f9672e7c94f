package tables

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.dw1.io/mmapfile/benchdata/internal/results"
)

// durableWays are the columns of the table; eventlog is compared with the others.
var durableWays = []struct{ way, what string }{
	{"bare", "bare loop"},
	{"bufio", "`bufio` and `Sync`"},
	{"raft-wal", "raft-wal"},
	{"tidwall", "tidwall/wal"},
	{"eventlog", "`eventlog`"},
}

// durableLoads are the lines of the table.
var durableLoads = []named{
	{durableRow(1, 1), "one goroutine"},
	{durableRow(16, 1), "16 goroutines"},
	{durableRow(1, 16), "one goroutine, batches of 16"},
}

func durableRow(goroutines, batch int) string {
	return fmt.Sprintf("Durable/goroutines=%d/batch=%d/size=1024", goroutines, batch)
}

// durableTimes is the table of the medians. The fastest way of a line is in bold.
func durableTimes(res *results.Set) grid {
	g := grid{{"µs for an event"}}
	for _, w := range durableWays {
		g[0] = append(g[0], w.what)
	}
	for _, load := range durableLoads {
		least := 0.0
		for _, w := range durableWays {
			if t := res.Median(load.row, w.way); t > 0 && (least == 0 || t < least) {
				least = t
			}
		}
		line := []string{load.what}
		for _, w := range durableWays {
			t := res.Median(load.row, w.way)
			text := results.Digits(1e6 * t)
			if t > 0 && t == least {
				text = "**" + text + "**"
			}
			line = append(line, text)
		}
		g = append(g, line)
	}
	return g
}

// durableRatios is the table of eventlog's times relative to the other ways.
func durableRatios(res *results.Set) grid {
	g := grid{{"time of `eventlog` /"}}
	for _, w := range durableWays {
		if w.way != "eventlog" {
			g[0] = append(g[0], w.what)
		}
	}
	for _, load := range durableLoads {
		line := []string{load.what}
		for _, w := range durableWays {
			if w.way != "eventlog" {
				line = append(line, results.Number(res.Ratio(load.row, "eventlog", w.way)))
			}
		}
		g = append(g, line)
	}
	return g
}

// durableShared says what goroutines gain that share a flush, nothing if that was not measured.
func durableShared(res *results.Set) string {
	one, many := res.Median(durableRow(1, 1), "eventlog"), res.Median(durableRow(16, 1), "eventlog")
	if one == 0 || many == 0 {
		return ""
	}
	return fmt.Sprintf("With 16 goroutines `eventlog` appends %s times as many events a second as with one.\n", results.Number(one/many))
}

// durableLosses names the rows in which eventlog is significantly slower than another way, the worst first.
func durableLosses(res *results.Set) string {
	type loss struct {
		text  string
		ratio float64
	}
	var losses []loss
	compared := 0
	for _, load := range durableLoads {
		for _, w := range durableWays {
			ratio := res.Ratio(load.row, "eventlog", w.way)
			if w.way == "eventlog" || ratio == 0 {
				continue
			}
			compared++
			if ratio > 1 && res.Differ(load.row, "eventlog", w.way) {
				losses = append(losses, loss{fmt.Sprintf("%s, against %s (%s)", load.what, w.what, results.Number(ratio)), ratio})
			}
		}
	}
	if n := res.Rounds(); n < leastRounds {
		return fmt.Sprintf("Too few rounds (%d) to tell in which of %d comparisons `eventlog` is slower.\n", n, compared)
	}
	if len(losses) == 0 {
		return fmt.Sprintf("`eventlog` is significantly slower in none of %d comparisons.\n", compared)
	}
	slices.SortStableFunc(losses, func(a, b loss) int { return cmp.Compare(b.ratio, a.ratio) })
	var names []string
	for _, l := range losses {
		names = append(names, l.text)
	}
	return fmt.Sprintf("`eventlog` is significantly slower in %d of %d comparisons, by the ratio of the times: %s.\n",
		len(losses), compared, strings.Join(names, "; "))
}

// reportDurable prints the tables.
func reportDurable(out io.Writer, res *results.Set) error {
	for _, g := range []grid{durableTimes(res), durableRatios(res)} {
		if err := g.print(out); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(out, "\nMedians of %d rounds; %s, load %s.\n%s%s", res.Rounds(), res.Config["fs"], res.Config["load"],
		results.Plain(durableLosses(res)), results.Plain(durableShared(res)))
	return err
}

// durableCaption holds for every figure of the table.
const durableCaption = "All figures have the same durability: when an append returns, its events of 1 KiB are flushed to the disk. " +
	"A time is that of all appends, divided by the number of events. The fastest way of a row is in bold.\n\n"

// renderDurable is the block of the page about durable appends. It leaves no row out.
func renderDurable(res *results.Set) (string, error) {
	if len(res.Rows) > len(durableLoads) {
		return "", fmt.Errorf("%d rows were measured, and only %d are known", len(res.Rows), len(durableLoads))
	}
	for _, load := range durableLoads {
		for _, w := range durableWays {
			if res.Median(load.row, w.way) == 0 {
				return "", fmt.Errorf("%s was not measured with %s", load.row, w.way)
			}
		}
	}
	var b strings.Builder
	durableTimes(res).markdown(&b)
	b.WriteString(durableCaption)
	durableRatios(res).markdown(&b)
	b.WriteString(durableLosses(res) + durableShared(res) + "\n" + origin(res, "make durable"))
	return b.String(), nil
}
