//go:build !android

package sys

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// A question for the length does not have the next write give the file a time of its own: it gets that of the last tick
// of the clock. Another tick, and other processes, may give it a later one, so one of many files is enough. A file of which
// nothing is asked shows whether times are those of the clock.
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
	// modified writes to a new file twice, and returns its time.
	modified := func(name string, asks bool) int64 {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for range 2 {
			if _, err := f.WriteAt([]byte("a"), 0); err != nil {
				t.Fatal(err)
			}
			if asks {
				if _, _, err := Length(f); err != nil {
					t.Fatal(err)
				}
			}
		}
		fi, err := f.Stat()
		if err != nil {
			t.Fatal(err)
		}
		return fi.ModTime().UnixNano()
	}
	if err := unix.Statx(-1, "", unix.AT_EMPTY_PATH, 0, new(unix.Statx_t)); err != unix.EBADF {
		t.Skip("the system refuses statx: ", err)
	}
	told := 0
	for i := range 200 {
		tick := clock()
		for n, last := 0, tick; tick == last; n++ {
			if tick = clock(); n > 1e7 {
				t.Skip("the clock does not tick")
			}
		}
		if modified("control"+strconv.Itoa(i), false) != tick {
			continue
		}
		if told++; modified("asked"+strconv.Itoa(i), true) == tick {
			return
		}
	}
	if told == 0 {
		t.Skip("the times of files here are not those of the clock")
	}
	t.Errorf("each write after a question got a time of its own, in %d files", told)
}

func TestLength_AsStat(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, "file")
	if err := os.WriteFile(name, make([]byte, 12345), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{name, dir, os.DevNull} {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		asStat(t, f)
		f.Close()
		if _, _, err := Length(f); !errors.Is(err, os.ErrClosed) {
			t.Errorf("%s is closed: %v", name, err)
		}
	}
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	event := os.NewFile(uintptr(fd), "eventfd")
	defer event.Close()
	asStat(t, event)
	if size, regular, err := Length(os.NewFile(1<<30, "none")); err == nil {
		t.Errorf("a descriptor that is none has %d bytes, regular: %v", size, regular)
	}
}

// asStat tests that Length of f says what Stat does.
func asStat(t *testing.T, f *os.File) {
	t.Helper()
	fi, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	size, regular, err := Length(f)
	if regular != fi.Mode().IsRegular() || regular && size != fi.Size() || err != nil {
		t.Errorf("%s: %d, regular: %v, %v; want %d, %v", f.Name(), size, regular, err, fi.Size(), fi.Mode())
	}
}
