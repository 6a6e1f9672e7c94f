package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// measureEvents runs the benchmarks of ways to keep events, and those of records that are collected
// in a buffer or not.
func measureEvents(ctx context.Context, args []string) error {
	var opt options
	flags := opt.newFlags("events", "events.txt")
	skip := flags.String("skip", "", "benchmarks to skip, as for go test")
	flags.Parse(args)

	dir, err := scratch()
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	events, err := buildTest(ctx, dir, "./eventlog")
	if err != nil {
		return err
	}
	records := filepath.Join(dir, "records.exe")
	if err := build(ctx, "test", "-c", "-o", records, "./internal/records"); err != nil {
		return err
	}
	res, err := keep(ctx, dir, opt, nil,
		program{path: events, bench: "^BenchmarkEvents(Read)?$", skip: *skip},
		program{path: records, bench: "^BenchmarkRecords$", skip: *skip})
	if err != nil {
		return err
	}
	if err := reportEvents(os.Stdout, res); err != nil {
		return err
	}
	fmt.Printf("\nRaw results: benchdata/%s\n", opt.out)
	return nil
}

// ofEvents says whether these are the results of ways to keep events.
func (res *results) ofEvents() bool {
	return slices.ContainsFunc(res.rows, func(row string) bool { return strings.HasPrefix(row, "Events/") })
}
