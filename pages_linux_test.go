//go:build !nommap

package mmapfile

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"go.dw1.io/mmapfile/internal/sys"
)

// pageTables returns the number of bytes of data that are in the page tables.
func pageTables(t *testing.T, data []byte) (bytes int) {
	t.Helper()
	smaps, err := os.Open("/proc/self/smaps")
	if err != nil {
		t.Skip(err)
	}
	defer smaps.Close()
	start, inside := fmt.Sprintf("%x-", uintptr(unsafe.Pointer(unsafe.SliceData(data)))), false
	for lines := bufio.NewScanner(smaps); lines.Scan(); {
		line := lines.Text()
		if inside = inside || strings.HasPrefix(line, start); !inside {
			continue
		}
		if n, err := fmt.Sscanf(line, "Rss: %d kB", &bytes); n == 1 && err == nil {
			return bytes << 10
		}
	}
	t.Fatal("the mapping is not in /proc/self/smaps")
	return 0
}

// drop evicts the file from memory, and from the page tables of its mapping.
func drop(t *testing.T, f *File) {
	t.Helper()
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	if m := f.m.Load(); m != nil {
		if err := sys.Advise(m.data, sys.DontNeed); err != nil {
			t.Fatal(err)
		}
	}
	withFd(f.inner, func(fd int) { unix.Fadvise(fd, 0, 0, unix.FADV_DONTNEED) })
	if pages, err := sys.CachedPages(f.inner, 0, f.size.Load()); err != nil || pages > 0 {
		t.Skipf("%d pages stay in memory, %v", pages, err)
	}
}

// mapLazily reads until f is mapped. Only its first block is known.
func mapLazily(t *testing.T, f *File) *mapping {
	t.Helper()
	for range trackFrom + mapFrom + readyFrom + 1 {
		readAt(t, f, 0, 100)
	}
	m := f.m.Load()
	if m == nil {
		t.Fatal("not mapped")
	}
	return m
}

func TestReadAt_UnknownPage(t *testing.T) {
	const size = 64 << 20
	f := lazyFile(t, size)
	m := mapLazily(t, f)
	drop(t, f)
	f.pages.truncated(0) // what an eviction does
	for off := int64(0); off+4096 <= size; off += 1 << 20 {
		readAt(t, f, off, 4096)
	}
	if got := pageTables(t, m.data); got > 0 {
		t.Errorf("%d bytes of a file that is not in memory were mapped in", got)
	}
	for range 4 {
		readAt(t, f, 5<<20, 4096)
	}
	if got := pageTables(t, m.data); got == 0 || got > blockSize {
		t.Errorf("%d bytes are in the page tables after reads that came back to one page", got)
	}
}

