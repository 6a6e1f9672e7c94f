package file

import (
	"bytes"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"go.dw1.io/mmapfile/internal/account"
	"go.dw1.io/mmapfile/internal/evictions"
	"go.dw1.io/mmapfile/internal/pages"
	"go.dw1.io/mmapfile/internal/prices"
	"go.dw1.io/mmapfile/internal/race"
	"go.dw1.io/mmapfile/internal/sys"
)

// manyReads is more than the number of reads of one place after which it is mapped and ready.
const manyReads = 128

// lazyFile opens a new file of size bytes for reading and writing. None of its pages is known.
// What becomes known stays so.
func lazyFile(t *testing.T, size int) *File {
	t.Helper()
	HoldPages(t)
	return lazyFileEvicted(t, size)
}

// What a long call takes is measured once the file is mapped, by system call and from the mapping.
func TestReadAt_MeasuresLongCalls(t *testing.T) {
	if pages.Eager {
		t.Skip("the eager policy makes no such system call")
	}
	defer account.Set(account.Balance())
	account.Set(account.Max)
	const blocks = 4 * pages.LookEvery
	f := lazyFile(t, blocks*pages.BlockSize)
	if f.Bytes() == nil {
		t.Fatal("not mapped")
	}
	b := make([]byte, pages.Long)
	for block := range int64(blocks / 2) {
		for range 2 { // the second one is of pages that were seen
			if _, err := f.ReadAt(b, block*pages.BlockSize); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := f.WriteAt(b, (blocks/2+block)*pages.BlockSize); err != nil {
			t.Fatal(err)
		}
	}
	for range 1000 { // from the mapping; few are timed
		if _, err := f.ReadAt(b, 0); err != nil {
			t.Fatal(err)
		}
	}
	own, copied := f.pages.Measured(pages.Long)
	if read, write := prices.Measured(pages.Long); own == 0 || copied == 0 || read == 0 || write == 0 {
		t.Errorf("a read is believed to take %d ns, and its copy %d; a page %d to read, and %d to write", own, copied, read, write)
	}
}

// Calls that have met bytes which another program has added do not tell where they end. Reading ahead asks for that, and for
// no length that is current.
func TestHost_SizeOfAddedBytes(t *testing.T) {
	const size, added, n = 4 * pages.BlockSize, 1 << 20, pages.PageSize
	f := lazyFile(t, size)
	if f.Bytes() == nil {
		t.Fatal("not mapped")
	}
	other, err := os.OpenFile(f.Name(), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := other.Write(make([]byte, added)); err != nil {
		t.Fatal(err)
	}
	if got := (*host)(f).Size(size - 1); got != size {
		t.Errorf("a length that is current is %d, want %d", got, size)
	}
	f.length.Reached(f.length.Before(), size+n) // as a read of them does
	f.length.Stale()
	if got := (*host)(f).Size(size + n - 1); got != size+added {
		t.Errorf("the length is %d after added bytes were met, want %d", got, size+added)
	}
}

// lazyFileEvicted is lazyFile, but major faults make its pages unknown.
func lazyFileEvicted(t *testing.T, size int) *File {
	t.Helper()
	if !canMap || closeNeedsLock || noUnifiedCache {
		t.Skip("nothing is mapped unasked")
	}
	name := filepath.Join(TempDir(t), "file")
	content := make([]byte, size)
	rand.NewChaCha8([32]byte{1}).Read(content)
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if sys.StorageOf(f.inner, true) != sys.StorageLocal {
		t.Skip("this file system is not mapped unasked")
	}
	return f
}

// readAt reads n bytes at off.
func readAt(t *testing.T, f *File, off int64, n int) {
	t.Helper()
	if got, err := f.ReadAt(make([]byte, n), off); got != n || err != nil {
		t.Fatalf("ReadAt: %d, %v", got, err)
	}
}

func TestReadAt_MappedOnceReadsComeBack(t *testing.T) {
	t.Parallel()
	const size = 4 << 20
	f := lazyFile(t, size)
	f.needCold().residencyUnknown.Store(true) // else what was never read may be ready with its block
	pass := func(step int64) {
		for off := int64(0); off < size; off += step {
			readAt(t, f, size-step-off, 100) // backwards, so that the order predicts nothing
		}
	}
	pass(2 * pages.BlockSize) // 32 reads, none of which comes back
	if f.m.Load() != nil {
		t.Fatal("mapped by a first pass")
	}
	for range manyReads * 2 * pages.BlockSize / size {
		pass(2 * pages.BlockSize)
	}
	if f.m.Load() == nil {
		t.Fatal("not mapped, and many reads have come back")
	}
	readAt(t, f, size/2, 100)
	if !f.pages.Ready(size/2, 100) {
		t.Error("a block is not ready after two reads that came back")
	}
	if f.pages.Ready(size/2+pages.PageSize, 1) || f.pages.Ready(pages.BlockSize, 1) {
		t.Error("a page is ready that was never read")
	}
}

func TestReadAt_OnePassMapsNothing(t *testing.T) {
	t.Parallel()
	const size = 8 << 20
	for _, n := range []int64{512, 100_000, 1 << 20} {
		f := lazyFile(t, size)
		f.needCold().residencyUnknown.Store(true) // the system cannot report what is in memory
		for off := int64(0); off+n <= size; off += 2 * n {
			readAt(t, f, off, int(n))
		}
		// Small reads may come back to a page, larger ones do not.
		if m := f.m.Load(); m != nil && n >= pages.PageSize {
			t.Errorf("mapped by one pass in reads of %d bytes", n)
		}
	}
}

func TestRead_InOrder(t *testing.T) {
	t.Parallel()
	if pages.Eager {
		t.Skip("one read that comes back maps the file")
	}
	const size, n = 2 << 20, 4 << 10
	f := lazyFile(t, size)
	b := make([]byte, n)
	for i := range int64(manyReads) {
		if got, err := f.Read(b); got != n || err != nil {
			t.Fatal(got, err)
		}
		if f.m.Load() == nil {
			continue
		}
		if next := (i + 1) * n; !f.pages.Ready(next, pages.AheadBytes-pages.BlockSize) {
			t.Errorf("mapped after %d reads in order, and what follows is not ready", i+1)
		}
		return
	}
	if f.needCold().residencyUnknown.Load() {
		t.Skip("the system does not say what is in memory")
	}
	t.Error("reads in order of a file in memory have not mapped it")
}

func TestTruncate_Pages(t *testing.T) {
	t.Parallel()
	f := lazyFile(t, 4*pages.BlockSize)
	if f.Bytes() == nil {
		t.Fatal("not mapped")
	}
	prefaultAll(f)
	if err := f.Truncate(pages.BlockSize + 10); err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(4 * pages.BlockSize); err != nil {
		t.Fatal(err)
	}
	if !f.pages.Ready(0, pages.BlockSize) {
		t.Error("pages before the end are forgotten")
	}
	if f.pages.Known(2*pages.BlockSize, 1) || f.pages.Ready(2*pages.BlockSize, 1) {
		t.Error("pages of a hole are known")
	}
}

func TestSync_NoPageStaysPrefaulted(t *testing.T) {
	t.Parallel()
	f := lazyFile(t, 4*pages.BlockSize)
	f.Bytes()
	has := func(block int64) bool { return isPrefaulted(f, block*pages.BlockSize, pages.BlockSize) }
	prefaultAll(f)
	if err := f.SyncRange(pages.BlockSize+1, 5); err != nil {
		t.Fatal(err)
	}
	if canMap && runtime.GOOS == "linux" && (!has(0) || has(1) || !has(2)) {
		t.Errorf("prefaulted after SyncRange in block 1: %v %v %v", has(0), has(1), has(2))
	}
	prefaultAll(f)
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	if has(0) || has(3) {
		t.Error("prefaulted after Sync")
	}
	if !f.pages.Ready(0, 4*pages.BlockSize) {
		t.Error("not ready after Sync")
	}
}

func TestEvictions_AllFiles(t *testing.T) {
	f := lazyFile(t, pages.BlockSize)
	f.Bytes()
	prefaultAll(f)
	if !f.pages.Ready(0, pages.BlockSize) {
		t.Fatal("not ready")
	}
	evictions.Evict()
	if f.pages.Ready(0, 1) || f.pages.Known(0, 1) {
		t.Error("pages are known after an eviction")
	}
	for range manyReads {
		readAt(t, f, 0, 100)
	}
	if !f.pages.Ready(0, 100) {
		t.Error("reads that come back after an eviction make nothing ready")
	}
}

// The timer of a synctest bubble does not stop the timers of other tests.
func TestEvictions_Synctest(t *testing.T) {
	name := filepath.Join(TempDir(t), "file")
	if err := os.WriteFile(name, bytes.Repeat([]byte{1}, 100_000), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		synctest.Test(t, func(t *testing.T) {
			f, err := OpenFile(name, os.O_RDONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			for range 100 {
				readAt(t, f, 0, 100)
			}
			time.Sleep(time.Minute)
			readAt(t, f, 0, 100)
		})
	}
}

func TestReadStats_Mapped(t *testing.T) {
	before := ReadStats()
	f := lazyFile(t, 4*pages.BlockSize)
	for range 2 * manyReads {
		readAt(t, f, 0, 100)
	}
	open := ReadStats()
	if open.MappedFiles <= 0 || open.MappedBytes < 4*pages.BlockSize {
		t.Errorf("with a mapped File: %+v", open)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	after := ReadStats()
	if n := f.SystemCalls(); after.SystemCalls.First < before.SystemCalls.First+n.First || n.First < 31 && !pages.Eager {
		t.Errorf("%+v, %+v before; %+v of the file", after.SystemCalls, before.SystemCalls, n)
	}
	if after.MappedFiles != open.MappedFiles-1 && !testing.Short() {
		t.Logf("mapped Files: %d, and %d after Close; other tests run", open.MappedFiles, after.MappedFiles)
	}
}

// A record that ends in zeros at the end of a page is read from the mapping, once the page after
// it is known. That page proves that the file was not truncated.
func TestReadAt_ZerosBeforeAnUnknownPage(t *testing.T) {
	t.Parallel()
	const off, n = 3*pages.PageSize - 64, 64
	f := lazyFile(t, 4*pages.BlockSize)
	if _, err := f.inner.WriteAt(make([]byte, n), off); err != nil {
		t.Fatal(err)
	}
	for range manyReads {
		readAt(t, f, off, n)
	}
	m := f.m.Load()
	if m == nil || !f.pages.Ready(off, n) {
		t.Fatal("not ready after many reads of one place")
	}
	if ok, _ := f.load(m, make([]byte, n), off); !ok {
		t.Error("not read from the mapping after many reads")
	}
}

// A read of a file that is not regular does not ask for its size.
func TestRead_DeviceInOrder(t *testing.T) {
	if race.Detector {
		t.Skip("the race detector allocates")
	}
	f, err := OpenFile("/dev/zero", os.O_RDONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	b := make([]byte, pages.PageSize)
	read := func() {
		if n, err := f.Read(b); n != len(b) || err != nil {
			t.Fatal(n, err)
		}
	}
	for range manyReads {
		read()
	}
	if canMap && !noUnifiedCache && f.tracks() {
		t.Error("its pages are still noted")
	}
	if allocs := testing.AllocsPerRun(100, read); allocs > 0 && runtime.GOOS != "js" { // os allocates there
		t.Errorf("%v allocations", allocs)
	}
}

// The hint follows the offset of the kernel through copies.
func TestReadFrom_HintFollows(t *testing.T) {
	t.Parallel()
	name := filepath.Join(TempDir(t), "src")
	if err := os.WriteFile(name, make([]byte, 300_000), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, flush := range []int64{0, 64 << 10} {
		src, err := OpenFile(name, os.O_RDONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer src.Close()
		dst, err := Options{Flush: FlushPolicy{Bytes: flush}}.OpenFile(name+"-copy", os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer dst.Close()
		if n, err := io.Copy(dst, src); n != 300_000 || err != nil {
			t.Fatal(n, err)
		}
		for _, f := range []*File{src, dst} {
			pos, err := f.inner.Seek(0, io.SeekCurrent)
			if err != nil {
				t.Fatal(err)
			}
			if hint := f.cur.Hint(); hint != pos && !f.cur.InFile() && !f.cur.Shared() {
				t.Errorf("flush %d: the hint is %d, the kernel's offset %d", flush, hint, pos)
			}
		}
	}
}

// After some calls of Seek the cursor is in the process. The results are those of os.File.
func TestSeek_CursorOfAnUnmappedFile(t *testing.T) {
	t.Parallel()
	f := lazyFile(t, 4*pages.BlockSize)
	want, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 100)
	for i := range int64(manyReads) {
		off := i * 997
		if pos, err := f.Seek(off, io.SeekStart); pos != off || err != nil {
			t.Fatal(pos, err)
		}
		if n, err := f.Read(b); n != len(b) || err != nil || !bytes.Equal(b, want[off:off+100]) {
			t.Fatalf("Read at %d: %d, %v", off, n, err)
		}
	}
	if !f.cur.InFile() {
		t.Error("the cursor is still in the kernel")
	}
	end := int64(len(want))
	if pos, err := f.Seek(-5, io.SeekEnd); pos != end-5 || err != nil {
		t.Error(pos, err)
	}
	if n, err := f.Read(b); n != 5 || err != nil {
		t.Errorf("Read before the end: %d, %v", n, err)
	}
	if pos, _ := f.OS().Seek(0, io.SeekCurrent); pos != end {
		t.Errorf("the inner file is at %d, want %d", pos, end)
	}
}
