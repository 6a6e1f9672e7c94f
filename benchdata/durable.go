package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
	if err := build(ctx, "-C", "programs", "test", "-c", "-o", binary, "./internal/durable"); err != nil {
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
