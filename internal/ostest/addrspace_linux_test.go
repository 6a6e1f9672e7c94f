package ostest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/filetest"
	"go.dw1.io/mmapfile/internal/race"
)

func init() {
	filetest.Children["narrow"] = childNarrow
	filetest.Children["rounds"] = childRounds
	filetest.Children["full"] = childFull
	filetest.Children["maps"] = childMaps
}

// narrowSizes returns the size of a file, and the smaller address space that a process may add.
// Much of it is for the stack and the malloc arena of each thread.
func narrowSizes() (size, room int64) {
	if strconv.IntSize == 32 {
		return 1 << 30, 200 << 20
	}
	return 16 << 30, 4 << 30
}

// childNarrow uses a file that is larger than the address space that is left.
func childNarrow(args []string) error {
	used, err := filetest.ProcessStatus("VmSize")
	if err != nil {
		return err
	}
	size, room := narrowSizes()
	limit := uint64(used + room)
	if err := unix.Setrlimit(unix.RLIMIT_AS, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
		return err
	}
	f, err := mmapfile.OpenFile(args[0], os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if filetest.CanMap { // a copy would exhaust the heap, which ends the program
		if b := f.Bytes(); b != nil {
			return fmt.Errorf("Bytes has %d bytes", len(b))
		}
		called := false
		if err := f.View(0, size, func([]byte) error { called = true; return nil }); err == nil || called {
			return fmt.Errorf("View of the whole file: %v, called %v", err, called)
		}
	}
	if filetest.Mapped(f) {
		return errors.New("it is mapped")
	}
	if filetest.CanMap { // Chunks reads, because the file cannot be mapped
		total := 0
		for c, err := range f.Chunks(64 << 20) {
			if err != nil {
				return err
			}
			off, p := c.Offset, c.Data
			if off != int64(total) {
				return fmt.Errorf("Chunks: the window after %[2]d bytes is at %[1]d", off, total)
			}
			total += len(p)
			if off >= 256<<20 {
				break
			}
		}
		if total != 320<<20 {
			return fmt.Errorf("the windows of Chunks end at %d", total)
		}
		for c, err := range f.Chunks(100 << 20) { // copies of that size may exhaust the heap
			if len(c.Data) > 0 || !errors.Is(err, errors.ErrUnsupported) {
				return fmt.Errorf("Chunks of 100 MiB: %d bytes, %w", len(c.Data), err)
			}
		}
		if _, err := mmapfile.At[byte](f, size-1); err == nil {
			return errors.New("At of a file that cannot be mapped succeeded")
		}
	}
	b := make([]byte, 10_000)
	for round := range 40 { // enough reads to map a file
		off := int64(round)*25_000_000 + 17
		if n, err := f.WriteAt(filetest.Pattern(len(b)), off); n != len(b) || err != nil {
			return fmt.Errorf("WriteAt: %d, %w", n, err)
		}
		clear(b)
		if n, err := f.ReadAt(b, off); n != len(b) || err != nil || !bytes.Equal(b, filetest.Pattern(len(b))) {
			return fmt.Errorf("ReadAt: %d, %w, %v", n, err, b[:20])
		}
		if pos, err := f.Seek(off+100, io.SeekStart); pos != off+100 || err != nil {
			return fmt.Errorf("Seek: %d, %w", pos, err)
		}
		if n, err := f.Read(b[:50]); n != 50 || err != nil || !bytes.Equal(b[:50], filetest.Pattern(150)[100:]) {
			return fmt.Errorf("Read: %d, %w, %v", n, err, b[:50])
		}
	}
	if n := f.Len(); int64(n) != size {
		return fmt.Errorf("Len is %d", n)
	}
	return f.Close()
}

func TestFile_LargerThanAddressSpace(t *testing.T) {
	t.Parallel()
	if race.Detector {
		t.Skip("the race detector needs its address space")
	}
	if filetest.Emulator != "" {
		t.Skip("no limit of address space under " + filetest.Emulator)
	}
	name := filetest.Temp(t, nil)
	size, _ := narrowSizes()
	if err := os.Truncate(name, size); err != nil {
		t.Fatal(err)
	}
	filetest.RunChild(t, filetest.ChildCommand(t, nil, "narrow", name))
}

// childRounds opens, reads and closes a file of 300 MiB twenty times with 3 GiB of address
// space. Then it allocates a quarter of that.
func childRounds(args []string) error {
	limit := uint64(3 << 30)
	if err := unix.Setrlimit(unix.RLIMIT_AS, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
		return err
	}
	mapped := 0
	for range 20 {
		f, err := mmapfile.Open(args[0])
		if err != nil {
			return err
		}
		if args[1] == "Bytes" {
			if b := f.Bytes(); len(b) != 300<<20 || b[12345] != 0 {
				return fmt.Errorf("Bytes has %d bytes", len(b))
			}
		}
		b := make([]byte, 64)
		for i := range 200 { // enough reads to map a file
			if n, err := f.ReadAt(b, int64(i%4)*64); n != len(b) || err != nil {
				return fmt.Errorf("ReadAt: %d, %w", n, err)
			}
		}
		if filetest.Mapped(f) {
			mapped++
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	if mapped == 0 {
		return fmt.Errorf("no file was mapped")
	}
	var heap [][]byte
	for range 12 { // ends the program if the address space is used up
		heap = append(heap, make([]byte, 64<<20))
	}
	used, err := filetest.ProcessStatus("VmSize")
	fmt.Printf("%d mapped, %d MiB of address space with %d blocks\n", mapped, used>>20, len(heap))
	return err
}

func TestClose_LimitedAddressSpace(t *testing.T) {
	t.Parallel()
	switch {
	case !filetest.CanMap:
		t.Skip("nothing is mapped")
	case race.Detector:
		t.Skip("the race detector needs its address space")
	case filetest.Emulator != "" || strconv.IntSize == 32:
		t.Skip("no limit of 3 GiB here")
	}
	name := filetest.Temp(t, nil)
	if err := os.Truncate(name, 300<<20); err != nil {
		t.Fatal(err)
	}
	for _, way := range []string{"ReadAt", "Bytes"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			t.Log(filetest.RunChild(t, filetest.ChildCommand(t, nil, "rounds", name, way)))
		})
	}
}

// childFull maps a file of 400 MiB twice. The second time there is only room for it after
// the range of the first one was unmapped.
func childFull(args []string) error {
	for range 2 {
		f, err := mmapfile.Open(args[0])
		if err != nil {
			return err
		}
		if b := f.Bytes(); len(b) != 400<<20 || b[12345] != 0 {
			return fmt.Errorf("Bytes has %d bytes", len(b))
		}
		if err := f.Close(); err != nil {
			return err
		}
		used, err := filetest.ProcessStatus("VmSize")
		if err != nil {
			return err
		}
		var limit unix.Rlimit
		if err := unix.Getrlimit(unix.RLIMIT_AS, &limit); err != nil {
			return err
		}
		limit.Cur = uint64(used + 300<<20)
		if err := unix.Setrlimit(unix.RLIMIT_AS, &limit); err != nil {
			return err
		}
	}
	return nil
}

func TestBytes_CollectsAfterENOMEM(t *testing.T) {
	t.Parallel()
	if !filetest.CanMap || race.Detector || filetest.Emulator != "" || strconv.IntSize == 32 {
		t.Skip("no limit of address space here")
	}
	name := filetest.Temp(t, nil)
	if err := os.Truncate(name, 400<<20); err != nil {
		t.Fatal(err)
	}
	child := filetest.ChildCommand(t, nil, "full", name)
	// Each thread takes address space: 8 MiB, or 128 MiB with memory of its own for C.
	child.Env = append(child.Environ(), "GOMAXPROCS=2", "MALLOC_ARENA_MAX=1")
	filetest.RunChild(t, child)
}

// childMaps uses Files while the process has as many mappings as the system allows.
func childMaps(args []string) error {
	name, content := args[0], filetest.Pattern(300_000)
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
	// The runtime ends the program if it gets no memory, so it has free memory before: the heap
	// must not grow later.
	heap := make([]byte, 16<<20)
	clear(heap)
	runtime.KeepAlive(heap)
	heap = nil
	runtime.GC()
	debug.SetGCPercent(-1)
	files := make([]*mmapfile.File, 20)
	for i := range files {
		var err error
		if files[i], err = mmapfile.OpenFile(name, os.O_RDWR, 0); err != nil {
			return err
		}
		if i%2 == 0 { // the others are mapped when no mapping is left
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
		} else if mapped := filetest.Mapped(f); mapped != (i%2 == 0) {
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
	if race.Detector || filetest.Emulator != "" || !filetest.CanMap {
		t.Skip("needs mappings, and a runtime that needs no more of them")
	}
	limit, err := os.ReadFile("/proc/sys/vm/max_map_count")
	if err != nil {
		t.Skip(err)
	}
	if n, err := strconv.Atoi(strings.TrimSpace(string(limit))); err != nil || n > 300_000 {
		t.Skipf("vm.max_map_count is %s", limit)
	}
	name := filetest.Temp(t, filetest.Pattern(300_000))
	for range 10 {
		cmd := filetest.ChildCommand(t, nil, "maps", name)
		out, err := cmd.CombinedOutput()
		if strings.Contains(string(out), "runtime: cannot allocate memory") || strings.Contains(string(out), "pthread_create failed") {
			continue // the runtime itself needed a mapping, for memory or for a thread
		}
		if err != nil {
			t.Errorf("child process: %v\n%s", err, out)
		}
		filetest.SameBytes(t, "the file", filetest.Read(t, name), filetest.Pattern(300_000))
		return
	}
	t.Skip("the runtime ran out of mappings each time")
}
