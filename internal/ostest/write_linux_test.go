package ostest

import (
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"go.dw1.io/mmapfile/internal/filetest"
)

// Prefaulting allocates no blocks in holes that are not written.
func TestWriteAt_HolesStay(t *testing.T) {
	t.Parallel()
	name := filetest.Temp(t, nil)
	if err := os.Truncate(name, 64<<20); err != nil {
		t.Fatal(err)
	}
	f := filetest.Open(t, name)
	const after = 32 << 20 // these blocks are not those of the holes
	if err := unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, 64<<20, after); err != nil {
		t.Skip("no blocks can be allocated past the end: ", err)
	}
	filetest.Map(t, f)
	const pages = 10
	for page := range int64(pages) {
		for range 2000 {
			if _, err := f.WriteAt([]byte("content"), 1<<20+page*64<<10); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	var st unix.Stat_t
	if err := unix.Stat(name, &st); err != nil {
		t.Fatal(err)
	}
	if got := st.Blocks*512 - after; got > 2*pages*int64(max(st.Blksize, 4096)) {
		t.Errorf("%d bytes are allocated for %d pages", got, pages)
	}
}

// The first of many writes is a system call: the kernel notifies watchers then.
func TestWriteAt_FirstIsSystemCall(t *testing.T) {
	t.Parallel()
	name := filetest.Temp(t, filetest.Pattern(8192))
	f := filetest.Open(t, name)
	b := filetest.Pattern(64)
	for range 300 {
		if _, err := f.WriteAt(b, 0); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := f.Stat(); err != nil { // ends the period of the writes before
		t.Fatal(err)
	}
	watch, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		t.Skip(err)
	}
	defer unix.Close(watch)
	if _, err := unix.InotifyAddWatch(watch, name, unix.IN_MODIFY); err != nil {
		t.Skip(err)
	}
	for range 5 {
		if _, err := f.WriteAt(b, 0); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := unix.Read(watch, make([]byte, 4096)); n <= 0 {
		t.Errorf("the watcher was notified of none of five writes: %v", err)
	}
}

// A time in the future that a program sets stays.
func TestWriteAt_TimeSetAheadStays(t *testing.T) {
	t.Parallel()
	name := filetest.Temp(t, filetest.Pattern(8192))
	f := filetest.Open(t, name)
	for range 300 {
		if _, err := f.WriteAt([]byte("again"), 0); err != nil {
			t.Fatal(err)
		}
	}
	ahead := time.Now().Add(24 * time.Hour).Truncate(time.Second)
	if err := os.Chtimes(name, ahead, ahead); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if fi, err := os.Stat(name); err != nil || !fi.ModTime().Equal(ahead) {
		t.Errorf("the time is %v, not %v: %v", fi.ModTime(), ahead, err)
	}
}
