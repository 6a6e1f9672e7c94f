package run

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.dw1.io/mmapfile/benchdata/internal/cold"
	"go.dw1.io/mmapfile/benchdata/internal/pagecache"
	"go.dw1.io/mmapfile/benchdata/internal/results"
)

// coldRow is a row with the file and the group that it has here.
type coldRow struct {
	cold.Row
	path  string
	group *cold.Group
}

// coldRun measures the rows, each in processes of its own.
type coldRun struct {
	dir      string
	self     string
	rows     []coldRow
	places   map[string]string
	groups   map[int64]*cold.Group // by their memory; 0 is the throttled one
	removers []func() error
	missing  [][2]string // keys and reasons
	each     time.Duration
}

// Cold measures files that are not in memory, that are larger than it, or that are read once.
func Cold(ctx context.Context, args []string) (res *results.Set, err error) {
	flags, opt := newFlags("cold", 7, "300ms", "the rows")
	dir := flags.String("dir", filepath.Join(cmp.Or(os.Getenv("BENCH_DIR"), os.TempDir()), "mmapfile-cold"),
		"`directory` of the data, about 4 GB, which is kept for the next time; on a disk")
	flags.Parse(args)
	run := &coldRun{groups: map[int64]*cold.Group{}}
	match, err := regexp.Compile(opt.row)
	if err != nil {
		return nil, err
	}
	if run.each, err = time.ParseDuration(opt.benchtime); err != nil {
		return nil, err
	}
	if run.dir, err = filepath.Abs(*dir); err != nil {
		return nil, err
	}
	if run.self, err = os.Executable(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(run.dir, 0o755); err != nil {
		return nil, err
	}
	run.places = map[string]string{cold.OnDisk: run.dir}
	defer func() {
		for _, remove := range slices.Backward(run.removers) {
			err = errors.Join(err, remove())
		}
	}()
	for _, row := range cold.Rows() {
		if !match.MatchString(row.Key) {
			continue
		}
		if err := run.prepare(ctx, row); err != nil {
			return nil, err
		}
	}
	if len(run.rows) == 0 {
		return nil, errors.New("no row matches that can be measured here")
	}
	fmt.Fprintf(os.Stderr, "the data stays in %s\n", run.dir)
	config := append(ownConfig([2]string{"readahead", cold.ReadAhead(run.dir)}), run.missing...)
	return opt.keep(ctx, run.dir, config, func(r *recording) error { return run.measure(ctx, r) })
}

// measure measures each row once. The implementations take turns, and which is the first one changes.
func (run *coldRun) measure(ctx context.Context, r *recording) error {
	for n, row := range run.rows {
		if row.Drops {
			r.show(row.Key + ", not counted")
			if err := run.do(ctx, io.Discard, row, cold.OS); err != nil {
				return err
			}
		}
		for _, impl := range turns(row.Impls, n+r.round) {
			r.show(row.Key + " " + impl)
			if err := run.do(ctx, r, row, impl); err != nil {
				return err
			}
		}
	}
	return nil
}

// do does the work of a row in a process of its own, and writes its figures in Go's benchmark format.
func (run *coldRun) do(ctx context.Context, out io.Writer, row coldRow, impl string) error {
	work := cold.Work{Row: row.Row, Impl: strings.TrimSuffix(impl, "-again"), Path: row.path, For: run.each * time.Duration(max(row.Long, 1))}
	if row.group != nil { // files of other rows leave no pages in it
		row.group.Put(&work)
		if err := errors.Join(pagecache.Drop(work.Path), row.group.Empty()); err != nil {
			return err
		}
	}
	args, err := work.Args()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, run.self, args...)
	cmd.Stderr = os.Stderr
	if row.Throttled {
		cmd.Env = append(os.Environ(), "GOMAXPROCS=2")
	}
	text, err := cmd.Output()
	var figures []cold.Figure
	if err == nil {
		err = json.Unmarshal(text, &figures)
	}
	if err != nil {
		return fmt.Errorf("%s, %s: %w", row.Key, impl, err)
	}
	for _, f := range figures {
		if err := writeResult(out, results.ColdRow(row.Key, f.Name)+"/impl="+impl, 1, f.NS); err != nil {
			return err
		}
	}
	return nil
}

// leaveOut notes why rows are not measured.
func (run *coldRun) leaveOut(key string, why error) {
	entry := [2]string{"missing-" + key, why.Error()}
	if !slices.Contains(run.missing, entry) {
		fmt.Fprintf(os.Stderr, "%s is left out: %v\n", key, why)
		run.missing = append(run.missing, entry)
	}
}

// prepare adds a row, with its file and its group. Where its place or group cannot be had, it is left out.
func (run *coldRun) prepare(ctx context.Context, row cold.Row) error {
	place := cmp.Or(row.Place, cold.OnDisk)
	dir, err := run.place(place)
	if err != nil {
		run.leaveOut(place, err)
		return nil
	}
	r := coldRow{row, filepath.Join(dir, row.File()), nil}
	if row.Throttled || row.Memory != cold.NoGroup {
		if r.group, err = run.group(row); err != nil {
			run.leaveOut("group", err)
			return nil
		}
	}
	switch {
	case row.Events:
		r.path = filepath.Join(dir, "events")
		err = run.makeEvents(r.path)
	case row.Piece == 0:
		err = makeFile(ctx, r.path, row.Size)
	}
	run.rows = append(run.rows, r)
	return err
}

// place returns the directory of the data, on a loop device, or on a tmpfs.
func (run *coldRun) place(place string) (dir string, err error) {
	if run.places[place] != "" {
		return run.places[place], nil
	}
	switch place {
	case cold.OnLoop:
		const size = 1 << 30 // of files, the journal and events
		l, err := cold.NewLoop(run.dir, size)
		if err != nil {
			return "", err
		}
		dir = l.Dir
		run.removers = append(run.removers, l.Remove)
	case cold.OnTmpfs:
		if dir, err = cold.NewTmpfs(); err != nil {
			return "", err
		}
		run.removers = append(run.removers, func() error { return os.RemoveAll(dir) })
	}
	run.places[place] = dir
	return dir, nil
}

// group returns the control group of a row.
func (run *coldRun) group(row cold.Row) (g *cold.Group, err error) {
	if run.groups[row.Memory] != nil {
		return run.groups[row.Memory], nil
	}
	if row.Throttled {
		g, err = cold.NewThrottledGroup(run.dir, cold.TickReads)
	} else {
		g, err = cold.NewMemoryGroup(row.Memory)
	}
	if err != nil {
		return nil, err
	}
	run.groups[row.Memory] = g
	run.removers = append(run.removers, g.Remove)
	return g, nil
}

// makeEvents makes a directory of events, unless this run has. They are not kept for the next time, since
// their format may change.
func (run *coldRun) makeEvents(dir string) error {
	if slices.ContainsFunc(run.rows, func(r coldRow) bool { return r.path == dir }) {
		return nil
	}
	run.removers = append(run.removers, func() error { return os.RemoveAll(dir) })
	return errors.Join(os.RemoveAll(dir), cold.MakeEvents(dir))
}

// makeFile writes a file of noise unless it is there, and drops it.
func makeFile(ctx context.Context, path string, size int64) error {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(err, pagecache.Drop(path))
	}
	fmt.Fprintf(os.Stderr, "writing a file of %s\n", results.SizeName(results.FormatSize(size)))
	part := path + ".part"
	if err := cold.WriteFile(ctx, part, size, 1<<20); err != nil {
		return errors.Join(err, os.Remove(part))
	}
	return errors.Join(os.Rename(part, path), pagecache.Drop(path))
}
