//go:build !nommap

package file

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"go.dw1.io/mmapfile/internal/account"
	"go.dw1.io/mmapfile/internal/evictions"
	"go.dw1.io/mmapfile/internal/guard"
	"go.dw1.io/mmapfile/internal/pages"
	"go.dw1.io/mmapfile/internal/sys"
	"go.dw1.io/mmapfile/internal/vm"
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
		if err := vm.Memory.Advise(m.data, sys.DontNeed); err != nil {
			t.Fatal(err)
		}
	}
	sys.Borrow(f.inner, func(fd int) error { return unix.Fadvise(fd, 0, 0, unix.FADV_DONTNEED) })
	if pages, err := sys.CachedPages(f.inner, 0, f.length.Known()); err != nil || pages > 0 {
		t.Skipf("%d pages stay in memory, %v", pages, err)
	}
}

// mapLazily reads until f is mapped. Only its first block is known.
func mapLazily(t *testing.T, f *File) *mapping {
	t.Helper()
	for range manyReads {
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
	f.pages.Truncated(0) // what an eviction does
	for off := int64(0); off+4096 <= size; off += 1 << 20 {
		readAt(t, f, off, 4096)
	}
	if got := pageTables(t, m.data); got > 0 {
		t.Errorf("%d bytes of a file that is not in memory were mapped in", got)
	}
	for range 4 {
		readAt(t, f, 5<<20, 4096)
	}
	if got := pageTables(t, m.data); got == 0 || got > pages.BlockSize {
		t.Errorf("%d bytes are in the page tables after reads that came back to one page", got)
	}
}

func TestView_ReadsRangeIn(t *testing.T) {
	const size = 8 << 20
	f := lazyFile(t, size)
	mapLazily(t, f)
	drop(t, f)
	f.pages.Truncated(0)
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

// Where nothing tells what is in memory, and the system populates no pages, View reads them in.
func TestView_ReadsRangeInUnasked(t *testing.T) {
	f := lazyFile(t, 1<<20)
	f.Bytes()
	drop(t, f)
	f.pages.Truncated(0)
	f.storage.Store(uint32(sys.StorageLocal))
	f.needCold().residencyUnknown.Store(true)
	Refuse(t, "Advise", syscall.ENOSYS)
	err := f.View(0, 100_000, func([]byte) error {
		if pages, err := sys.CachedPages(f.inner, 0, 100_000); err != nil || pages < 25 {
			t.Errorf("%d of 25 pages are in memory when fn is called, %v", pages, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
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
	for range 24 {
		if _, err := f.Read(b); err != nil {
			t.Fatal(err)
		}
	}
	if p := f.cur.Hint(); f.pages.Ready(p+4<<20, 1) {
		t.Error("a page is ready that is not in memory")
	}
}

// The system is told, once, that a file which is not in memory is read in order, and told
// back when it no longer is.
func TestReadAt_TellsTheOrder(t *testing.T) {
	for _, n := range []int{4 << 10, 64 << 10, 1 << 20} {
		size := max(32<<20, 64*int64(n))
		f := lazyFile(t, int(size))
		drop(t, f)
		off := int64(0)
		sys.Borrow(f.inner, func(fd int) error { return unix.Fadvise(fd, 0, 0, unix.FADV_RANDOM) }) // nothing is read ahead
		for ; off < size && !f.needCold().order.on.Load(); off += int64(n) {
			readAt(t, f, off, n)
		}
		if !f.needCold().order.on.Load() {
			t.Errorf("not told about reads of %d bytes in order", n)
		}
		for i := range int64(3) {
			readAt(t, f, size/2-i*3_000_000, n)
		}
		if f.needCold().order.on.Load() {
			t.Errorf("not told that reads of %d bytes are no longer in order", n)
		}
	}
}

// A file on a network file system is left to the system.
func TestReadAt_RemoteInOrder(t *testing.T) {
	const size, n = 8 << 20, 4 << 10
	f := lazyFile(t, size)
	f.storage.Store(uint32(sys.StorageRemote))
	drop(t, f)
	for off := int64(0); off < size; off += n {
		if readAt(t, f, off, n); f.needCold().order.on.Load() {
			t.Fatal("told about reads in order")
		}
	}
	if f.tracks() {
		t.Error("reads of what is not mapped are still recorded")
	}
}

// What the system was told about the order is taken back before a descriptor is handed out, and
// nothing is told from then on.
func TestFd_TakesBackTheOrder(t *testing.T) {
	t.Parallel()
	for name, handOut := range map[string]func(f *File){
		"Fd": func(f *File) { f.Fd() },
		"OS": func(f *File) { f.OS() },
		"SyscallConn": func(f *File) {
			if c, err := f.SyscallConn(); err == nil {
				c.Control(func(uintptr) {})
			}
		},
	} {
		f := lazyFile(t, 1<<20)
		f.readInOrder(true)
		if !f.needCold().order.on.Load() {
			t.Fatal("not told")
		}
		if handOut(f); f.needCold().order.on.Load() {
			t.Errorf("%s hands out a descriptor with advice", name)
		}
		if f.readInOrder(true); f.needCold().order.on.Load() {
			t.Errorf("advice is given after %s", name)
		}
	}
	for range 200 {
		f := lazyFile(t, 1)
		var both sync.WaitGroup
		both.Go(func() { f.readInOrder(true) })
		both.Go(func() { f.Fd() })
		both.Wait()
		if f.needCold().order.on.Load() {
			t.Fatal("advice is given beside Fd")
		}
		f.Close()
	}
}

// A Writer of the caller may panic inside a copy by the kernel.
func TestWriteTo_PanicTakesBackTheOrder(t *testing.T) {
	f := lazyFile(t, 8<<20)
	f.Len()
	drop(t, f)
	told := false
	w := panickingWriter{f, func() { told = f.needCold().order.on.Load() }}
	func() {
		defer func() { recover() }()
		f.WriteTo(w)
	}()
	if !told {
		t.Skip("not told about this copy")
	}
	if f.needCold().order.on.Load() {
		t.Error("advice is left")
	}
}

type panickingWriter struct {
	syscall.Conn
	fn func()
}

func (w panickingWriter) Write([]byte) (int, error) {
	w.fn()
	panic("a Writer of the caller")
}

func TestView_TellsTheOrder(t *testing.T) {
	const size, n = 16 << 20, 1 << 20
	f := lazyFile(t, size)
	if f.Bytes() == nil {
		t.Skip("not mapped")
	}
	for off := int64(0); off < 2*n; off += n {
		f.needCold().viewed.Store(5)
		f.preread(f.m.Load(), off, n)
		if f.needCold().viewed.Load() != off+n {
			t.Errorf("a View at %d does not note where it ends", off)
		}
	}
	drop(t, f)
	told := false
	for c, err := range f.Chunks(1 << 20) {
		if err != nil {
			t.Fatal(err)
		}
		told = told || f.needCold().order.on.Load()
		_ = c
	}
	if !told {
		t.Error("not told about Chunks")
	}
	if err := f.View(100, 100, func([]byte) error { return nil }); err != nil || f.needCold().order.on.Load() && !f.pages.Known(100, 100) {
		t.Errorf("not told back by a View elsewhere: %v", err)
	}
}

func TestReadAt_InMemoryTellsNothing(t *testing.T) {
	const size = 8 << 20
	for range 5 { // a page that is locked, for example to be written, counts as missing
		f := lazyFile(t, size) // just written
		for off := int64(0); off < size && !f.needCold().order.on.Load(); off += 4096 {
			readAt(t, f, off, 4096)
		}
		if !f.needCold().order.on.Load() {
			return
		}
	}
	t.Error("told about reads in order of a file that is in memory")
}

func TestReadAt_Eviction(t *testing.T) {
	const size = 4 << 20
	f := lazyFileEvicted(t, size)
	mapLazily(t, f)
	gen := evictions.Generation()
	for range 20 { // with a fast disk the fault may be a minor one
		drop(t, f)
		f.pages.Note(pages.Ready, 0, size)
		readAt(t, f, 1<<20, 100) // by the mapping: a major fault
		if evictions.Look(); evictions.Generation() != gen {
			break
		}
	}
	if evictions.Generation() == gen {
		t.Error("major faults are not noticed")
	}
	runtime.KeepAlive(f)
}

// WillNeed maps nothing, reads the range in, and does nothing for what is known to be in
// memory.
func TestAdvise_WillNeed(t *testing.T) {
	const size, step = 64 << 20, 1 << 20
	f := lazyFile(t, size)
	drop(t, f)
	for off := int64(0); off < size; off += step {
		if err := f.Advise(off, 4096, sys.WillNeed); err != nil {
			t.Fatal(err)
		}
	}
	if f.m.Load() != nil {
		t.Error("the advice has mapped the file")
	}
	for off := int64(0); off < size; off += step {
		readAt(t, f, off, 4096)
		if pages, err := sys.CachedPages(f.inner, off, 4096); err != nil || pages != 1 {
			t.Errorf("the page at %d is not in memory: %v", off, err)
		}
	}
	drop(t, f)
	for off := int64(0); off < size; off += prefetchMax {
		if err := f.Advise(off, size, sys.WillNeed); err != nil {
			t.Fatal(err)
		}
	}
	for began := time.Now(); ; runtime.Gosched() { // all of it is on its way
		if n, err := sys.CachedPages(f.inner, 0, size); err != nil || n >= size/4096*9/10 {
			break
		} else if time.Since(began) > 30*time.Second {
			t.Fatalf("%d of %d pages are in memory", n, size/4096)
		}
	}
	readAt(t, f, 0, 4096) // which may not have been on its way yet
	evictions.Evict()
	for range 2 { // the first one asks
		if err := f.Advise(0, 4096, sys.WillNeed); err != nil || !f.pages.Known(0, 4096) {
			t.Errorf("not known to be in memory: %v", err)
		}
	}
	if allocs := testing.AllocsPerRun(100, func() { f.Advise(0, 4096, sys.WillNeed) }); allocs > 0 {
		t.Errorf("%v allocations", allocs)
	}
	if err := f.Advise(size-100, 1<<62, sys.WillNeed); err != nil {
		t.Error(err)
	}
	f.Close()
	for _, off := range []int64{0, size + 1} {
		if err := f.Advise(off, 4096, sys.WillNeed); !errors.Is(err, os.ErrClosed) {
			t.Errorf("closed: %v", err)
		}
	}
}

func TestAdvise_PopulateRead(t *testing.T) {
	const size = 8 << 20
	f := lazyFile(t, size)
	m := mapLazily(t, f)
	drop(t, f)
	got := 0
	for range 5 { // the kernel may be moving a page
		if err := f.Advise(0, size, sys.PopulateRead); err != nil {
			t.Fatal(err)
		}
		if got = pageTables(t, m.data); got >= size {
			break
		}
	}
	if got < size {
		t.Errorf("%d of %d bytes are in the page tables", got, size)
	}
	if !f.pages.Ready(0, size) {
		t.Error("populated pages are not ready")
	}
}

// tmpfsFile makes a file on a tmpfs with the content, and then truncates it to size.
func tmpfsFile(t *testing.T, content []byte, size int64) *File {
	t.Helper()
	dir := "/dev/shm"
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil || fs.Type != unix.TMPFS_MAGIC {
		t.Skip("no tmpfs at ", dir)
	}
	temp, err := os.CreateTemp(dir, "mmapfile-test-")
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { os.Remove(temp.Name()) })
	defer temp.Close()
	if _, err := temp.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := temp.Truncate(size); err != nil {
		t.Fatal(err)
	}
	f, err := OpenFile(temp.Name(), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	HoldPages(t)
	return f
}

// A page fault in a hole of a tmpfs allocates memory, so a page is read from the mapping
// only once the system has counted it.
func TestReadAt_HolesOfTmpfsStay(t *testing.T) {
	const size = 8 << 20
	f := tmpfsFile(t, nil, size)
	for range 20 {
		for off := int64(0); off < size; off += 100_000 {
			readAt(t, f, off, 1000)
		}
	}
	var st unix.Stat_t
	if err := unix.Stat(f.Name(), &st); err != nil {
		t.Fatal(err)
	}
	if st.Blocks > 0 {
		t.Errorf("reading holes has given them %d bytes", st.Blocks*512)
	}
}

// A page beside holes is mapped, and the holes stay.
func TestReadAt_PageBesideHolesOfTmpfs(t *testing.T) {
	const size, off = 8 << 20, 4<<20 + 5<<12
	f := tmpfsFile(t, nil, size)
	if _, err := sys.CachedPages(f.inner, 0, size); err != nil {
		t.Skip(err)
	}
	data := make([]byte, pageSize)
	for i := range data {
		data[i] = byte(i) | 1
	}
	other, err := os.OpenFile(f.Name(), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := other.WriteAt(data, off); err != nil {
		t.Fatal(err)
	}
	for range manyReads {
		readAt(t, f, off, 100)
	}
	if f.m.Load() == nil || !f.pages.Ready(off, 100) || f.pages.Ready(off-int64(pageSize), 100) || f.pages.Ready(off+int64(pageSize), 100) {
		t.Error("not the page with data alone is ready")
	}
	var st unix.Stat_t
	if err := unix.Stat(f.Name(), &st); err != nil {
		t.Fatal(err)
	}
	if got := st.Blocks * 512; got != int64(pageSize) {
		t.Errorf("%d bytes are allocated, want the one page", got)
	}
}

func TestReadAt_TmpfsIsMapped(t *testing.T) {
	const size = 8 << 20
	f := tmpfsFile(t, make([]byte, size), size)
	if _, err := sys.CachedPages(f.inner, 0, size); err != nil {
		t.Skip(err)
	}
	const off = size / 2
	for range manyReads {
		readAt(t, f, off, 100)
	}
	if f.m.Load() == nil || !f.pages.Ready(off, 100) {
		t.Fatal("not mapped, and many reads came back")
	}
	if !f.pages.Ready(off+pages.BlockSize-100, 100) || f.pages.Ready(off+pages.BlockSize, 100) {
		t.Error("not its block alone is ready")
	}
	if ok, _ := f.load(f.m.Load(), make([]byte, 100), off); !ok { // zeros: the page after them proves the end
		t.Error("not read from the mapping")
	}
	for at := int64(0); at+4096 <= size; at += 4096 { // in order
		readAt(t, f, at, 4096)
	}
	if !f.pages.Ready(size/4, 4096) {
		t.Error("not ready after reads in order")
	}
}

// A tmpfs cannot list extents. A block without holes is prefaulted all the same, wherever else the file has some.
func TestWriteAt_TmpfsBesideHoles(t *testing.T) {
	const size = 8 << 20
	f := tmpfsFile(t, make([]byte, size/2), size)
	if _, err := sys.CachedPages(f.inner, 0, size); err != nil {
		t.Skip(err)
	}
	if pageSize >= pages.BlockSize {
		t.Skip("a block is one page")
	}
	for i := range int64(20_000) {
		if _, err := f.WriteAt([]byte("bytes"), i*100%pages.BlockSize); err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt([]byte("bytes"), size-pages.BlockSize+i*100%int64(pageSize-8)); err != nil {
			t.Fatal(err)
		}
		if n, err := sys.CachedPages(f.inner, size-pages.BlockSize, pages.BlockSize); i == 0 && (n > 1 || err != nil) {
			t.Skip("the tmpfs has large folios: ", n, err)
		}
	}
	if !isPrefaulted(f, 0, pages.BlockSize) || isPrefaulted(f, size-pages.BlockSize, pages.BlockSize) {
		t.Errorf("prefaulted: the block without holes %v, the one with them %v", isPrefaulted(f, 0, pages.BlockSize), isPrefaulted(f, size-pages.BlockSize, pages.BlockSize))
	}
	var st unix.Stat_t
	if err := unix.Stat(f.Name(), &st); err != nil {
		t.Fatal(err)
	}
	if got, want := st.Blocks*512, int64(size/2+pageSize); got != want {
		t.Errorf("%d bytes are allocated, want %d", got, want)
	}
}

// Advice and a copy ask what is in memory before the file system is known.
func TestAdvise_TmpfsIsMappedLater(t *testing.T) {
	const size = 8 << 20
	f := tmpfsFile(t, make([]byte, size), size)
	if err := f.Advise(0, size, sys.WillNeed); err != nil {
		t.Fatal(err)
	}
	if f.needCold().residencyUnknown.Load() {
		t.Error("not asked any more what is in memory")
	}
}

// Whole blocks are prefaulted, and no block beside them.
func TestPages_PrefaultBlocks(t *testing.T) {
	f := lazyFile(t, 4*pages.BlockSize)
	if f.Bytes() == nil {
		t.Fatal("not mapped")
	}
	m := f.m.Load()
	if err := vm.Memory.Prefault(f.inner, m.data[:pageSize], 0); err != nil {
		t.Skip(err)
	}
	for _, c := range []struct {
		off, end int64
		want     [4]bool
	}{
		{0, 1, [4]bool{true}}, {pages.BlockSize, 2 * pages.BlockSize, [4]bool{1: true}}, {pages.BlockSize + 100, pages.BlockSize + 200, [4]bool{1: true}},
		{2*pages.BlockSize - 1, 2*pages.BlockSize + 1, [4]bool{1: true, 2: true}}, {3 * pages.BlockSize, 4 * pages.BlockSize, [4]bool{3: true}},
		{100, 4*pages.BlockSize - 100, [4]bool{true, true, true, true}},
	} {
		f.pages.Truncated(0)
		if _, ok := f.prefault(m, c.off, c.end); !ok {
			t.Errorf("%d to %d: not prefaulted", c.off, c.end)
		}
		for block, want := range c.want {
			if got := isPrefaulted(f, int64(block)*pages.BlockSize, pages.BlockSize); got != want {
				t.Errorf("%d to %d: block %d is prefaulted: %v", c.off, c.end, block, got)
			}
		}
	}
	if _, ok := f.prefault(m, 4*pages.BlockSize, 4*pages.BlockSize+1); ok {
		t.Error("prefaulted past the end of the file")
	}
}

// The page after a block proves its last writes. It is loaded with the block, or one of those writes would be a
// page fault.
func TestPrefault_LoadsPageAfter(t *testing.T) {
	f := lazyFile(t, 4*pages.BlockSize)
	if f.Bytes() == nil {
		t.Fatal("not mapped")
	}
	m, next := f.m.Load(), 2*pages.BlockSize
	if err := vm.Memory.Prefault(f.inner, m.data[:pageSize], 0); err != nil {
		t.Skip(err)
	}
	if err := unix.Mprotect(m.data[next:next+pageSize], unix.PROT_NONE); err != nil { // a load of it is a fault that is counted
		t.Fatal(err)
	}
	before := guard.Faults.Load()
	if _, ok := f.prefault(m, pages.BlockSize, pages.BlockSize+1); !ok {
		t.Fatal("not prefaulted")
	}
	if guard.Faults.Load() == before {
		t.Error("the page after the block is not loaded")
	}
}

// A hole is not prefaulted: that would allocate it.
func TestPrefault_Hole(t *testing.T) {
	f := lazyFile(t, pages.BlockSize)
	if err := f.Truncate(4 * pages.BlockSize); err != nil {
		t.Fatal(err)
	}
	if f.Bytes() == nil {
		t.Fatal("not mapped")
	}
	m := f.m.Load()
	if err := vm.Memory.Prefault(f.inner, m.data[:pageSize], 0); err != nil {
		t.Skip(err)
	}
	var before, after unix.Stat_t
	if err := unix.Stat(f.Name(), &before); err != nil {
		t.Fatal(err)
	}
	err := vm.Memory.Prefault(f.inner, m.data[2*pages.BlockSize:3*pages.BlockSize], 2*pages.BlockSize)
	if serr := unix.Stat(f.Name(), &after); serr != nil {
		t.Fatal(serr)
	}
	if err == nil || after.Blocks != before.Blocks {
		t.Errorf("%v; %d blocks were allocated", err, after.Blocks-before.Blocks)
	}
}

// What a call takes is not measured on a device: each read of /dev/kmsg takes a message away.
func TestRead_DeviceIsReadOnce(t *testing.T) {
	t.Parallel()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	itself := readCalls(t)
	itself = readCalls(t) - itself
	for range 4200 { // one look of 4,096 is one at which a call is measured
		f, err := OpenFile("/dev/zero", os.O_RDONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		before := readCalls(t)
		for range pages.LookEvery {
			if _, err := f.Read(make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
		}
		if n := readCalls(t) - before - itself; n != pages.LookEvery {
			t.Errorf("%d reads by system call for %d of the File", n, pages.LookEvery)
		}
		f.Close()
	}
}

// Nor is it on a file that cannot be read, which is not asked again.
func TestWrite_OnlyForWritingIsNotTracked(t *testing.T) {
	t.Parallel()
	f, err := OpenFile(filepath.Join(t.TempDir(), "log"), os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	f.timeCall(0)
	if f.tracks() {
		t.Error("calls are still recorded")
	}
}

// readCalls returns how many reads by system call this thread has made.
func readCalls(t *testing.T) (n int) {
	t.Helper()
	b, err := os.ReadFile("/proc/thread-self/io")
	if err != nil {
		t.Skip(err)
	}
	_, calls, _ := strings.Cut(string(b), "syscr: ")
	if k, err := fmt.Sscan(calls, &n); k != 1 {
		t.Skip(err)
	}
	return n
}

// Pages whose copies fault, though a system call reads them, are not tried for ever.
func TestReadAt_FaultsAreGivenUp(t *testing.T) {
	defer account.Set(account.Balance())
	f := lazyFile(t, 1<<20)
	m := mapLazily(t, f)
	if !f.pages.Ready(0, 100) {
		t.Fatal("not ready")
	}
	account.Set(0)
	if err := unix.Mprotect(m.data, unix.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	before := guard.Faults.Load()
	for range 100 {
		readAt(t, f, 0, 100)
	}
	if n := guard.Faults.Load() - before; n == 0 || n > 20 {
		t.Errorf("%d of 100 reads fault", n)
	}
}

// A file of /proc has no length, and is not tried to be mapped again.
func TestMapForCalls_Proc(t *testing.T) {
	if !canMap {
		t.Skip("nothing is mapped")
	}
	f, err := Options{}.OpenFile("/proc/self/status", os.O_RDONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	if _, ok := f.mapForCalls(); ok || !f.never.Load() {
		t.Errorf("mapped: %v, never to be mapped: %v", ok, f.never.Load())
	}
}
