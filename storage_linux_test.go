package mmapfile_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.dw1.io/mmapfile"
	"golang.org/x/sys/unix"
)

// A reader on overlayfs that came before the first writer has the lower file; os.File reads
// the writer's copy.
func TestReadOnlyFileOnOverlayfsShowsWhatAWriterCopiedUp(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, d := range []string{"lower", "upper", "work", "merged"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	ftPut(t, filepath.Join(dir, "lower", "f"), bytes.Repeat([]byte("old "), 4096))
	merged := filepath.Join(dir, "merged")
	options := "lowerdir=" + dir + "/lower,upperdir=" + dir + "/upper,workdir=" + dir + "/work"
	if err := syscall.Mount("overlay", merged, "overlay", 0, options); err != nil {
		t.Skip("an overlay can only be mounted by root: ", err)
	}
	t.Cleanup(func() { syscall.Unmount(merged, unix.MNT_DETACH) })
	name := filepath.Join(merged, "f")
	f, err := mmapfile.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	got := make([]byte, 8)
	for range 40 {
		if _, err := f.ReadAt(got, 0); err != nil {
			t.Fatal(err)
		}
	}
	w, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, err := w.WriteAt([]byte("NEW!NEW!"), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := f.ReadAt(got, 0); err != nil || string(got) != "NEW!NEW!" {
		t.Errorf("ReadAt: %q, %v", got, err)
	}
}

// Each new mapping costs the system a range for as long as the File is open.
func TestFollowingAFileThatGrowsTakesFewMappings(t *testing.T) {
	t.Parallel()
	for _, parent := range []string{t.TempDir(), "/dev/shm"} {
		dir, err := os.MkdirTemp(parent, "mmapfile")
		if err != nil {
			t.Skip(err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		name := filepath.Join(dir, "log")
		page := ftPattern(4096)
		ftPut(t, name, page)
		f := ftOpen(t, name)
		w, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { w.Close() })
		off, buf := int64(0), make([]byte, 64)
		for range 500 {
			if _, err := w.Write(page); err != nil {
				t.Fatal(err)
			}
			for err == nil {
				var n int
				n, err = f.ReadAt(buf, off)
				if !bytes.Equal(buf[:n], page[off%4096:][:n]) {
					t.Fatalf("wrong bytes at %d", off)
				}
				off += int64(n)
			}
			if err != io.EOF {
				t.Fatal(err)
			}
			err = nil
		}
		if want := int64(501 * 4096); off != want {
			t.Errorf("in %s: read %d bytes of %d", parent, off, want)
		}
		if n := strings.Count(string(ftGet(t, "/proc/self/maps")), name); n > 20 {
			t.Errorf("in %s: %d mappings", parent, n)
		}
	}
}

// The kernel tells watchers at a write, and takes a file's capabilities away.
func TestFirstOfManyHotWritesIsOneThatTheKernelSees(t *testing.T) {
	t.Parallel()
	name := ftTemp(t, ftPattern(8192))
	f := ftOpen(t, name)
	b := ftPattern(64)
	for range 300 {
		if _, err := f.WriteAt(b, 0); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := f.Stat(); err != nil { // what came before is accounted for
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
		t.Errorf("five writes, and a watcher heard of none: %v", err)
	}
}

func TestMemfdCanBeSealedAfterItWasRead(t *testing.T) {
	t.Parallel()
	fd, err := unix.MemfdCreate("mmapfile", unix.MFD_ALLOW_SEALING|unix.MFD_CLOEXEC)
	if err != nil {
		t.Skip(err)
	}
	f := mmapfile.NewFile(uintptr(fd), "memfd")
	defer f.Close()
	if _, err := f.Write(ftPattern(8192)); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 10)
	for range 40 {
		if _, err := f.ReadAt(b, 100); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_WRITE); err != nil {
		t.Error(err)
	}
}

// A time that lies ahead was set by somebody, as one that lies back.
func TestTimeSetAheadAfterHotWritesSurvivesClose(t *testing.T) {
	t.Parallel()
	name := ftTemp(t, ftPattern(8192))
	f := ftOpen(t, name)
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

// What stores make ready at once is part of the file already.
func TestHotWritesFillNoMoreHolesThanTheyTouch(t *testing.T) {
	t.Parallel()
	name := ftTemp(t, nil)
	if err := os.Truncate(name, 64<<20); err != nil {
		t.Fatal(err)
	}
	f := ftOpen(t, name)
	const behind = 32 << 20 // blocks there are none of the holes'
	if err := unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, 64<<20, behind); err != nil {
		t.Skip("no room can be kept behind the end: ", err)
	}
	ftMap(t, f)
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
	if got := st.Blocks*512 - behind; got > 2*pages*int64(max(st.Blksize, 4096)) {
		t.Errorf("%d bytes are allocated for %d pages", got, pages)
	}
}
