// Command benchdata measures mmapfile against os.File and other mappings in Go, against its peers in
// Rust and against other ways to search a file or to keep events, and shows what was measured.
//
//	benchdata run [flags]             measure, keep the raw results in a file, print a summary
//	benchdata peers [flags]           the same, with the peers in Rust
//	benchdata needle [flags]          the same, with the searches
//	benchdata events [flags]          the same, with the ways to keep events, and to write records
//	benchdata durable [flags]         the same, with logs that are durable when an append returns
//	benchdata programs [flags]        run Go programs that read files, with os.File and mmapfile
//	benchdata cold [flags]            measure files that are not in memory, or larger than it
//	benchdata compare [flags] BASE [HEAD]   fail if HEAD, or what is here, is slower than BASE
//	benchdata tables FILE...          print all tables from raw results
//	benchdata readme FILE...          put them into the README and the pages beside FILE, and draw the pictures
//	benchdata check FILE...           fail if they are not those of FILE
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
	"strings"

	"go.dw1.io/mmapfile/benchdata/internal/cold"
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
	case len(args) > 0 && args[0] == "events":
		return measureEvents(ctx, args[1:])
	case len(args) > 0 && args[0] == "durable":
		return measureDurable(ctx, args[1:])
	case len(args) > 0 && args[0] == "programs":
		return measurePrograms(ctx, args[1:])
	case len(args) > 0 && args[0] == "cold":
		return measureCold(ctx, args[1:])
	case len(args) > 0 && args[0] == cold.Command: // by measureCold
		return cold.Run(args[1:], os.Stdout)
	case len(args) > 0 && args[0] == "compare":
		return compare(ctx, args[1:])
	case len(args) > 1 && args[0] == "tables":
		return each(args[1:], func(file string) error { return tables(ctx, file) })
	case len(args) > 1 && args[0] == "readme":
		return each(args[1:], func(file string) error { return publish(ctx, file, false) })
	case len(args) > 1 && args[0] == "check":
		return each(args[1:], func(file string) error { return publish(ctx, file, true) })
	}
	return errors.New("usage: run [flags] | peers [flags] | needle [flags] | events [flags] | durable [flags] | programs [flags] | cold [flags] | compare [flags] BASE [HEAD] | {tables | readme | check} FILE [FILE]")
}

// each calls do for the files until one fails.
func each(files []string, do func(file string) error) error {
	for i, file := range files {
		fmt.Fprintf(os.Stderr, "%d of %d: %s\n", i+1, len(files), file)
		if err := do(file); err != nil {
			return err
		}
	}
	return nil
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
	case res.ofEvents():
		return reportEvents(os.Stdout, res)
	case res.ofDurable():
		return reportDurable(os.Stdout, res)
	case res.ofPrograms():
		return reportPrograms(os.Stdout, res)
	case res.ofCold():
		return reportCold(os.Stdout, res)
	case res.ofPeers():
		return reportPeers(os.Stdout, res)
	}
	text, err := benchstat(ctx, file)
	if err != nil {
		return err
	}
	os.Stdout.Write(text)
	return report(os.Stdout, res)
}

// benchstat is the table of that program, a column for each implementation.
func benchstat(ctx context.Context, file string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "benchdata-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "benchstat.exe")
	if err := build(ctx, "build", "-o", path, "golang.org/x/perf/cmd/benchstat"); err != nil {
		return nil, err
	}
	var text bytes.Buffer
	err = tool(ctx, &text, path, "-filter", ".unit:sec/op",
		"-col", "/impl@(os mmapfile v0.1.2 exp edsrzf copy os-again)", file)
	return text.Bytes(), err
}

// tool runs a program with its output going to w.
func tool(ctx context.Context, w io.Writer, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdout, cmd.Stderr = w, os.Stderr
	return cmd.Run()
}

