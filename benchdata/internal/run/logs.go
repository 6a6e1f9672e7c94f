package run

import (
	"context"
	"os"

	"go.dw1.io/mmapfile/benchdata/internal/results"
)

// Events runs the benchmarks of ways to keep events, and those of records that are collected in a
// buffer or not.
func Events(ctx context.Context, args []string) (*results.Set, error) {
	return testBinaries(ctx, "events", args,
		testBinary{"..", "./eventlog", "^BenchmarkEvents(Read)?$", false}, testBinary{".", "./internal/records", "^BenchmarkRecords$", false})
}

// Durable runs the benchmarks of logs whose events are durable when an append returns.
func Durable(ctx context.Context, args []string) (*results.Set, error) {
	return testBinaries(ctx, "durable", args, testBinary{"programs", "./internal/durable", "^BenchmarkDurable$", false})
}

// Raft runs the benchmarks of the logs of raft.
func Raft(ctx context.Context, args []string) (*results.Set, error) {
	return testBinaries(ctx, "raft", args, testBinary{"../raftlog/compare", "go.dw1.io/mmapfile/raftlog/compare", "^BenchmarkRaft$", true})
}

// testBinary is a package in a module with benchmarks, and which of them run.
type testBinary struct {
	module, pkg, bench string
	turns              bool // it takes -turn
}

// testBinaries measures the benchmarks of some packages in turns.
func testBinaries(ctx context.Context, command string, args []string, binaries ...testBinary) (*results.Set, error) {
	flags, opt := newFlags(command, 6, "20ms", goTest)
	flags.Parse(args)
	dir, err := scratch()
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	var programs []program
	for _, b := range binaries {
		path, err := buildTest(ctx, dir, b.module, b.pkg)
		if err != nil {
			return nil, err
		}
		programs = append(programs, program{path: path, bench: opt.bench(b.bench), turns: b.turns})
	}
	return opt.runPrograms(ctx, dir, nil, programs)
}