func TestView_ReadsRangeIn(t *testing.T) {
	const size = 8 << 20
	f := lazyFile(t, size)
	mapLazily(t, f)
	drop(t, f)
	f.pages.truncated(0)
	before, _ := sys.MajorFaults()
	for _, view := range []struct{ off, n int64 }{{1 << 20, 1 << 20}, {5<<20 + 100, 3000}} {
		err := f.View(view.off, view.n, func(p []byte) error {
			pages, err := sys.CachedPages(f.inner, view.off, view.n)
			if want := int64(len(p)+int(view.off)%pageSize+pageSize-1) / int64(pageSize); err != nil || pages < want {
				t.Errorf("%d of %d pages are in memory when fn is called, %v", pages, want, err)
			}
			for i := 0; i < len(p); i += 512 {
				_ = p[i] + 1
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if after, _ := sys.MajorFaults(); after > before+8 { // other tests may have some
		t.Errorf("%d major faults", after-before)
	}
	for c, err := range f.Chunks(256 << 10) {
		if err != nil {
			t.Fatal(err)
		}
		off := c.Offset
		if pages, err := sys.CachedPages(f.inner, off, 256<<10); err != nil || pages != 64 {
			t.Errorf("%d of 64 pages of a window are in memory, %v", pages, err)
		}
	}
}

func TestRead_InOrderNotInMemory(t *testing.T) {
	const size = 8 << 20
	f := lazyFile(t, size)
	if _, err := f.Stat(); err != nil {
		t.Fatal(err)
	}
	drop(t, f)
	b := make([]byte, 4096)
	for range 3 * orderFrom {
		if _, err := f.Read(b); err != nil {
			t.Fatal(err)
		}
	}
	if p := f.cur.hint.Load(); f.pages.ready(p+4<<20, 1) {
		t.Error("a page is ready that is not in memory")
	}
}

func TestReadAt_Eviction(t *testing.T) {
	const size = 4 << 20
	f := lazyFile(t, size)
	mapLazily(t, f)
	gen := evictions.gen.Load()
	for range 20 { // with a fast disk the fault may be a minor one
		drop(t, f)
		f.pages.note(noteReady, 0, size)
		readAt(t, f, 1<<20, 100) // by the mapping: a major fault
		evictNow(t)
		if checkEvictions(); evictions.gen.Load() != gen {
			break
		}
	}
	if evictions.gen.Load() == gen {
		t.Error("major faults are not noticed")
	}
	runtime.KeepAlive(f)
}

func TestAdvise_PopulateRead(t *testing.T) {
	const size = 8 << 20
	f := lazyFile(t, size)
	m := mapLazily(t, f)
	drop(t, f)
	if err := f.Advise(0, size, PopulateRead); err != nil {
		t.Fatal(err)
	}
	if got := pageTables(t, m.data); got < size {
		t.Errorf("%d of %d bytes are in the page tables", got, size)
	}
	if !f.pages.ready(0, size) {
		t.Error("populated pages are not ready")
	}
}

// A page fault in a hole of a tmpfs allocates memory, a system call does not.
func TestReadAt_HolesOfTmpfsStay(t *testing.T) {
	dir := "/dev/shm"
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil || fs.Type != unix.TMPFS_MAGIC {
		t.Skip("no tmpfs at ", dir)
	}
	const size = 8 << 20
	name := filepath.Join(dir, fmt.Sprintf("mmapfile-holes-%d", os.Getpid()))
	defer os.Remove(name)
	if err := os.WriteFile(name, make([]byte, size), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	read := func() {
		t.Helper()
		for range 20 {
			for off := int64(0); off < size; off += 100_000 {
				readAt(t, f, off, 1000)
			}
		}
	}
	read()
	if err := os.Truncate(name, 0); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(name, size); err != nil {
		t.Fatal(err)
	}
	read()
	var st unix.Stat_t
	if err := unix.Stat(name, &st); err != nil {
		t.Fatal(err)
	}
	if st.Blocks > 0 {
		t.Errorf("reading holes has given them %d bytes", st.Blocks*512)
	}
}

// Whole blocks are prefaulted, and no block beside them.
func TestPages_PrefaultBlocks(t *testing.T) {
	f := lazyFile(t, 4*blockSize)
	if f.Bytes() == nil {
		t.Fatal("not mapped")
	}
	m := f.m.Load()
	if err := sys.Prefault(f.inner, m.data[:pageSize], 0); err != nil {
		t.Skip(err)
	}
	for _, c := range []struct {
		off, end int64
		want     [4]bool
	}{
		{0, 1, [4]bool{true}}, {blockSize, 2 * blockSize, [4]bool{1: true}}, {blockSize + 100, blockSize + 200, [4]bool{1: true}},
		{2*blockSize - 1, 2*blockSize + 1, [4]bool{1: true, 2: true}}, {3 * blockSize, 4 * blockSize, [4]bool{3: true}},
		{100, 4*blockSize - 100, [4]bool{true, true, true, true}},
	} {
		f.pages.truncated(0)
		if !f.prefault(m, c.off, c.end) {
			t.Errorf("%d to %d: not prefaulted", c.off, c.end)
		}
		for block, want := range c.want {
			if got := f.pages.has(prefaultedShift, int64(block)*blockSize, blockSize); got != want {
				t.Errorf("%d to %d: block %d is prefaulted: %v", c.off, c.end, block, got)
			}
		}
	}
	if f.prefault(m, 4*blockSize, 4*blockSize+1) {
		t.Error("prefaulted past the end of the file")
	}
}

func TestOpenFile_ManyExtents(t *testing.T) {
	const size, piece = 1 << 20, 8 << 10
	f, err := OpenFile(filepath.Join(t.TempDir(), "file"), os.O_RDWR|os.O_CREATE, 0o600, size)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for off := int64(0); off < size; off += 2 * piece { // written and unwritten parts are extents of their own
		if _, err := f.WriteAt(make([]byte, piece), off); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	own := false
	withFd(f.inner, func(fd int) { own = sys.OwnBlocks(fd, 0, size) })
	if !own {
		t.Error("all blocks are allocated, and OwnBlocks reports false")
	}
	if err := f.inner.Truncate(2 * size); err != nil {
		t.Fatal(err)
	}
	withFd(f.inner, func(fd int) {
		if sys.OwnBlocks(fd, size/2, size) {
			t.Error("half of the range is a hole, and OwnBlocks reports true")
		}
	})
}
