package mmapfile_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"go.dw1.io/mmapfile"
)

// What the kernel does to a file apart from its content: each is to end as it does with os.File.

func init() {
	ftChildren["maps"] = ftChildMaps
}

// A closed File holds its file system as little as a closed os.File does, whatever was mapped of it.
func TestClose_RemountReadOnly(t *testing.T) {
	t.Parallel()
	dir := ftSmallDisk(t)
	name := filepath.Join(dir, "file")
	content := ftPattern(100_000)
	ftPut(t, name, content)
	remount := func() error {
		return syscall.Mount("mmapfile-test", dir, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, "")
	}
	f := ftOpenMapped(t, name)
	ftHeat(t, f, content)
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
	ftSame(t, "the file", r.Bytes(), content)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Unmount(dir, 0); err != nil {
		t.Errorf("after all were closed: %v", err)
	}
	runtime.KeepAlive(r)
	if err := syscall.Mount("mmapfile-test", dir, "tmpfs", 0, "size=1m"); err != nil { // for ftSmallDisk to unmount
		t.Fatal(err)
	}
}

// Each seal of a memfd, before and after many calls, refuses what it refuses os.File.
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
					var f ftFile
					if kind == 0 {
						f = os.NewFile(uintptr(fd), "memfd")
					} else {
						f = mmapfile.NewFile(uintptr(fd), "memfd")
					}
					defer f.Close()
					if _, err := f.Write(ftPattern(size)); err != nil {
						t.Fatal(err)
					}
					did := func(what string, n int64, err error) {
						results[kind] += fmt.Sprintln(what, n, ftErr(err, "memfd"))
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
					n, err = f.WriteAt(ftPattern(10), size-5)
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

// What is kept for each page of a sparse file is kept for those that calls came to.
func TestReadAt_SparseFileOf16TiB(t *testing.T) { // not beside others, whose memory would count
	if strconv.IntSize == 32 || ftEmulator != "" {
		t.Skip("no address space for 16 TiB")
	}
	const end = 16<<40 - 4096 // the most of ext4
	for _, parent := range []string{t.TempDir(), "/dev/shm"} {
		dir, err := os.MkdirTemp(parent, "mmapfile")
		if err != nil {
			t.Skip(err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		name := filepath.Join(dir, "sparse")
		ftPut(t, name, nil)
		if err := os.Truncate(name, end); err != nil {
			t.Logf("%s: %v", parent, err)
			continue
		}
		before, err := ftStatus("RssAnon")
		if err != nil {
			t.Skip(err)
		}
		f := ftOpen(t, name)
		data, b := ftPattern(1000), make([]byte, 1000)
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
			if err := f.View(end-1000, 1000, func(p []byte) error { ftSame(t, "View", p, data); return nil }); err != nil {
				t.Errorf("%s: View of the end: %v", parent, err)
			}
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		after, err := ftStatus("RssAnon")
		if err != nil {
			t.Fatal(err)
		}
		if grown := after - before; grown > 100<<20 { // a bit for each page is 512 MiB
			t.Errorf("%s: the process has grown by %d MiB", parent, grown>>20)
		}
		os.Remove(name)
	}
}

// ftChildMaps uses Files while the process has all the mappings that it may have.
func ftChildMaps(args []string) error {
	name, content := args[0], ftPattern(300_000)
	b := make([]byte, 1000)
	check := func(f *mmapfile.File) error {
		for i := range int64(300) {
			off := i % 10 * 29_000
			if n, err := f.WriteAt(content[off:off+1000], off); n != len(b) || err != nil {
				return fmt.Errorf("WriteAt: %d, %w", n, err)
			}
			if n, err := f.ReadAt(b, off); n != len(b) || err != nil || !bytes.Equal(b, content[off:off+1000]) {
				return fmt.Errorf("ReadAt: %d, %w", n, err)
			}
		}
		if p := f.Bytes(); p != nil && !bytes.Equal(p, content) {
			return errors.New("Bytes has other bytes")
		}
		err := f.View(1000, 5000, func(p []byte) error {
			if !bytes.Equal(p, content[1000:6000]) {
				return errors.New("View has other bytes")
			}
			return nil
		})
		if err != nil && !errors.Is(err, syscall.ENOMEM) {
			return err
		}
		return nil
	}
	// The runtime ends the program when it gets no memory: all that it needs it is to have before.
	debug.SetGCPercent(-1)
	files := make([]*mmapfile.File, 20)
	for i := range files {
		var err error
		if files[i], err = mmapfile.OpenFile(name, os.O_RDWR, 0); err != nil {
			return err
		}
		if i%2 == 0 { // the others are to be mapped when there is no room
			if err := check(files[i]); err != nil {
				return err
			}
		}
	}
	taken := make([]unsafe.Pointer, 0, 400_000)
	for len(taken) < cap(taken) {
		p, err := unix.MmapPtr(-1, 0, nil, 4096, unix.PROT_READ*(len(taken)%2), unix.MAP_PRIVATE|unix.MAP_ANON)
		if err == unix.ENOMEM {
			break
		}
		if err != nil {
			return err
		}
		taken = append(taken, p)
	}
	var failed error
	for i, f := range files {
		if err := check(f); err != nil {
			failed = fmt.Errorf("file %d: %w", i, err)
		} else if mapped := mmapfile.Mapped(f); mapped != (i%2 == 0) {
			failed = fmt.Errorf("file %d is mapped: %v", i, mapped)
		}
	}
	for i, f := range files {
		if err := f.Close(); err != nil {
			failed = fmt.Errorf("Close of file %d: %w", i, err)
		}
		if _, err := f.ReadAt(b, 0); !errors.Is(err, os.ErrClosed) {
			failed = fmt.Errorf("file %d after Close: %w", i, err)
		}
	}
	for _, p := range taken {
		unix.MunmapPtr(p, 4096)
	}
	return failed
}

func TestFile_MapCountExhausted(t *testing.T) {
	t.Parallel()
	if mmapfile.RaceDetector || ftEmulator != "" || !mmapfile.CanMap {
		t.Skip("for mappings, and with a runtime that needs no more of them")
	}
	limit, err := os.ReadFile("/proc/sys/vm/max_map_count")
	if err != nil {
		t.Skip(err)
	}
	if n, err := strconv.Atoi(strings.TrimSpace(string(limit))); err != nil || n > 300_000 {
		t.Skipf("vm.max_map_count is %s", limit)
	}
	name := ftTemp(t, ftPattern(300_000))
	for range 10 {
		cmd := ftChild(t, nil, "maps", name)
		out, err := cmd.CombinedOutput()
		if strings.Contains(string(out), "runtime: cannot allocate memory") {
			continue // it was not the File that wanted to have it
		}
		if err != nil {
			t.Errorf("child process: %v\n%s", err, out)
		}
		ftSame(t, "the file", ftGet(t, name), ftPattern(300_000))
		return
	}
	t.Skip("the runtime needs mappings of its own")
}
