//go:build !nommap

package mmapfile_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/filetest"
)

// mustWriteMapped makes a mapped write at the beginning of a period, before its timer.
func mustWriteMapped(t *testing.T, f *mmapfile.File) {
	t.Helper()
	for range 100 {
		if !filetest.Eventually(10*time.Second, func() bool { return mmapfile.PeriodOver(f) }) {
			t.Fatal("the period of mapped writes never ends")
		}
		for range 3 { // the first begins a period
			mmapfile.PrefaultAll(f)
			if _, err := f.WriteAt([]byte("stored"), 100); err != nil {
				t.Fatal(err)
			}
		}
		if mmapfile.WroteMapped(f) {
			return
		}
	}
	t.Fatal("no mapped write, so this tests nothing")
}

func modTime(t *testing.T, name string) time.Time {
	t.Helper()
	fi, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	return fi.ModTime()
}

// waitForTick waits until the clock of the file system is past after.
func waitForTick(t *testing.T, name string, after time.Time) (now time.Time) {
	t.Helper()
	clock := filepath.Join(filepath.Dir(name), "clock")
	if !filetest.Eventually(10*time.Second, func() bool {
		filetest.Write(t, clock, nil)
		now = modTime(t, clock)
		return now.After(after)
	}) {
		t.Fatal("the clock does not move")
	}
	return now
}

// A time that a program sets after mapped writes stays, in the past or in the future.
func TestWriteAt_TimeSetStays(t *testing.T) {
	t.Parallel()
	for way, end := range map[string]func(f *mmapfile.File) error{
		"Close": (*mmapfile.File).Close,
		"Sync":  (*mmapfile.File).Sync,
		"Stat":  func(f *mmapfile.File) error { _, err := f.Stat(); return err },
		"Timer": func(f *mmapfile.File) error {
			if !filetest.Eventually(10*time.Second, func() bool { return mmapfile.PeriodOver(f) }) {
				return errors.New("the period never ends")
			}
			return nil
		},
	} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			name := filetest.Temp(t, filetest.Pattern(8192))
			f := mustOpenMapped(t, name)
			for _, ago := range []time.Duration{0, time.Microsecond, time.Hour, -time.Hour} {
				mustWriteMapped(t, f)
				set := waitForTick(t, name, modTime(t, name)).Add(-time.Microsecond - ago)
				if err := os.Chtimes(name, set, set); err != nil {
					t.Fatal(err)
				}
				set = modTime(t, name) // not every file system keeps nanoseconds, nor every emulator
				if err := end(f); err != nil {
					t.Fatal(err)
				}
				if got := modTime(t, name); !got.Equal(set) {
					t.Errorf("set to %v before the end of the period, it is %v, later by %v", ago, got, got.Sub(set))
				}
				if way == "Close" {
					f = mustOpenMapped(t, name)
				}
			}
		})
	}
}

// A program can save the time, write, and restore the time.
func TestWriteAt_TimeRestoredStays(t *testing.T) {
	t.Parallel()
	name := filetest.Temp(t, filetest.Pattern(8192))
	f := mustOpenMapped(t, name)
	saved := modTime(t, name)
	waitForTick(t, name, saved)
	mustWriteMapped(t, f)
	if err := os.Chtimes(name, time.Now(), saved); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if got := modTime(t, name); !got.Equal(saved) {
		t.Errorf("the time was restored to %v, and is %v", saved, got)
	}
}

// A change of metadata alone does not count as a time that was set.
func TestWriteAt_TimeMovesAfterRename(t *testing.T) {
	t.Parallel()
	name := filetest.Temp(t, filetest.Pattern(8192))
	f := mustOpenMapped(t, name)
	mustWriteMapped(t, f) // the page's first one, a fault, which moves the time by itself
	for i, change := range []func() error{
		func() error { return os.Rename(name, name+"-0") },
		func() error { return os.Chmod(name+"-0", 0o640) },
		func() error { return os.Link(name+"-0", name+"-2") },
		func() error { return unix.Setxattr(name+"-0", "user.mmapfile", []byte("x"), 0) },
	} {
		mustWriteMapped(t, f)
		begun := modTime(t, f.Name()+map[bool]string{false: "-0"}[i == 0])
		waitForTick(t, name, begun)
		if err := change(); err != nil {
			t.Log(err)
			continue
		}
		if _, err := f.WriteAt([]byte("again"), 100); err != nil {
			t.Fatal(err)
		}
		if fi, err := f.Stat(); err != nil || !fi.ModTime().After(begun) {
			t.Errorf("change %d: the time is %v, as before the last write, %v", i, fi.ModTime(), err)
		}
	}
}

// A writer that does not own the file may not set its time. Its writes move the time nevertheless.
func TestWriteAt_TimeMovesForNonOwner(t *testing.T) {
	t.Parallel()
	name := filetest.Temp(t, filetest.Pattern(8192))
	f := mustOpenMapped(t, name)
	if err := os.Chown(name, 65534, 65534); err != nil {
		t.Skip(err)
	}
	watch := watchFile(t, name)
	mustWriteMapped(t, f)
	begun := modTime(t, name)
	waitForTick(t, name, begun)
	watch()
	if err := withoutCapability(unix.CAP_FOWNER, func() error {
		if _, err := f.WriteAt([]byte("again"), 100); err != nil {
			return err
		}
		_, err := f.Stat()
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if got := modTime(t, name); !got.After(begun) || !watch() {
		t.Errorf("the time was %v and is %v, or a watcher was not notified", begun, got)
	}
}

// The time moves without Close, which does not move it again.
func TestWriteAt_TimeMovesByItself(t *testing.T) {
	t.Parallel()
	name := filetest.Temp(t, filetest.Pattern(8192))
	f := mustOpenMapped(t, name)
	mustWriteMapped(t, f)
	begun := modTime(t, name)
	waitForTick(t, name, begun)
	if _, err := f.WriteAt([]byte("later"), 100); err != nil {
		t.Fatal(err)
	}
	moved := begun
	if !filetest.Eventually(10*time.Second, func() bool { moved = modTime(t, name); return moved.After(begun) }) {
		t.Fatalf("the time is still %v, that of the first write", moved)
	}
	over := waitForTick(t, name, time.Time{})
	waitForTick(t, name, over)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if got := modTime(t, name); !got.Equal(moved) {
		t.Errorf("Close has moved the time from %v to %v", moved, got)
	}
}

// watchFile returns a function that reports whether the file was modified since its last call.
func watchFile(t *testing.T, name string) (heard func() bool) {
	t.Helper()
	watch, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { unix.Close(watch) })
	if _, err := unix.InotifyAddWatch(watch, name, unix.IN_MODIFY); err != nil {
		t.Skip(err)
	}
	return func() bool {
		n, err := unix.Read(watch, make([]byte, 4096))
		return n > 0 && err == nil
	}
}

// A watcher is notified of each period of mapped writes at its beginning and at its end.
func TestWriteAt_Watchers(t *testing.T) {
	t.Parallel()
	name := filetest.Temp(t, filetest.Pattern(8192))
	f := mustOpenMapped(t, name)
	heard := watchFile(t, name)
	for range 3 {
		mustWriteMapped(t, f)
		if !heard() {
			t.Error("the watcher was not notified of a new period")
		}
		if !filetest.Eventually(10*time.Second, heard) {
			t.Error("the watcher was not notified of the mapped writes")
		}
	}
}
