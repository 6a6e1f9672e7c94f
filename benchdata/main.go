// Command benchdata measures mmapfile against os.File, against its peers in Rust and against other
// ways to search a file, and prints what was measured.
//
//	benchdata run [flags]      measure, keep the raw results in a file, print the tables
//	benchdata peers [flags]    the same, with the peers
//	benchdata needle [flags]   the same, with the searches
//	benchdata tables FILE      print the tables from raw results
//	benchdata readme FILE MD   put the table of the README into MD
//	benchdata check FILE MD    fail if the table in MD is not that of FILE
//
// Its working directory is that of its source; the Makefiles here and above call it.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := command(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "benchdata:", err)
		os.Exit(1)
	}
}

func command(ctx context.Context, args []string) error {
	switch {
	case len(args) > 0 && args[0] == "run":
		return measure(ctx, args[1:])
	case len(args) > 0 && args[0] == "peers":
		return measurePeers(ctx, args[1:])
	case len(args) > 0 && args[0] == "needle":
		return measureNeedle(ctx, args[1:])
	case len(args) == 2 && args[0] == "tables":
		return tables(ctx, args[1])
	case len(args) == 3 && args[0] == "readme":
		return readme(args[1], args[2], false)
	case len(args) == 3 && args[0] == "check":
		return readme(args[1], args[2], true)
	}
	return errors.New("usage: run [flags] | peers [flags] | needle [flags] | tables FILE | readme FILE MD | check FILE MD")
}

// tables prints what the raw results in file say.
func tables(ctx context.Context, file string) error {
	res, err := readResults(file)
	if err != nil {
		return err
	}
	switch {
	case res.ofNeedle():
		return reportNeedle(os.Stdout, res)
	case res.ofPeers():
		return reportPeers(os.Stdout, res)
	}
	dir, err := os.MkdirTemp("", "benchdata-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	benchstat, err := buildBenchstat(ctx, dir)
	if err != nil {
		return err
	}
	return printTables(ctx, os.Stdout, benchstat, file, res)
}

func buildBenchstat(ctx context.Context, dir string) (string, error) {
	path := filepath.Join(dir, "benchstat.exe")
	return path, tool(ctx, os.Stderr, "go", "build", "-o", path, "golang.org/x/perf/cmd/benchstat")
}

func printTables(ctx context.Context, w io.Writer, benchstat, file string, res *results) error {
	err := tool(ctx, w, benchstat, "-filter", "/impl:(os OR mmapfile) .unit:sec/op",
		"-col", "/impl@(os mmapfile)", file)
	if err != nil {
		return err
	}
	return report(w, res)
}

// tool runs a program with its output going to w.
func tool(ctx context.Context, w io.Writer, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdout, cmd.Stderr = w, os.Stderr
	return cmd.Run()
}

// readme puts the table from the raw results in file into the Markdown file md, or with check
// only looks whether it is there.
func readme(file, md string, check bool) error {
	res, err := readResults(file)
	if err != nil {
		return err
	}
	b := osBlock
	switch {
	case res.ofNeedle():
		b = needleBlock
	case res.ofPeers():
		b = peersBlock
	}
	table, err := b.render(res)
	if err != nil {
		return err
	}
	old, err := os.ReadFile(md)
	if err != nil {
		return err
	}
	text, err := b.replace(old, table)
	if err != nil {
		return fmt.Errorf("%s: %w", md, err)
	}
	switch {
	case bytes.Equal(text, old):
		return nil
	case check:
		return fmt.Errorf("the table in %s is not that of %s: run make -C benchdata readme", md, file)
	}
	return os.WriteFile(md, text, 0o644)
}
