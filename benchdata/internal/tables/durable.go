package tables

import (
	"fmt"
	"slices"

	"go.dw1.io/mmapfile/benchdata/internal/results"
)

// durableWays are the columns of the table; eventlog, the last one, is compared with the others.
var durableWays = []named{
	{"bare", "bare loop"},
	{"bufio", "`bufio` and `Sync`"},
	{"raft-wal", "raft-wal"},
	{"tidwall", "tidwall/wal"},
	{"eventlog", "`eventlog`"},
}

// durableLoads are the lines of the table. The last ones need an xfs.
var durableLoads = []named{
	{durableRow(1, 1), "one goroutine"},
	{durableRow(16, 1), "16 goroutines"},
	{durableRow(1, 16), "one goroutine, batches of 16"},
	{durableRow(1, 1) + "/beside=writer", "one goroutine, beside another writer"},
	{durableRow(1, 1) + "/fs=xfs", "one goroutine, xfs in a loop device"},
	{durableRow(1, 1) + "/fs=xfs/beside=writer", "the same, beside another writer"},
}

// durableNeeded is the number of durableLoads without which nothing is published.
const durableNeeded = 3

func durableRow(goroutines, batch int) string {
	return fmt.Sprintf("Durable/goroutines=%d/batch=%d/size=1024", goroutines, batch)
}

// durableGrid has a line for each load, and a column for each way that has a cell.
func durableGrid(res *results.Set, head string, ways []named, cell func(load, way string) string) grid {
	g := grid{{head}}
	for _, w := range ways {
		g[0] = append(g[0], w.what)
	}
	for i, load := range durableLoads {
		if i >= durableNeeded && res.Median(load.row, "eventlog") == 0 {
			continue
		}
		line := []string{load.what}
		for _, w := range ways {
			line = append(line, cell(load.row, w.row))
		}
		g = append(g, line)
	}
	return g
}

// durableSections are the tables of the medians, with the fastest way of a line in bold, and of the ratios.
func durableSections(res *results.Set) ([]section, error) {
	times := durableGrid(res, "µs for an event", durableWays, func(load, way string) string {
		text, t := results.Digits(1e6*res.Median(load, way)), res.Median(load, way)
		if t > 0 && !slices.ContainsFunc(durableWays, func(w named) bool { return res.Median(load, w.row) > 0 && res.Median(load, w.row) < t }) {
			text = "**" + text + "**"
		}
		return text
	})
	ratios := durableGrid(res, "time of `eventlog` /", durableWays[:len(durableWays)-1], func(load, way string) string {
		return significant(res, load, "eventlog", way)
	})
	return []section{{grid: times, notes: durableCaption}, {grid: ratios, notes: "In bold: `eventlog` is slower (p < 0.05)."}}, nil
}

// durableCaption holds for every figure of the table.
const durableCaption = "All figures have the same durability: when an append returns, its events of 1 KiB are flushed to the disk. " +
	"A time is that of all appends, divided by the number of events. The fastest in each row is in bold."

// renderDurable is the block of the page about durable appends. It leaves no row out.
func renderDurable(res *results.Set) (string, error) {
	for _, row := range res.Rows {
		if !slices.ContainsFunc(durableLoads, func(load named) bool { return load.row == row }) {
			return "", fmt.Errorf("%s was measured, and is not known", row)
		}
	}
	for _, load := range durableLoads[:durableNeeded] {
		for _, w := range durableWays {
			if res.Median(load.row, w.row) == 0 {
				return "", fmt.Errorf("%s was not measured with %s", load.row, w.row)
			}
		}
	}
	list, err := durableSections(res)
	return markdown(list...) + origin(res, "make durable"), err
}