// build runs the go command, and says which package it builds: the first time takes a while.
func build(ctx context.Context, args ...string) error {
	fmt.Fprintln(os.Stderr, "building", args[len(args)-1])
	return tool(ctx, os.Stderr, "go", args...)
}

// publish writes what is made from the results in file: the blocks in pages, the pages that are made as a
// whole, the charts, and the table of benchstat. With check it only looks whether they are there.
func publish(ctx context.Context, file string, check bool) error {
	res, err := readResults(file)
	if err != nil {
		return err
	}
	if err := readme(res, file, check); err != nil {
		return err
	}
	switch {
	case res.ofPeers() || res.ofEvents() || res.ofDurable():
		return nil
	case res.ofNeedle():
		return publishNeedle(res, file, check)
	case res.ofPrograms():
		page, err := renderProgramsPage(res)
		if err != nil {
			return err
		}
		if err := (artifact{strings.TrimSuffix(file, ".txt") + ".md", []byte(page)}).put(check); err != nil {
			return err
		}
		return publishAdapters(res, filepath.Dir(file), check)
	case res.ofCold():
		return publishCold(res, file, check)
	}
	made, err := pictures(res, filepath.Dir(file))
	if err != nil {
		return err
	}
	table, err := benchstat(ctx, file)
	if err != nil {
		return err
	}
	made = append(made, artifact{strings.TrimSuffix(file, ".txt") + ".benchstat.txt", table}, renderPredecessor(res).beside(file))
	for _, a := range made {
		if err := a.put(check); err != nil {
			return err
		}
	}
	return nil
}

// readme puts the tables into their pages, or with check only looks whether they are there.
func readme(res *results, file string, check bool) error {
	for _, b := range res.blocks() {
		table, err := b.render(res)
		if err != nil {
			return err
		}
		page := filepath.Join(filepath.Dir(file), filepath.FromSlash(b.page))
		text, err := os.ReadFile(page)
		if err != nil {
			return err
		}
		if text, err = b.replace(text, table); err != nil {
			return fmt.Errorf("%s: %w", page, err)
		}
		if err := (artifact{page, text}).put(check); err != nil {
			return err
		}
	}
	return nil
}

// artifact is a file that is made from raw results.
type artifact struct {
	path string
	text []byte
}

// put writes the file, or with check fails if it is not there as it should be.
func (a artifact) put(check bool) error {
	old, err := os.ReadFile(a.path)
	switch {
	case err == nil && bytes.Equal(old, a.text):
		return nil
	case check:
		return fmt.Errorf("%s is stale: run make -C benchdata readme", a.path)
	}
	if err := os.MkdirAll(filepath.Dir(a.path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(a.path, a.text, 0o644)
}

// pictures are the charts, below dir, and what is said of the policies there.
func pictures(res *results, dir string) ([]artifact, error) {
	figures := map[string]figure{}
	for _, ch := range charts {
		figures[ch.file] = ch.figure(res)
	}
	policies, err := readAll(filepath.Join(dir, "policies"), "policy")
	if err != nil {
		return nil, err
	}
	systems, err := readAll(filepath.Join(dir, systemsDir), "fs")
	if err != nil {
		return nil, err
	}
	var list []artifact
	if len(systems) > 0 {
		list = append(list, artifact{filepath.Join(dir, systemsDir, "README.md"), []byte(renderSystems(res, systems))})
	}
	if len(policies) > 0 {
		figures["policies.svg"] = policyChart(res, policies)
		rules, err := renderRules(dir)
		if err != nil {
			return nil, err
		}
		page := renderPolicies(res, policies) + "\n![the same as a picture](../charts/policies.svg)\n" + rules
		list = append(list, artifact{filepath.Join(dir, "policies", "README.md"), []byte(page)})
	}
	for file, fig := range figures {
		svg, err := fig.draw(res)
		if err != nil {
			return nil, err
		}
		list = append(list, artifact{filepath.Join(dir, "charts", file), svg})
	}
	return list, nil
}
