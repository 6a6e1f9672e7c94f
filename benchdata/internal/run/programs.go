package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.dw1.io/mmapfile/benchdata/internal/results"
)

// programImpls take turns. os-again is os.File once more: what it differs by is the noise.
var programImpls = []string{"os", "mmapfile", "os-again"}

// programRuns measures the programs of the nested module in programs/.
type programRuns struct {
	binary, dir, scale, benchtime string
	list                          []listedProgram
	states                        []string
	r                             *recording
	found                         map[string]string // by program: what the first run found
}

// listedProgram is a line of the list that the binary prints.
type listedProgram struct {
	name      string
	processes int // in a round
	data      string
	what      string
}

// Programs runs Go programs with os.File and with mmapfile.
func Programs(ctx context.Context, args []string) (*results.Set, error) {
	flags, opt := newFlags("programs", 7, "300ms", "the programs")
	dir := flags.String("dir", filepath.Join(cmp.Or(os.Getenv("BENCH_DIR"), os.TempDir()), "mmapfile-programs"),
		"`directory` of the data, about 2.3 GB, which is kept for the next time")
	scale := flags.Float64("scale", 1, "size of the data and of the work")
	flags.Parse(args)

	scratchDir, err := scratch()
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(scratchDir)
	absolute, err := filepath.Abs(*dir)
	if err != nil {
		return nil, err
	}
	runs := &programRuns{dir: absolute, scale: strconv.FormatFloat(*scale, 'g', -1, 64), benchtime: opt.benchtime,
		binary: filepath.Join(scratchDir, "programs.exe"), found: map[string]string{}}
	if err := build(ctx, "-C", "programs", "build", "-o", runs.binary, "go.dw1.io/mmapfile/benchdata/programs"); err != nil {
		return nil, err
	}
	if err := runs.choose(ctx, opt.row); err != nil {
		return nil, err
	}
	config, err := runs.prepare(ctx)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(os.Stderr, "the data stays in %s\n", runs.dir)
	return opt.keep(ctx, runs.dir, config, func(r *recording) error {
		runs.r = r
		for _, group := range runs.groups() {
			if err := runs.round(ctx, group); err != nil {
				return err
			}
		}
		return nil
	})
}

// choose asks the binary for its programs, and keeps those that match.
func (runs *programRuns) choose(ctx context.Context, only string) error {
	program, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	list, err := runs.call(ctx, "list")
	if err != nil {
		return err
	}
	for line := range strings.Lines(list) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", 4)
		if len(fields) != 4 {
			return fmt.Errorf("not a program: %q", line)
		}
		n, err := strconv.Atoi(fields[1])
		if err != nil {
			return err
		}
		if program.MatchString(fields[0]) {
			runs.list = append(runs.list, listedProgram{fields[0], n, fields[2], fields[3]})
		}
	}
	for _, s := range results.ProgramStates {
		runs.states = append(runs.states, s.Key)
	}
	if len(runs.list) == 0 {
		return errors.New("no program matches")
	}
	return nil
}

// call runs the binary and returns what it prints.
func (runs *programRuns) call(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, runs.binary, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("programs %s: %w", strings.Join(args, " "), err)
	}
	return string(out), err
}

// callProgram runs the binary for a program.
func (runs *programRuns) callProgram(ctx context.Context, command, program string, args ...string) (string, error) {
	args = append([]string{command, "-dir=" + runs.dir, "-scale=" + runs.scale, "-program=" + program}, args...)
	return runs.call(ctx, args...)
}

// prepare makes the data, and returns what belongs to these results.
func (runs *programRuns) prepare(ctx context.Context) ([][2]string, error) {
	if err := os.MkdirAll(runs.dir, 0o755); err != nil {
		return nil, err
	}
	missing, err := runs.call(ctx, "missing")
	if err != nil {
		return nil, err
	}
	config := ownConfig([2]string{"scale", runs.scale})
	if missing := strings.TrimSpace(missing); missing != "" {
		config = append(config, [2]string{"missing-cold", missing})
		runs.states = slices.DeleteFunc(runs.states, func(s string) bool { return s == "cold" })
		fmt.Fprintf(os.Stderr, "the state cold is left out: %s\n", missing)
	}
	for i, program := range runs.list {
		config = append(config, [2]string{"what-" + program.name, program.what})
		fmt.Fprintf(os.Stderr, "data %d of %d: %s\n", i+1, len(runs.list), program.name)
		if _, err := runs.callProgram(ctx, "prepare", program.name); err != nil {
			return nil, err
		}
	}
	return config, nil
}

// groups returns the programs by their data.
func (runs *programRuns) groups() (groups [][]listedProgram) {
	for _, program := range runs.list {
		i := slices.IndexFunc(groups, func(group []listedProgram) bool { return group[0].data == program.data })
		if i < 0 {
			groups = append(groups, []listedProgram{program})
		} else {
			groups[i] = append(groups[i], program)
		}
	}
	return groups
}

// round measures programs with the same data in every state, the cold one last: it is read into
// memory once.
func (runs *programRuns) round(ctx context.Context, group []listedProgram) error {
	runs.r.show(group[0].data)
	if _, err := runs.callProgram(ctx, "fill", group[0].name); err != nil {
		return err
	}
	for _, cold := range []bool{false, true} {
		for n, program := range group {
			for _, state := range runs.states {
				if (state == "cold") != cold {
					continue
				}
				if err := runs.state(ctx, program, state, n+runs.r.round); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// state measures a program in a state. The implementations take turns, and which is the first one
// changes.
func (runs *programRuns) state(ctx context.Context, program listedProgram, state string, first int) error {
	times := program.processes
	switch state {
	case "one-process":
		times = 1
	case "cold": // the first to read the data fills the caches of the disk, and of the host
		if _, _, err := runs.time(ctx, program.name, state, "os"); err != nil {
			return err
		}
	}
	for n := range times {
		for _, impl := range turns(programImpls, n+first) {
			if err := runs.run(ctx, program.name, state, impl); err != nil {
				return err
			}
		}
	}
	return nil
}

// run measures a program once, and writes a line in Go's benchmark format.
func (runs *programRuns) run(ctx context.Context, program, state, impl string) error {
	n, ns, err := runs.time(ctx, program, state, impl)
	if err != nil {
		return err
	}
	return writeResult(runs.r, results.ProgramRow(program, state)+"/impl="+impl, n, float64(ns))
}

// time runs a program n times, and returns the time of one.
func (runs *programRuns) time(ctx context.Context, program, state, impl string) (n, ns int64, err error) {
	runs.r.show(program + " " + state + " " + impl)
	out, err := runs.callProgram(ctx, "run", program, "-state="+state, "-for="+runs.benchtime,
		"-impl="+strings.TrimSuffix(impl, "-again"))
	if err != nil {
		return 0, 0, err
	}
	var found string
	if _, err := fmt.Sscan(out, &n, &ns, &found); err != nil {
		return 0, 0, fmt.Errorf("%s: not a result: %q", program, out)
	}
	if want, ok := runs.found[program]; ok && want != found {
		return 0, 0, fmt.Errorf("%s, %s, %s: found %s, and the first run found %s", program, state, impl, found, want)
	}
	runs.found[program] = found
	return n, ns, nil
}
