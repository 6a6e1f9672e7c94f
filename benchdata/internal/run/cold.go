package run

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
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
	// ownFile is true for work that makes its file.
	ownFile bool
}

// coldRun measures the rows, each in processes of its own.
type coldRun struct {
	prefix   string // of the rows' names
	dir      string
	self     string
	rows     []coldRow
	removers []func() error
	events   []string    // directories of events
	missing  [][2]string // keys and reasons
	match    *regexp.Regexp
	each     time.Duration
}

// Cold measures reads of files that are not in memory, or larger than it.
func Cold(ctx context.Context, args []string) (*results.Set, error) {
	flags, opt := newFlags("cold", 7, "800ms")
	return opt.runWorks(ctx, flags, args, results.ColdRows, (*coldRun).coldRows)
}

// runWorks measures rows that are made by a function.
func (opt *options) runWorks(ctx context.Context, flags *flag.FlagSet, args []string, prefix string,
	rows func(run *coldRun) []coldRow) (res *results.Set, err error) {
	dir := flags.String("dir", filepath.Join(cmp.Or(os.Getenv("BENCH_DIR"), os.TempDir()), "mmapfile-cold"),
		"`directory` of the data, about 4 GB, which is kept for the next time; on a disk")
	only := flags.String("what", "", "`regexp` of the rows; all if empty")
	flags.Parse(args)
	if cold.Missing != "" {
		fmt.Fprintln(os.Stderr, "nothing was measured:", cold.Missing)
		return nil, nil
	}
	run := &coldRun{prefix: prefix}
	if run.match, err = regexp.Compile(*only); err != nil {
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
	defer func() {
		for _, remove := range slices.Backward(run.removers) {
			err = errors.Join(err, remove())
		}
	}()
	if err := run.prepare(ctx, rows(run)); err != nil {
		return nil, err
	}
	fmt.Fprintf(os.Stderr, "the data stays in %s\n", run.dir)
	config := append(ownConfig([2]string{"readahead", cold.ReadAhead(run.dir)}), run.missing...)
	return opt.keep(ctx, run.dir, config, func(r *recording) error { return run.measure(ctx, r) })
}

// measure measures each row once. The implementations take turns, and which is the first one changes.
func (run *coldRun) measure(ctx context.Context, r *recording) error {
	for n, row := range run.rows {
		if row.rounds > 0 && r.round > row.rounds {
			continue
		}
		if row.work.Drops() { // the first to read the file fills the caches of the disk, and of the host
			r.show(row.key + ", not counted")
			if err := run.do(ctx, io.Discard, row, cold.OS); err != nil {
				return err
			}
		}
		for i := range row.impls {
			impl := row.impls[(i+n+r.round)%len(row.impls)]
			r.show(row.key + " " + impl)
			if err := run.do(ctx, r, row, impl); err != nil {
				return err
			}
		}
	}
	return nil
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
		if err := errors.Join(pagecache.Drop(work.File), row.group.Empty()); err != nil {
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
		name := run.prefix + row.key
		if figure.Name != "" {
			name += "/figure=" + figure.Name
		}
		err = writeResult(out, name+"/impl="+impl, 1, figure.NS, fmt.Sprintf("%.6g %s", figure.Faults, results.FaultUnit))
		if err != nil {
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

// prepare keeps the rows that match, and makes their files.
func (run *coldRun) prepare(ctx context.Context, rows []coldRow) error {
	for _, row := range rows {
		if run.match.MatchString(row.key) {
			run.rows = append(run.rows, row)
		}
	}
	if len(run.rows) == 0 {
		return errors.New("no row matches")
	}
	files := map[string]bool{}
	for _, row := range run.rows {
		if files[row.work.File] || row.ownFile {
			continue
		}
		files[row.work.File] = true
		if err := makeFile(ctx, row.work.File); err != nil {
			return err
		}
		if err := pagecache.Drop(row.work.File); err != nil {
			return err
		}
	}
	return nil
}

// coldRows are the rows of Cold.
func (run *coldRun) coldRows() []coldRow {
	all := run.droppedRows()
	for _, part := range []struct {
		key  string // of the reason why it is left out
		rows func() ([]coldRow, error)
	}{
		{"evicted", run.evictedRows},
		{"larger", run.largerRows},
		{"sweep", run.sweepRows},
		{"ticker", run.tickerRows},
	} {
		rows, err := part.rows()
		if err != nil {
			run.leaveOut(part.key, err)
		}
		all = append(all, rows...)
	}
	return all
}

// file returns the path of the file of a size.
func (run *coldRun) file(size int64) string { return filepath.Join(run.dir, fileName(size)) }

// fileName is the name of a file of a size, which makeFile knows from it.
func fileName(size int64) string {
	if size < 1<<20 {
		return fmt.Sprintf("%dK.dat", size>>10)
	}
	return fmt.Sprintf("%dM.dat", size>>20)
}

// makeFile writes a file of noise unless it is there.
func makeFile(ctx context.Context, path string) error {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var size int64
	var unit rune
	if _, err := fmt.Sscanf(filepath.Base(path), "%d%c.dat", &size, &unit); err != nil {
		return err
	}
	size *= map[rune]int64{'K': 1 << 10, 'M': 1 << 20}[unit]
	fmt.Fprintf(os.Stderr, "writing a file of %s\n", results.SizeName(results.FormatSize(size)))
	part := path + ".part"
	f, err := os.Create(part)
	if err != nil {
		return err
	}
	source, p := rand.NewChaCha8([32]byte{}), make([]byte, min(size, 1<<20))
	for n := int64(0); n < size && err == nil; n += int64(len(p)) {
		source.Read(p)
		_, writeErr := f.Write(p)
		err = errors.Join(writeErr, ctx.Err())
	}
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(part))
	}
	return os.Rename(part, path)
}

func (run *coldRun) droppedRows() []coldRow {
	return []coldRow{
		{key: "what=dropped-random", work: cold.Work{What: "dropped-random", File: run.file(cold.Size), Reads: 200}, impls: cold.Impls},
		{key: "what=dropped-order", work: cold.Work{What: "dropped-order", File: run.file(cold.Size)}, impls: cold.Impls},
	}
}

// keep keeps a group until the end, if there is one.
func (run *coldRun) keep(g *cold.Group, err error) (*cold.Group, error) {
	if err == nil {
		run.removers = append(run.removers, g.Remove)
	}
	return g, err
}

func (run *coldRun) evictedRows() ([]coldRow, error) {
	group, err := run.keep(cold.NewMemoryGroup(0))
	if err != nil {
		return nil, err
	}
	return []coldRow{
		{key: "what=evicted-random", work: cold.Work{What: "evicted-random", File: run.file(cold.Size), Reads: 200}, impls: cold.Impls, group: group},
		{key: "what=evicted-order", work: cold.Work{What: "evicted-order", File: run.file(cold.Size)}, impls: cold.Impls, group: group},
	}, nil
}

func (run *coldRun) largerRows() (rows []coldRow, err error) {
	group, err := run.keep(cold.NewMemoryGroup(cold.LargeMemory))
	if err != nil {
		return nil, err
	}
	for _, n := range []int{1, 4} {
		rows = append(rows, coldRow{
			key:  fmt.Sprintf("what=larger/goroutines=%d", n),
			work: cold.Work{What: "larger", File: run.file(cold.LargeSize), Memory: cold.LargeMemory, Goroutines: n}, impls: cold.Impls, group: group})
	}
	return rows, nil
}

func (run *coldRun) sweepRows() (rows []coldRow, err error) {
	group, err := run.keep(cold.NewMemoryGroup(cold.SweepMemory))
	if err != nil {
		return nil, err
	}
	for _, percent := range cold.SweepPercents {
		size := int64(cold.SweepMemory) * int64(percent) / 100
		rows = append(rows, coldRow{
			key: fmt.Sprintf("what=sweep/percent=%d", percent), rounds: cold.SweepRounds, fresh: true,
			work:  cold.Work{What: "larger", File: run.file(size), Memory: cold.SweepMemory, Goroutines: 1, For: run.each / 2},
			impls: slices.DeleteFunc(slices.Clone(cold.Impls), func(impl string) bool { return impl == "os-again" }), group: group})
	}
	return rows, nil
}

func (run *coldRun) tickerRows() ([]coldRow, error) {
	group, err := run.keep(cold.NewThrottledGroup(run.dir, cold.TickReads))
	if err != nil {
		return nil, err
	}
	return []coldRow{{key: "what=ticker", work: cold.Work{What: "ticker", File: run.file(cold.LargeSize), Goroutines: 16},
		impls: []string{cold.OS, cold.Mmapfile, "mmapfile-view", "mmapfile-populate", cold.Mapping, "os-again"}, group: group, threads: 2}}, nil
}
