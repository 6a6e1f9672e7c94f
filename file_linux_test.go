package mmapfile_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"go.dw1.io/mmapfile"
)

// A closed File does not keep its file system busy, even if it was mapped. Not in parallel:
// a child that another test starts has copies of all descriptors until its exec.
func TestClose_RemountReadOnly(t *testing.T) {
	dir := smallDisk(t)
	name := filepath.Join(dir, "file")
	content := pattern(100_000)
	writeFile(t, name, content)
	remount := func() error {
		return syscall.Mount("mmapfile-test", dir, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, "")
	}
	f := mustOpenMapped(t, name)
	prefaultWrites(t, f, content)
	if err := remount(); err != syscall.EBUSY {
		t.Errorf("with a file open for writing: %v", err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := remount(); err != nil {
		t.Errorf("after Close: %v", err)
	}
	runtime.KeepAlive(f)
	if _, err := mmapfile.OpenFile(name, os.O_RDWR, 0); !errors.Is(err, syscall.EROFS) {
		t.Errorf("OpenFile for writing: %v", err)
	}
	r, err := mmapfile.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	sameBytes(t, "the file", r.Bytes(), content)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Unmount(dir, 0); err != nil {
		t.Errorf("after all were closed: %v", err)
	}
	runtime.KeepAlive(r)
	if err := syscall.Mount("mmapfile-test", dir, "tmpfs", 0, "size=1m"); err != nil { // smallDisk unmounts it again
		t.Fatal(err)
	}
}

// A seal of a memfd, set before or after many calls, has the same effect as with os.File.
func TestNewFile_SealedMemfd(t *testing.T) {
	t.Parallel()
	const size = 100_000
	seals := map[string]int{
		"Write": unix.F_SEAL_WRITE, "FutureWrite": unix.F_SEAL_FUTURE_WRITE, "Shrink": unix.F_SEAL_SHRINK,
		"Grow": unix.F_SEAL_GROW, "Seal": unix.F_SEAL_SEAL,
	}
	for name, seal := range seals {
		for _, first := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/First=%v", name, first), func(t *testing.T) {
				var results [2]string
				for kind := range results {
					fd, err := unix.MemfdCreate("mmapfile", unix.MFD_ALLOW_SEALING|unix.MFD_CLOEXEC)
					if err != nil {
						t.Skip(err)
					}
					var f anyFile
					if kind == 0 {
						f = os.NewFile(uintptr(fd), "memfd")
					} else {
						f = mmapfile.NewFile(uintptr(fd), "memfd")
					}
					defer f.Close()
					if _, err := f.Write(pattern(size)); err != nil {
						t.Fatal(err)
					}
					did := func(what string, n int64, err error) {
						results[kind] += fmt.Sprintln(what, n, errorText(err, "memfd"))
					}
					add := func() {
						_, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seal)
						did("F_ADD_SEALS", 0, err)
					}
					if first {
						add()
					}
					b := make([]byte, 64)
					for range 300 {
						n, err := f.ReadAt(b, 5000)
						m, werr := f.WriteAt([]byte("again"), 5000)
						did("ReadAt", int64(n), err)
						did("WriteAt", int64(m), werr)
					}
					if !first {
						add()
					}
					n, err := f.WriteAt([]byte("after"), 5000)
					did("WriteAt", int64(n), err)
					n, err = f.WriteAt(pattern(10), size-5)
					did("WriteAt over the end", int64(n), err)
					did("Truncate to less", 0, f.Truncate(size-100))
					did("Truncate to more", 0, f.Truncate(size+100))
					all, err := io.ReadAll(io.NewSectionReader(f, 0, 2*size))
					did("ReadAll", int64(len(all)), err)
					results[kind] += string(all)
				}
				if results[0] != results[1] {
					for i, line := range strings.Split(results[0], "\n") {
						if got := strings.Split(results[1], "\n"); i >= len(got) || got[i] != line {
							t.Fatalf("step %d:\nos.File %.200q\nFile    %.200q", i, line, got[min(i, len(got)-1)])
						}
					}
				}
			})
		}
	}
}

