package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"go.dw1.io/mmapfile/benchdata/internal/cold"
)

// prepare makes the rows that match, their groups and their files.
func (run *coldRun) prepare(ctx context.Context) error {
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
			fmt.Fprintf(os.Stderr, "%s is left out: %v\n", part.key, err)
			run.missing = append(run.missing, [2]string{"missing-" + part.key, err.Error()})
		}
		all = append(all, rows...)
	}
	for _, row := range all {
		if run.match.MatchString(row.key) {
			run.rows = append(run.rows, row)
		}
	}
	if len(run.rows) == 0 {
		return errors.New("no row matches")
	}
	files := map[string]bool{}
	for _, row := range run.rows {
		if err := run.makeFile(ctx, row.work.File); err != nil {
			return err
		}
		if !files[row.work.File] {
			files[row.work.File] = true
			if err := cold.Drop(row.work.File); err != nil {
				return err
			}
		}
	}
	return nil
}

// file returns the path of the file of a size. Its name has the size, so that makeFile knows it.
func (run *coldRun) file(size int64) string {
	return filepath.Join(run.dir, fmt.Sprintf("%dM.dat", size>>20))
}

// makeFile writes a file of noise unless it is there.
func (run *coldRun) makeFile(ctx context.Context, path string) error {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var megabytes int
	if _, err := fmt.Sscanf(filepath.Base(path), "%dM.dat", &megabytes); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "writing a file of %d MiB\n", megabytes)
	if err := os.MkdirAll(run.dir, 0o755); err != nil {
		return err
	}
	part := path + ".part"
	f, err := os.Create(part)
	if err != nil {
		return err
	}
	source, p := rand.NewChaCha8([32]byte{}), make([]byte, 1<<20)
	for range megabytes {
		source.Read(p)
		_, writeErr := f.Write(p)
		if err = errors.Join(writeErr, ctx.Err()); err != nil {
			break
		}
	}
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(part))
	}
	return os.Rename(part, path)
}

func (run *coldRun) droppedRows() []coldRow {
	return []coldRow{
		{key: "what=dropped-random", work: cold.Work{What: "dropped-random", File: run.file(coldSize), Reads: 200}, impls: coldImpls},
		{key: "what=dropped-order", work: cold.Work{What: "dropped-order", File: run.file(coldSize)}, impls: coldImpls},
	}
}

// keep keeps a group until the end, if there is one.
func (run *coldRun) keep(g *cold.Group, err error) (*cold.Group, error) {
	if err == nil {
		run.groups = append(run.groups, g)
	}
	return g, err
}

func (run *coldRun) evictedRows() ([]coldRow, error) {
	group, err := run.keep(cold.NewMemoryGroup(0))
	if err != nil {
		return nil, err
	}
	return []coldRow{
		{key: "what=evicted-random", work: cold.Work{What: "evicted-random", File: run.file(coldSize), Reads: 200}, impls: coldImpls, group: group},
		{key: "what=evicted-order", work: cold.Work{What: "evicted-order", File: run.file(coldSize)}, impls: coldImpls, group: group},
	}, nil
}

func (run *coldRun) largerRows() (rows []coldRow, err error) {
	group, err := run.keep(cold.NewMemoryGroup(largeMemory))
	if err != nil {
		return nil, err
	}
	for _, n := range []int{1, 4} {
		rows = append(rows, coldRow{
			key:  fmt.Sprintf("what=larger/goroutines=%d", n),
			work: cold.Work{What: "larger", File: run.file(largeSize), Memory: largeMemory, Goroutines: n}, impls: coldImpls, group: group})
	}
	return rows, nil
}

func (run *coldRun) sweepRows() (rows []coldRow, err error) {
	group, err := run.keep(cold.NewMemoryGroup(sweepMemory))
	if err != nil {
		return nil, err
	}
	for _, percent := range sweepPercents {
		size := int64(sweepMemory) * int64(percent) / 100
		rows = append(rows, coldRow{
			key: fmt.Sprintf("what=sweep/percent=%d", percent), rounds: sweepRounds, fresh: true,
			work:  cold.Work{What: "larger", File: run.file(size), Memory: sweepMemory, Goroutines: 1, For: run.each / 2},
			impls: slices.DeleteFunc(slices.Clone(coldImpls), func(impl string) bool { return impl == "os-again" }), group: group})
	}
	return rows, nil
}

func (run *coldRun) tickerRows() ([]coldRow, error) {
	if err := os.MkdirAll(run.dir, 0o755); err != nil {
		return nil, err
	}
	group, err := run.keep(cold.NewThrottledGroup(run.dir, tickReads))
	if err != nil {
		return nil, err
	}
	return []coldRow{{key: "what=ticker", work: cold.Work{What: "ticker", File: run.file(largeSize), Goroutines: 16},
		impls: []string{cold.OS, cold.Mmapfile, "mmapfile-view", "mmapfile-populate", cold.Mapping, "os-again"}, group: group, threads: 2}}, nil
}
