package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"go.dw1.io/mmapfile/benchdata/internal/cold"
	"go.dw1.io/mmapfile/benchdata/internal/results"
)

// Ahead measures what the disk can begin before it is asked, and what a File costs until it gains.
func Ahead(ctx context.Context, args []string) (*results.Set, error) {
	flags, opt := newFlags("ahead", 10, "300ms")
	return opt.runWorks(ctx, flags, args, results.AheadRows, (*coldRun).aheadRows)
}

// loopSize is that of the file system on the loop device: the file, its journal and events.
const loopSize = cold.Size * 4

// aheadRows are the rows that match, without those that lack a place or a group.
func (run *coldRun) aheadRows() (rows []coldRow) {
	places, groups := map[string]string{cold.OnDisk: run.dir}, map[int64]*cold.Group{}
	for _, c := range cold.Cases() {
		if !run.match.MatchString(c.Key) {
			continue
		}
		if places[c.Place] == "" {
			dir, err := run.makePlace(c.Place)
			if err != nil {
				run.leaveOut(c.Place, err)
				continue
			}
			places[c.Place] = dir
		}
		row := coldRow{key: c.Key, work: c.Work, impls: c.Impls, ownFile: c.Size == 0}
		row.work.For = run.each * c.Long
		row.work.File = filepath.Join(places[c.Place], fileName(c.Size))
		if c.Part == cold.PartEvents {
			dir, err := run.makeEvents(places[c.Place])
			if err != nil {
				run.leaveOut(c.Place, err)
				continue
			}
			row.work.File = dir
		}
		if limit := c.Work.Memory; limit != 0 {
			if groups[limit] == nil {
				group, err := run.keep(cold.NewMemoryGroup(max(limit, 0)))
				if err != nil {
					run.leaveOut("memory", err)
					continue
				}
				groups[limit] = group
			}
			row.group, row.fresh = groups[limit], true
		}
		rows = append(rows, row)
	}
	return rows
}

// makeEvents makes events below a directory, unless they are there. They are not kept for the next time,
// since their format may change.
func (run *coldRun) makeEvents(parent string) (string, error) {
	dir := filepath.Join(parent, "events")
	if slices.Contains(run.events, dir) {
		return dir, nil
	}
	run.events = append(run.events, dir)
	run.removers = append(run.removers, func() error { return os.RemoveAll(dir) })
	return dir, errors.Join(os.RemoveAll(dir), cold.MakeEvents(dir))
}

// makePlace makes a directory on the loop device or on a tmpfs.
func (run *coldRun) makePlace(place string) (string, error) {
	switch place {
	case cold.OnLoop:
		l, err := cold.NewLoop(run.dir, loopSize)
		if err != nil {
			return "", err
		}
		run.removers = append(run.removers, l.Remove)
		return l.Dir, nil
	case cold.OnTmpfs:
		dir, err := cold.NewTmpfs()
		if err != nil {
			return "", err
		}
		run.removers = append(run.removers, func() error { return os.RemoveAll(dir) })
		return dir, nil
	}
	return "", fmt.Errorf("no place %q", place)
}
