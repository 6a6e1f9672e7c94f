package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"

	"go.dw1.io/mmapfile/benchdata/internal/cold"
)

// coldRows is what the rows of files that are not in memory begin with.
const coldRows = "Cold/"

// The sizes of the files, and the limits.
const (
	coldSize    = 256 << 20
	largeSize   = 2 << 30
	largeMemory = 512 << 20
	sweepMemory = 128 << 20
	sweepRounds = 3 // the picture needs no more
	tickReads   = 300
)

// sweepPercents are the sizes of the files of the picture, in percent of the memory.
var sweepPercents = []int{25, 50, 75, 100, 125, 150, 200, 300, 400}

// coldImpls take turns. os-again is os.File once more: what it differs by is the noise.
var coldImpls = []string{cold.OS, cold.Mmapfile, cold.Mapping, "os-again"}

// coldRow is one row of the measurement.
type coldRow struct {
	key     string
	work    cold.Work
	impls   []string
	group   *cold.Group
	rounds  int // 0: all
	threads int // GOMAXPROCS, 0 for the default
	// fresh has the group emptied before each work: files of other rows leave no pages in it.
	fresh bool
}

// coldRun measures the rows.
type coldRun struct {
	dir     string
	self    string
	rows    []coldRow
	groups  []*cold.Group
	missing [][2]string // keys and reasons
	match   *regexp.Regexp
	each    time.Duration
}

// measureCold measures reads of files that are not in memory, or larger than it.
func measureCold(ctx context.Context, args []string) (err error) {
	var opt options
	flags := opt.newFlags("cold", "cold.txt")
	flags.Lookup("rounds").Value.Set("7")
	flags.Lookup("benchtime").Value.Set("800ms")
	dir := flags.String("dir", filepath.Join(cmp.Or(os.Getenv("BENCH_DIR"), os.TempDir()), "mmapfile-cold"),
		"`directory` of the data, about 4 GB, which is kept for the next time; on a disk")
	only := flags.String("what", "", "`regexp` of the rows; all if empty")
	flags.Parse(args)
	if cold.Missing != "" {
		fmt.Fprintln(os.Stderr, "nothing was measured:", cold.Missing)
		return nil
	}
	run := &coldRun{}
	if run.match, err = regexp.Compile(*only); err != nil {
		return err
	}
	if run.each, err = time.ParseDuration(opt.benchtime); err != nil {
		return err
	}
	if run.dir, err = filepath.Abs(*dir); err != nil {
		return err
	}
	if run.self, err = os.Executable(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, run.remove()) }()
	if err := run.prepare(ctx); err != nil {
		return err
	}
	scratchDir, err := scratch()
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratchDir)
	raw := filepath.Join(scratchDir, "raw.txt")
	if err := run.measureTo(ctx, raw, opt.rounds); err != nil {
		if ctx.Err() != nil {
			return errors.New("interrupted")
		}
		return err
	}
	res, err := store(raw, opt.out)
	if err != nil {
		return err
	}
	if err := reportCold(os.Stdout, res); err != nil {
		return err
	}
	fmt.Printf("\nRaw results: %s. The data stays in %s.\n", opt.out, run.dir)
	return nil
}

func (run *coldRun) measureTo(ctx context.Context, raw string, rounds int) error {
	out, err := os.Create(raw)
	if err != nil {
		return err
	}
	defer out.Close()
	config := append([][2]string{{"goos", runtime.GOOS}, {"goarch", runtime.GOARCH}, {"cpu", processor()},
		{"benchtime", run.each.String()}, {"readahead", cold.ReadAhead(run.dir)}}, run.missing...)
	writeMachine(out, run.dir, config...)
	p := newProgress(os.Stderr, rounds)
	defer p.end()
	for p.round = 1; p.round <= rounds; p.round++ {
		fmt.Fprintf(out, "# round %d, load %s\n", p.round, firstLine("/proc/loadavg"))
		for n, row := range run.rows {
			if row.rounds > 0 && p.round > row.rounds {
				continue
			}
			for i := range row.impls {
				impl := row.impls[(i+n+p.round)%len(row.impls)]
				p.show(row.key + " " + impl)
				if err := run.do(ctx, out, row, impl); err != nil {
					return err
				}
			}
		}
	}
	return out.Close()
}

// do does the work of a row in a process of its own, and writes its figures in Go's benchmark format.
func (run *coldRun) do(ctx context.Context, out io.Writer, row coldRow, impl string) error {
	work := row.work
	work.For = cmp.Or(work.For, run.each)
	work.Impl = strings.TrimSuffix(impl, "-again")
	if name, way, ok := strings.Cut(impl, "-"); ok && name == cold.Mmapfile { // as mmapfile-view
		work.Impl, work.What = name, work.What+"-"+way
	}
	if row.group != nil {
		row.group.Put(&work)
	}
	if row.fresh {
		if err := errors.Join(cold.Drop(work.File), row.group.Empty()); err != nil {
			return err
		}
	}
	cmd := exec.CommandContext(ctx, run.self, work.Args()...)
	cmd.Stderr = os.Stderr
	if row.threads > 0 {
		cmd.Env = append(os.Environ(), fmt.Sprintf("GOMAXPROCS=%d", row.threads))
	}
	text, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%s, %s: %w", row.key, impl, err)
	}
	for line := range bytes.Lines(text) {
		figure, err := cold.Parse(string(line))
		if err != nil {
			return fmt.Errorf("%s, %s: not a figure: %q", row.key, impl, line)
		}
		name := coldRows + row.key
		if figure.Name != "" {
			name += "/figure=" + figure.Name
		}
		err = writeResult(out, name+"/impl="+impl, 1, figure.NS, fmt.Sprintf("%.6g %s", figure.Faults, faultUnit))
		if err != nil {
			return err
		}
	}
	return nil
}

// remove removes the groups.
func (run *coldRun) remove() (err error) {
	for _, g := range run.groups {
		err = errors.Join(err, g.Remove())
	}
	return err
}
