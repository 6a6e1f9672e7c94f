package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
)

// measureDurable runs the benchmarks of logs whose events are durable when an append returns.
func measureDurable(ctx context.Context, args []string) error {
	var opt options
	flags := opt.newFlags("durable", "durable.txt")
	skip := flags.String("skip", "", "benchmarks to skip, as for go test")
	flags.Parse(args)

	dir, err := scratch()
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	binary := filepath.Join(dir, "durable.exe")
	if err := tool(ctx, os.Stderr, "go", "-C", "programs", "test", "-c", "-o", binary, "./internal/durable"); err != nil {
		return err
	}
	res, err := keep(ctx, dir, opt, nil, program{path: binary, bench: "^BenchmarkDurable$", skip: *skip})
	if err != nil {
		return err
	}
	if err := reportDurable(os.Stdout, res); err != nil {
		return err
	}
	fmt.Printf("\nRaw results: benchdata/%s\n", opt.out)
	return nil
}

// ofDurable reports whether these are the results of durable logs.
func (res *results) ofDurable() bool {
	return slices.ContainsFunc(res.rows, isDurable)
}

func isDurable(row string) bool { return strings.HasPrefix(row, "Durable/") }

// durableWays are the columns of the table.
var durableWays = []string{"bare", "bufio", "raft-wal", "tidwall", "eventlog"}

// durableDemands are what the package has to show: the median of eventlog in a row, in terms of
// that of a way in another.
var durableDemands = []struct {
	what    string
	row     string
	base    string // a row
	baseWay string
	limit   float64
	atLeast bool // else at most
}{
	{what: "one goroutine, of bare", row: durableRow(1, 1), base: durableRow(1, 1), baseWay: "bare", limit: 1.1},
	{what: "one goroutine, of raft-wal", row: durableRow(1, 1), base: durableRow(1, 1), baseWay: "raft-wal", limit: 1.05},
	{what: "batches of 16, of raft-wal", row: durableRow(1, 16), base: durableRow(1, 16), baseWay: "raft-wal", limit: 1.05},
	{what: "one goroutine, of 16", row: durableRow(1, 1), base: durableRow(16, 1), baseWay: "eventlog", limit: 5, atLeast: true},
}

func durableRow(goroutines, batch int) string {
	return fmt.Sprintf("Durable/goroutines=%d/batch=%d/size=1024", goroutines, batch)
}

// reportDurable prints the medians, and whether the demands are met.
func reportDurable(out io.Writer, res *results) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "\n\tµs for an event\t%s\t\n", strings.Join(durableWays, "\t"))
	for _, row := range res.rows {
		if !isDurable(row) {
			continue
		}
		fmt.Fprintf(w, "\t%s\t", strings.TrimPrefix(row, "Durable/"))
		for _, way := range durableWays {
			fmt.Fprintf(w, "%.1f\t", 1e6*res.median(row, way))
		}
		fmt.Fprintln(w)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(out, "\nMedians of %d rounds; %s, load %s.\n", res.rounds(), res.config["fs"], res.config["load"])
	for _, d := range durableDemands {
		value, base := res.median(d.row, "eventlog"), res.median(d.base, d.baseWay)
		if value == 0 || base == 0 {
			continue
		}
		ratio, bound := value/base, "at most"
		met := ratio <= d.limit
		if d.atLeast {
			bound, met = "at least", ratio >= d.limit
		}
		verdict := "missed"
		if met {
			verdict = "met"
		}
		fmt.Fprintf(out, "%s: %.2f, %s %.2f: %s\n", d.what, ratio, bound, d.limit, verdict)
	}
	return nil
}