func TestReadAt_MemfdSealedLater(t *testing.T) {
	t.Parallel()
	fd, err := unix.MemfdCreate("mmapfile", unix.MFD_ALLOW_SEALING|unix.MFD_CLOEXEC)
	if err != nil {
		t.Skip(err)
	}
	f := mmapfile.NewFile(uintptr(fd), "memfd")
	defer f.Close()
	if _, err := f.Write(pattern(8192)); err != nil {
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

// The pages of a sparse file take memory only if calls came to them.
// Not parallel: it measures the memory of the process.
func TestReadAt_SparseFileOf16TiB(t *testing.T) {
	if strconv.IntSize == 32 || emulator != "" {
		t.Skip("no address space for 16 TiB")
	}
	const end = 16<<40 - 4096 // the largest file of ext4
	for _, parent := range []string{t.TempDir(), "/dev/shm"} {
		dir, err := os.MkdirTemp(parent, "mmapfile")
		if err != nil {
			t.Skip(err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		name := filepath.Join(dir, "sparse")
		writeFile(t, name, nil)
		if err := os.Truncate(name, end); err != nil {
			t.Logf("%s: %v", parent, err)
			continue
		}
		before, err := processStatus("RssAnon")
		if err != nil {
			t.Skip(err)
		}
		f := mustOpen(t, name)
		data, b := pattern(1000), make([]byte, 1000)
		for round := range 300 { // often enough to be mapped, read and written
			for _, off := range []int64{0, 1 << 32, 5<<40 + 777, end - 1000} {
				if n, err := f.WriteAt(data, off); n != len(data) || err != nil {
					t.Fatalf("%s, round %d: WriteAt %d: %d, %v", parent, round, off, n, err)
				}
				clear(b)
				if n, err := f.ReadAt(b, off); n != len(b) || err != nil || !bytes.Equal(b, data) {
					t.Fatalf("%s, round %d: ReadAt %d: %d, %v", parent, round, off, n, err)
				}
			}
		}
		if n, err := f.ReadAt(b, end-10); n != 10 || err != io.EOF {
			t.Errorf("%s: ReadAt over the end: %d, %v", parent, n, err)
		}
		if mmapfile.CanMap && !mmapfile.RaceDetector {
			if err := f.View(end-1000, 1000, func(p []byte) error { sameBytes(t, "View", p, data); return nil }); err != nil {
				t.Errorf("%s: View of the end: %v", parent, err)
			}
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		after, err := processStatus("RssAnon")
		if err != nil {
			t.Fatal(err)
		}
		if grown := after - before; grown > 100<<20 { // a bit for each page is 512 MiB
			t.Errorf("%s: the process grew by %d MiB", parent, grown>>20)
		}
		os.Remove(name)
	}
}

// mountOverlay mounts an overlay whose lower layer has a file, and returns the file's name.
func mountOverlay(t testing.TB, content []byte) (name string) {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{"lower", "upper", "work", "merged"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	writeFile(t, filepath.Join(dir, "lower", "f"), content)
	merged := filepath.Join(dir, "merged")
	options := "lowerdir=" + dir + "/lower,upperdir=" + dir + "/upper,workdir=" + dir + "/work"
	if err := syscall.Mount("overlay", merged, "overlay", 0, options); err != nil {
		t.Skip("an overlay can only be mounted by root: ", err)
	}
	t.Cleanup(func() { syscall.Unmount(merged, unix.MNT_DETACH) })
	return filepath.Join(merged, "f")
}

// A mapping on overlayfs that is older than the first writer shows the lower file. ReadAt must
// return the upper file, as os.File does.
func TestReadAt_OverlayfsCopyUp(t *testing.T) {
	t.Parallel()
	name := mountOverlay(t, bytes.Repeat([]byte("old "), 4096))
	f, err := mmapfile.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	got := make([]byte, 8)
	for range 200 {
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

// A file of a lower layer is mapped if it is known not to change. If it changes all the same,
// reads return the old or the new file, and no call fails.
func TestImmutable_Overlayfs(t *testing.T) {
	t.Parallel()
	name := mountOverlay(t, bytes.Repeat([]byte("old "), 4096))
	f := mustOpenImmutable(t, name)
	readOften(t, f)
	if mmapfile.Mapped(f) != mmapfile.MapsUnasked {
		t.Errorf("mapped: %v", mmapfile.Mapped(f))
	}
	other := mustOpenFile(t, name, os.O_RDONLY)
	if readOften(t, other); mmapfile.Mapped(other) {
		t.Error("without the promise it is mapped, too")
	}
	if err := os.Truncate(name, page+1); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 64)
	for off := int64(0); off < 4*4096+page; off += page / 2 {
		if n, err := f.ReadAt(got, off); err != nil && err != io.EOF || n > 0 && !bytes.HasPrefix([]byte("old old "), got[:min(n, 8)]) {
			t.Errorf("ReadAt at %d: %d, %v", off, n, err)
		}
	}
}

func TestPrivate_OpenPipe(t *testing.T) {
	t.Parallel()
	name := tempFile(t, nil) + "pipe"
	if err := unix.Mkfifo(name, 0o600); err != nil {
		t.Skip(err)
	}
	within(t, time.Minute, func() {
		f, err := mmapfile.Options{Private: true}.OpenFile(name, os.O_RDWR, 0)
		if f != nil || !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("a pipe: %v", err)
		}
	})
}
