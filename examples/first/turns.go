package main

import (
	"context"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"slices"
	"time"

	"go.dw1.io/mmapfile"
)

// takeTurns calls both functions in rounds, until they have taken the time d, and returns the median time of a
// round of each. They return a checksum of what they read in name, which must be the same.
func takeTurns(ctx context.Context, d time.Duration, name string, both ...func(round int) (uint32, error)) (medians [2]time.Duration, err error) {
	var times [2][]time.Duration
	var total time.Duration
	dots := d / 10
	for round := 0; round == 0 || total < d; round += 2 {
		var pair [2]time.Duration
		// The first one in a round may wait for the disk. Two rounds together, each is it once.
		for turn := range 2 {
			var sums [2]uint32
			for i := range both {
				i = (i + turn) % 2
				began := time.Now()
				if sums[i], err = both[i](round + turn); err != nil {
					return medians, err
				}
				pair[i] += time.Since(began)
				if ctx.Err() != nil {
					return medians, context.Cause(ctx)
				}
			}
			if sums[0] != sums[1] {
				return medians, fmt.Errorf("%s: os.File and mmapfile.File read different bytes: does another program write to it?", name)
			}
		}
		for i := range times {
			times[i] = append(times[i], pair[i]/2)
			total += pair[i]
		}
		for ; dots <= min(total, d); dots += max(d/10, 1) {
			fmt.Fprint(os.Stderr, ".")
		}
	}
	for i := range times {
		slices.Sort(times[i])
		medians[i] = times[i][len(times[i])/2]
	}
	return medians, nil
}

// lookUpInTurns compares before and f, which was opened with how, and prints the times, and why calls were not faster.
func lookUpInTurns(ctx context.Context, w io.Writer, d time.Duration, size int64, before, f file, how string) error {
	reads := uint64(0)
	times, err := takeTurns(ctx, d, before.Name(),
		func(round int) (uint32, error) { return lookUp(before, size, round) },
		func(round int) (uint32, error) { reads += lookups; return lookUp(f, size, round) })
	if err != nil {
		return err
	}
	printTimes(w, times, lookups, how)
	if f, ok := f.(*mmapfile.File); ok {
		calls := f.SystemCalls()
		fmt.Fprintf(w, "  %d%% of its lookups were system calls, by reason (see docs/where-it-pays.md): %v\n", 100*calls.Total()/reads, calls)
	}
	return nil
}

// readOnce reads f from its start, and closes it.
func readOnce(f io.ReadCloser, err error) (sum uint32, _ error) {
	if err != nil {
		return 0, err
	}
	defer f.Close()
	hash := crc32.NewIEEE()
	_, err = io.Copy(hash, io.LimitReader(f, passSize)) // the limit is for a long FILE
	return hash.Sum32(), err
}
