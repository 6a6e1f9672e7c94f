package mmapfile

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"go.dw1.io/mmapfile/internal/race"
)

// A record that ends in zeros at the end of a page is read from the mapping too, once the
// page after it is known, which shows that the file was not truncated.
func TestReadAt_ZerosBeforeAnUnknownPage(t *testing.T) {
	t.Parallel()
	const off, n = 3*(1<<pageBits) - 64, 64
	f := lazyFile(t, 4*blockSize)
	if _, err := f.inner.WriteAt(make([]byte, n), off); err != nil {
		t.Fatal(err)
	}
	for range trackFrom + mapFrom + readyFrom + 2 {
		readAt(t, f, off, n)
	}
	m := f.m.Load()
	if m == nil || !f.pages.ready(off, n) {
		t.Fatal("not ready after many reads of one place")
	}
	if !f.load(m, make([]byte, n), off) {
		t.Error("not read from the mapping after many reads")
	}
}

// A file that is not regular is not asked for its size at each read.
func TestRead_DeviceInOrder(t *testing.T) {
	if race.Detector {
		t.Skip("the race detector allocates")
	}
	f, err := Open("/dev/zero")
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	b := make([]byte, 1<<pageBits)
	read := func() {
		if n, err := f.Read(b); n != len(b) || err != nil {
			t.Fatal(n, err)
		}
	}
	for range 2 * (trackFrom + orderFrom) {
		read()
	}
	if canMap && !split && f.tracks() {
		t.Error("its pages are still noted")
	}
	if allocs := testing.AllocsPerRun(100, read); allocs > 0 && runtime.GOOS != "js" { // os allocates there
		t.Errorf("%v allocations", allocs)
	}
}

func TestPages_OffsetPastTheTable(t *testing.T) {
	t.Parallel()
	var p pages
	p.note(noteSeen, 0, 1)
	for _, off := range []int64{tableMost, 1 << 47, 1<<53 + 5, 1 << 54, 1<<62 + 5} {
		p.calls.Add(1 << 20)
		if p.note(noteSeen, off, 64); p.seen(off, 1) {
			t.Errorf("%d is past the table, and noted", off)
		}
	}
	if p.seen(1<<pageBits, 1) {
		t.Error("an offset past the table is noted at another")
	}
}

// Reads that do not come back to a file take little memory, however large it is.
func TestPages_LeavesOfAHugeFile(t *testing.T) {
	t.Parallel()
	var p pages
	const calls = 10_000
	for i := range int64(calls) {
		p.calls.Add(1)
		p.note(noteSeen, i<<leafBits, 1)
	}
	if got := p.table.Load().grown; got > calls/4+128 || mapLimit > tableMost && got < calls/8 {
		t.Errorf("%d leaves after %d reads far apart", got, calls)
	}
}

// A Sync beside writes must not leave pages that no later Sync forgets.
func TestPages_SyncBesidePrefault(t *testing.T) {
	t.Parallel()
	for range 200 {
		var p pages
		p.note(noteSeen, 0, blockSize)
		var both sync.WaitGroup
		both.Add(2)
		go func() {
			defer both.Done()
			for range 50 {
				p.notePrefaulted(0, blockSize)
			}
		}()
		go func() {
			defer both.Done()
			for range 50 {
				p.synced(0, 1<<leafBits)
			}
		}()
		both.Wait()
		p.notePrefaulted(0, blockSize)
		p.synced(0, 1<<leafBits)
		if p.has(prefaultedShift, 0, 1) {
			t.Fatal("prefaulted after a Sync")
		}
	}
}

func TestPages_LossesMakePrefaultingDearer(t *testing.T) {
	t.Parallel()
	var p pages
	first := p.blockPrice()
	p.lost()
	p.lost()
	if got := p.blockPrice(); got != 4*first {
		t.Errorf("a price of %d after two losses, and %d before", got, first)
	}
	for range 100 {
		p.lost()
	}
	if got := p.blockPrice(); got != savedMost {
		t.Errorf("a price of %d after many losses, want %d", got, savedMost)
	}
	for range 10_000 {
		p.gained()
	}
	if got := p.blockPrice(); got != first {
		t.Errorf("a price of %d after many gains, want %d", got, first)
	}
}

// The hint follows the kernel's offset through copies.
func TestReadFrom_HintFollows(t *testing.T) {
	t.Parallel()
	name := filepath.Join(tempDir(t), "src")
	if err := os.WriteFile(name, make([]byte, 300_000), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, flush := range []int64{0, 64 << 10} {
		src, err := Open(name)
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
			if hint := f.cur.hint.Load(); hint != pos && f.cur.state.Load() == 0 {
				t.Errorf("flush %d: the hint is %d, the kernel's offset %d", flush, hint, pos)
			}
		}
	}
}

// Seek keeps the cursor in the process after some calls, for each kind of File with os.File's results.
func TestSeek_CursorOfAnUnmappedFile(t *testing.T) {
	t.Parallel()
	f := lazyFile(t, 4*blockSize)
	want, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 100)
	for i := range int64(3 * trackFrom) {
		off := i * 997
		if pos, err := f.Seek(off, io.SeekStart); pos != off || err != nil {
			t.Fatal(pos, err)
		}
		if n, err := f.Read(b); n != len(b) || err != nil || !bytes.Equal(b, want[off:off+100]) {
			t.Fatalf("Read at %d: %d, %v", off, n, err)
		}
	}
	if f.cur.state.Load() != cursorOurs {
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
