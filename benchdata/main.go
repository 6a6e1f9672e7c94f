// Command benchdata measures mmapfile against os.File and other mappings in Go, against its peers in
// Rust and against other ways to search a file or to keep events, and shows what was measured. Its flag -h
// prints what it can do.
//
// Its working directory is that of its source; the Makefiles here and above call it. Package run measures,
// package results reads what was measured, package tables makes tables of it, and package draw charts.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"

	"go.dw1.io/mmapfile/benchdata/internal/cold"
	"go.dw1.io/mmapfile/benchdata/internal/regret"
	"go.dw1.io/mmapfile/benchdata/internal/results"
	"go.dw1.io/mmapfile/benchdata/internal/run"
	"go.dw1.io/mmapfile/benchdata/internal/tables"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := command(ctx, os.Args[1:])
	if err != nil && ctx.Err() != nil {
		err = errors.New("interrupted")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "benchdata:", err)
		os.Exit(1)
	}
}

// measures are the commands that keep raw results. Where nothing can be measured, there are none.
var measures = map[string]func(ctx context.Context, args []string) (*results.Set, error){
	"run":      run.Lab,
	"peers":    run.Peers,
	"needle":   run.Needle,
	"events":   run.Events,
	"durable":  run.Durable,
	"raft":     run.Raft,
	"programs": run.Programs,
	"cold":     run.Cold,
	"regret":   run.Regret,
}

// shows are the commands for files of raw results.
var shows = map[string]func(ctx context.Context, res *results.Set) error{
	"tables": printTables,
	"readme": func(ctx context.Context, res *results.Set) error { return publish(ctx, res, false) },
	"check":  func(ctx context.Context, res *results.Set) error { return publish(ctx, res, true) },
}

func command(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New("it takes a command; -h prints them")
	}
	name, args := args[0], args[1:]
	switch {
	case measures[name] != nil:
		res, err := measures[name](ctx, args)
		if err != nil || res == nil {
			return err
		}
		if err := tables.Summary(os.Stdout, res); err != nil {
			return err
		}
		fmt.Printf("\nRaw results: %s; make -C benchdata tables RESULTS=%[1]s prints all that they say.\n", res.File)
		return nil
	case shows[name] != nil && len(args) > 0:
		var all []*results.Set
		for i, file := range args {
			fmt.Fprintf(os.Stderr, "%d of %d: %s\n", i+1, len(args), file)
			res, err := results.Read(file)
			if err == nil {
				err = shows[name](ctx, res)
			}
			if err != nil {
				return err
			}
			all = append(all, res)
		}
		if name == "tables" || len(all) == 1 {
			return nil
		}
		return publishWorst(all, name == "check")
	case name == cold.Command: // by run.Cold
		return cold.Run(args, os.Stdout)
	case name == regret.Command: // by run.Regret
		return regret.Run(args, os.Stdout)
	case name == "-h" || name == "help":
		fmt.Print(usage)
		return nil
	case name == "compare":
		return run.Compare(ctx, args)
	}
	return fmt.Errorf("no command %q for these arguments; -h prints what there is", name)
}

const usage = `benchdata measures mmapfile beside os.File, and shows what was measured. In benchdata: go run . COMMAND

  run        calls: os.File, v0.1.2, x/exp/mmap, edsrzf/mmap-go    make bench, bench-full, bench-reread
  programs   Go programs: tar, SQLite, go-git and others           make bench-programs
  cold       not in memory, larger than it, or read once           make bench-cold
  regret     random programs: how often a File loses               make regret
  needle     ways to search a file, scan among them                make needle
  events     ways to keep events, and to write records             make events
  durable    durable appends: eventlog and other logs              make durable
  raft       logs of raft: raftlog, raft-wal, raft-boltdb          make raftlog
  peers      Rust's mmap-io and memmap2, with cargo                make bench-peers

  compare BASE [HEAD]               fail if HEAD, or this tree, is slower
  tables, readme or check FILE...   print, publish or check raw results

Each has its flags: go run . cold -h. Examples:
  go run . run -row 'ReadAt|Sync' -impl '^(os|mmapfile)$' -rounds 4
  go run . cold -row '^(order|scan)' -rounds 3
  go run . tables results/cold.txt
`

// printTables prints what the raw results say.
func printTables(ctx context.Context, res *results.Set) error {
	if res.Kind() == results.Calls {
		text, err := benchstat(ctx, res.File)
		if err != nil {
			return err
		}
		os.Stdout.Write(text)
	}
	return tables.Report(os.Stdout, res)
}

// benchstat is the table of that program, a column for each implementation.
func benchstat(ctx context.Context, file string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "benchdata-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "benchstat.exe")
	fmt.Fprintln(os.Stderr, "building benchstat")
	build := exec.CommandContext(ctx, "go", "build", "-o", path, "golang.org/x/perf/cmd/benchstat")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return nil, err
	}
	var text bytes.Buffer
	table := exec.CommandContext(ctx, path, "-filter", ".unit:sec/op", "-col", "/impl@(os mmapfile v0.1.2 exp edsrzf copy os-again)", file)
	table.Stdout, table.Stderr = &text, os.Stderr
	err = table.Run()
	return text.Bytes(), err
}
