package sys

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// A question for the length does not have the next write give the file a time of its own: it gets that of the last tick
// of the clock. Another tick, and other processes, may give it a later one, so one of many files is enough.
func TestLength_AsksForNoTimes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	clock := func() int64 {
		var tick unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &tick); err != nil {
			t.Skip(err)
		}
		return tick.Nano()
	}
	for i := range 200 {
		tick := clock()
		for last := tick; tick == last; {
			tick = clock()
		}
		f, err := os.Create(filepath.Join(dir, strconv.Itoa(i)))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for range 2 {
			if _, err := f.WriteAt([]byte("a"), 0); err != nil {
				t.Fatal(err)
			}
			if _, _, err := Length(f); err != nil {
				t.Fatal(err)
			}
		}
		fi, err := f.Stat()
		if err != nil {
			t.Fatal(err)
		}
		if fi.ModTime().UnixNano() == tick {
			return
		}
	}
	t.Error("each write after a question got a time of its own")
}
