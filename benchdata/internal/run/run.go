// Package run measures: it runs rows in turns, round by round, and keeps the raw results. Its working
// directory is that of the command.
package run

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"go.dw1.io/mmapfile/benchdata/internal/results"
)

// options say how to measure.
type options struct {
	command   string
	out       string
	rounds    int
	benchtime string
	row       string // of the rows to measure, empty for all
	unit      string // what a round is called in the progress; empty for round
}

// newFlags are those of a command that measures, with its defaults. Without a benchtime its rows decide themselves.
// What -row selects by is said in row; empty: the command measures all of them.
func newFlags(command string, rounds int, benchtime, row string) (*flag.FlagSet, *options) {
	var opt options
	flags := flag.NewFlagSet(command, flag.ExitOnError)
	flags.StringVar(&opt.out, "out", "", "`file` for the raw results; empty for results/"+command+".txt, or results/selection.txt with -row")
	opt.command = command
	if row != "" {
		flags.StringVar(&opt.row, "row", "", "`regexp` of "+row+"; all if empty")
	}
	flags.IntVar(&opt.rounds, "rounds", rounds, "number of rounds")
	if benchtime != "" {
		flags.StringVar(&opt.benchtime, "benchtime", benchtime, "time for each benchmark in each round")
	}
	return flags, &opt
}

// recording is a run: its raw results, and how far it is.
type recording struct {
	io.Writer
	*progress
}

// record measures round by round, so that the implementations take turns and a slow minute of the machine
// hits all of them. It returns the raw results, which begin with the machine, the file system of dir, and config.
func (opt *options) record(ctx context.Context, dir string, config [][2]string, round func(r *recording) error) ([]byte, error) {
	var raw bytes.Buffer
	if opt.benchtime != "" {
		config = append(config, [2]string{"benchtime", opt.benchtime})
	}
	writeMachine(&raw, dir, config...)
	r := &recording{&raw, newProgress(os.Stderr, opt.rounds)}
	r.unit = opt.unit
	defer r.end()
	for r.round = 1; r.round <= opt.rounds; r.round++ {
		fmt.Fprintf(r, "# round %d, load %s\n", r.round, firstLine("/proc/loadavg"))
		err := round(r)
		if ctx.Err() != nil {
			return nil, ctx.Err() // and not what it did to a process
		}
		if err != nil {
			return nil, err
		}
	}
	return raw.Bytes(), nil
}

// keep records a run in opt.out. A run that is broken off leaves the results of the one before as they were.
func (opt *options) keep(ctx context.Context, dir string, config [][2]string, round func(r *recording) error) (*results.Set, error) {
	switch {
	case opt.out == "" && opt.row != "":
		opt.out = "results/selection.txt"
	case opt.out == "":
		opt.out = "results/" + opt.command + ".txt"
	}
	if err := os.MkdirAll(filepath.Dir(opt.out), 0o755); err != nil { // now, and not after the wait
		return nil, err
	}
	raw, err := opt.record(ctx, dir, config, round)
	if err != nil {
		return nil, err
	}
	res, err := results.Parse(bytes.NewReader(raw), opt.out)
	if err != nil {
		return nil, err
	}
	return res, os.WriteFile(opt.out, raw, 0o644)
}

// ownConfig is what the tests of Go print themselves, for what is none of them.
func ownConfig(more ...[2]string) [][2]string {
	return append([][2]string{{"goos", runtime.GOOS}, {"goarch", runtime.GOARCH}, {"cpu", processor()}}, more...)
}

// scratch makes a directory, which the benchmarks put their files below too: it goes whatever
// happens to them.
func scratch() (string, error) {
	dir, err := os.MkdirTemp(os.Getenv("BENCH_DIR"), "mmapfile-bench-")
	if err != nil {
		return "", err
	}
	return filepath.Abs(dir) // the benchmarks have a working directory of their own
}

// tool runs a program with its output going to w.
func tool(ctx context.Context, w io.Writer, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdout, cmd.Stderr = w, os.Stderr
	return cmd.Run()
}

// buildTest builds the test binary of a package of a module, with further flags of go test.
func buildTest(ctx context.Context, dir, module, pkg string, flags ...string) (string, error) {
	path := filepath.Join(dir, filepath.Base(pkg)+".exe")
	args := append([]string{"-C", module, "test", "-c", "-o", path}, flags...)
	return path, build(ctx, append(args, pkg)...)
}

// build runs the go command, and says which package it builds: the first time takes a while.
func build(ctx context.Context, args ...string) error {
	fmt.Fprintln(os.Stderr, "building", args[len(args)-1])
	return tool(ctx, os.Stderr, "go", args...)
}

// writeResult writes a line in Go's benchmark format, with further figures like "3 faults".
func writeResult(w io.Writer, name string, n int64, ns float64, more ...string) error {
	if procs := runtime.GOMAXPROCS(0); procs > 1 {
		name += fmt.Sprintf("-%d", procs)
	}
	line := fmt.Sprintf("Benchmark%s\t%d\t%s ns/op", name, n, strconv.FormatFloat(max(math.Round(10*ns)/10, 0.1), 'f', -1, 64))
	for _, figure := range more {
		line += "\t" + figure
	}
	_, err := fmt.Fprintln(w, line)
	return err
}

// program is one that runs benchmarks as a test binary of Go does.
type program struct {
	path        string
	bench, skip string   // which of them, as for go test
	args        []string // further arguments
	tree        string   // a key for its results, where there are several trees of the source
	turns       bool     // it takes -turn, the round: the implementations of a row begin in turns
}

// turns are the elements of a list in an order that begins with another one for each number.
func turns[T any](list []T, number int) []T {
	first := number % len(list)
	return slices.Concat(list[first:], list[:first])
}

// runPrograms keeps what the programs print.
func (opt *options) runPrograms(ctx context.Context, dir string, config [][2]string, programs []program) (*results.Set, error) {
	return opt.keep(ctx, dir, config, func(r *recording) error { return opt.runEach(ctx, dir, r, programs) })
}

// runEach runs the programs once. One of them has to have a benchmark that matches.
func (opt *options) runEach(ctx context.Context, dir string, r *recording, programs []program) error {
	r.show("the first row") // the others are shown when they end
	r.seen = false
	for _, prog := range turns(programs, r.round) {
		if prog.tree != "" {
			fmt.Fprintf(r, "tree: %s\n", prog.tree)
		}
		if err := prog.measure(ctx, r, dir, opt.benchtime); err != nil {
			return err
		}
	}
	if !r.seen {
		return errors.New("no benchmark matches")
	}
	return nil
}

// measure runs the program once.
func (prog program) measure(ctx context.Context, r *recording, dir, benchtime string) error {
	args := []string{"-test.run=^$", "-test.bench=" + prog.bench, "-test.skip=" + prog.skip, "-test.benchtime=" + benchtime}
	args = append(args, prog.args...)
	if prog.turns {
		args = append(args, fmt.Sprintf("-turn=%d", r.round))
	}
	cmd := exec.CommandContext(ctx, prog.path, args...)
	cmd.Dir = ".."
	cmd.Env = append(os.Environ(), "BENCH_DIR="+dir)
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return err
	}
	other, copyErr := copyResults(r, stdout, r.progress)
	if err := errors.Join(copyErr, cmd.Wait()); err != nil {
		return fmt.Errorf("%w\n%s", err, other)
	}
	return nil
}

// copyResults copies the results from a benchmark's output to raw, with the configuration lines
// in the first round. It returns the other lines, which say what went wrong.
func copyResults(raw io.Writer, stdout io.Reader, p *progress) (other string, err error) {
	var rest strings.Builder
	lines := bufio.NewScanner(stdout)
	for lines.Scan() && err == nil {
		line := lines.Text()
		name, figures, _ := strings.Cut(line, "\t")
		switch {
		case strings.HasPrefix(name, "Benchmark") && strings.Contains(figures, "/op"):
			p.show(strings.TrimSpace(name))
			_, err = fmt.Fprintln(raw, compact(line))
		case !isConfig(line):
			fmt.Fprintln(&rest, line)
		case p.round == 1:
			_, err = fmt.Fprintln(raw, line)
		}
	}
	return rest.String(), errors.Join(err, lines.Err())
}

// compact is a line of a benchmark without the columns for the eye, and without MB/s, which follows from the rest.
func compact(line string) string {
	fields := strings.Fields(line)
	text := fields[0] + "\t" + fields[1]
	for i := 2; i+1 < len(fields); i += 2 {
		if fields[i+1] != "MB/s" {
			text += "\t" + fields[i] + " " + fields[i+1]
		}
	}
	return text
}

func isConfig(line string) bool {
	key, _, ok := strings.Cut(line, ": ")
	return ok && slices.Contains([]string{"goos", "goarch", "pkg", "cpu", "piece", "warm"}, key)
}
