package file

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"go.dw1.io/mmapfile/internal/pages"
	"go.dw1.io/mmapfile/internal/race"
	"go.dw1.io/mmapfile/internal/sys"
	"go.dw1.io/mmapfile/internal/vm"
)

// refusing is the Platform of this system, except that one verb fails with err.
type refusing struct {
	vm.Platform
	verb    string // a method of Platform, or MapWriting
	err     error
	after   int // calls of Map that succeed before
	longest int // mappings that are not longer succeed
	refused int
	undone  int // calls of Unlock
}

func (r *refusing) refuses(verb string) bool {
	if verb != r.verb {
		return false
	}
	r.refused++
	return true
}

func (r *refusing) Map(f *os.File, length int, write, asked bool) (data []byte, writable bool, err error) {
	switch {
	case r.after > 0:
		r.after--
	case length > r.longest && r.refuses("Map"):
		return nil, false, r.err
	case r.refuses("MapWriting"):
		write = false
	}
	return r.Platform.Map(f, length, write, asked)
}

func (r *refusing) MapPrivate(f *os.File, length int, write bool) ([]byte, error) {
	if r.refuses("MapPrivate") {
		return nil, r.err
	}
	return r.Platform.MapPrivate(f, length, write)
}

// RefusesMapped plays a system that refuses to truncate a mapped file, if what it needs for that
// is refused.
func (r *refusing) RefusesMapped(err error) bool {
	return r.verb == "Reserve" || r.verb == "MapReserved" || r.Platform.RefusesMapped(err)
}

func (r *refusing) Reserve(data, rest []byte) []byte {
	held := r.Platform.Reserve(data, rest)
	if r.refuses("Reserve") {
		return nil
	}
	return held
}

func (r *refusing) MapReserved(f *os.File, held []byte, length int, write bool) (view, rest []byte, err error) {
	if held == nil {
		panic("there is no range to map to")
	}
	if r.refuses("MapReserved") {
		return nil, held, r.err
	}
	return r.Platform.MapReserved(f, held, length, write)
}

func (r *refusing) Flush(data []byte) error {
	if r.refuses("Flush") {
		return r.err
	}
	return r.Platform.Flush(data)
}

func (r *refusing) Sync(data []byte) error {
	if r.refuses("Sync") {
		return r.err
	}
	return r.Platform.Sync(data)
}

func (r *refusing) Advise(data []byte, advice int) error {
	if r.refuses("Advise") {
		return r.err
	}
	return r.Platform.Advise(data, advice)
}

func (r *refusing) Prefault(f *os.File, data []byte, off int64) error {
	if r.refuses("Prefault") {
		return r.err
	}
	return r.Platform.Prefault(f, data, off)
}

func (r *refusing) Lock(data []byte) error {
	if r.refuses("Lock") {
		return r.err
	}
	return r.Platform.Lock(data)
}

func (r *refusing) Unlock(data []byte) error {
	if r.undone++; r.refuses("Unlock") {
		return r.err
	}
	return r.Platform.Unlock(data)
}

func (r *refusing) Resident(data []byte) (int64, error) {
	if r.refuses("Resident") {
		return 0, r.err
	}
	return r.Platform.Resident(data)
}

// Refuse has a verb of the Platform fail with err until the end of the test, which does not run in
// parallel.
func Refuse(t *testing.T, verb string, err error) { refuse(t, &refusing{verb: verb, err: err}) }

// refuse has the system refuse what r names until the end of the test, which does not run in
// parallel: the Platform is that of all Files.
func refuse(t *testing.T, r *refusing) {
	t.Helper()
	if !canMap {
		t.Skip("nothing is mapped here")
	}
	r.Platform = vm.Memory
	vm.Memory = r
	t.Cleanup(func() {
		vm.Memory = r.Platform
		if r.refused == 0 && !t.Skipped() {
			t.Error("nothing was refused, so the test shows nothing")
		}
	})
}

// osFile has those methods of both kinds of file that these tests call.
type osFile interface {
	io.ReaderAt
	io.WriterAt
	io.ReadWriteSeeker
	Stat() (fs.FileInfo, error)
	Truncate(size int64) error
	Sync() error
	Close() error
}

// record makes calls of all kinds on f, often enough to be mapped, and returns their results.
func record(f osFile, name string) (log []string) {
	note := func(what string, v ...any) {
		log = append(log, what+" "+string(bytes.ReplaceAll(fmt.Append(nil, v...), []byte(name), []byte("NAME"))))
	}
	b := make([]byte, 100)
	use := func() {
		for i := range 200 {
			n, err := f.ReadAt(b, int64(i%7)*1000)
			note("ReadAt", n, err, b[:3])
			n, err = f.WriteAt([]byte("written"), int64(i%5)*5000)
			note("WriteAt", n, err)
		}
		pos, err := f.Seek(-50, io.SeekEnd)
		note("Seek", pos, err)
		n, err := f.Read(b)
		note("Read", n, err, b[:n])
		n, err = f.Read(b)
		note("Read", n, err)
		n, err = f.Write([]byte("more"))
		note("Write", n, err)
		fi, err := f.Stat()
		note("Stat", fi.Size(), err)
	}
	use()
	note("Truncate", f.Truncate(1<<20))
	if f, ok := f.(*File); ok {
		f.Bytes() // of the longer file
	}
	use()
	note("Truncate", f.Truncate(30_000))
	use()
	note("Sync", f.Sync())
	note("Close", f.Close())
	n, err := f.ReadAt(b, 0)
	note("ReadAt", n, err)
	return log
}

// A system that does not map a file, or not any more, or not for writing, leaves the results of
// os.File.
func TestFile_MappingRefused(t *testing.T) {
	for name, r := range map[string]*refusing{
		"Always":    {verb: "Map", err: errNoMemory},
		"Growth":    {verb: "Map", after: 1, err: errNoMemory},
		"Forbidden": {verb: "Map", err: syscall.EACCES},
		"Writing":   {verb: "MapWriting"},
	} {
		t.Run(name, func(t *testing.T) {
			var logs [2][]string
			for kind := range logs {
				path := filepath.Join(TempDir(t), "file")
				if err := os.WriteFile(path, randomBytes(100_000), 0o600); err != nil {
					t.Fatal(err)
				}
				if kind == 0 {
					f, err := os.OpenFile(path, os.O_RDWR, 0)
					if err != nil {
						t.Fatal(err)
					}
					logs[0] = record(f, path)
					continue
				}
				refuse(t, r)
				f, err := OpenFile(path, os.O_RDWR, 0)
				if err != nil {
					t.Fatal(err)
				}
				if p := f.Bytes(); (p == nil) != (name == "Always" || name == "Forbidden") {
					t.Errorf("Bytes has %d bytes", len(p))
				}
				HoldPages(t)
				prefaultAll(f)
				logs[1] = record(f, path)
			}
			for i := range logs[0] {
				if logs[1][i] != logs[0][i] {
					t.Fatalf("call %d: %s, want %s", i, logs[1][i], logs[0][i])
				}
			}
		})
	}
}

// openRandom opens a file of 1,000 random bytes for reading and writing.
func openRandom(t *testing.T) (f *File, path string) {
	t.Helper()
	path = filepath.Join(TempDir(t), "file")
	if err := os.WriteFile(path, randomBytes(1000), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f, path
}

func wantPathError(t *testing.T, err error, op, path string, want error) {
	t.Helper()
	if pe := (*fs.PathError)(nil); !errors.As(err, &pe) || pe.Op != op || pe.Path != path || pe.Err != want {
		t.Errorf("%s: %v, want %v", op, err, want)
	}
}

// What asks for memory has the system's error.
func TestView_MappingRefused(t *testing.T) {
	Refuse(t, "Map", syscall.EPERM)
	f, path := openRandom(t)
	for what, err := range map[string]error{
		"view":   f.View(0, 10, func([]byte) error { return nil }),
		"lock":   f.LockMemory(0, 10),
		"advise": f.Advise(0, 10, 2),
	} {
		wantPathError(t, err, what, path, syscall.EPERM)
	}
	if f.Bytes() != nil {
		t.Error("Bytes is not nil")
	}
	for c, err := range f.Chunks(400) {
		if err != nil || len(c.Data) == 0 {
			t.Errorf("Chunks at %d: %d bytes, %v", c.Offset, len(c.Data), err)
		}
	}
}

// If there is no room for further growth, a file that has grown is mapped without it.
func TestBytes_GrowthRefused(t *testing.T) {
	if !mapsBeyondEnd {
		t.Skip("a mapping is as long as the file")
	}
	refuse(t, &refusing{verb: "Map", longest: 300_000, err: errNoMemory})
	f, _ := openRandom(t)
	for _, size := range []int64{1000, 200_000} {
		if err := f.Truncate(size); err != nil {
			t.Fatal(err)
		}
		if n := len(f.Bytes()); int64(n) != size {
			t.Errorf("%d of %d bytes are mapped", n, size)
		}
	}
}

// Close reports that changed pages cannot be written back, if it is to flush them.
func TestClose_FlushRefused(t *testing.T) {
	Refuse(t, "Flush", syscall.EIO)
	f, _ := openRandom(t)
	if err := StartFlushes(f, FlushPolicy{Bytes: 1 << 20}); err != nil {
		t.Fatal(err)
	}
	copy(f.Bytes(), "stored")
	if err := f.Close(); !errors.Is(err, syscall.EIO) {
		t.Errorf("Close: %v", err)
	}
}

// A private File that cannot be mapped cannot be opened.
func TestOpenPrivate_MappingRefused(t *testing.T) {
	Refuse(t, "MapPrivate", syscall.EPERM)
	path := filepath.Join(TempDir(t), "file")
	if err := os.WriteFile(path, randomBytes(1000), 0o600); err != nil {
		t.Fatal(err)
	}
	err := OpenPrivate(new(File), path, os.O_RDWR, 0, 0)
	wantPathError(t, err, "open", path, syscall.EPERM)
}

// If changed pages cannot be written back, Sync reports that each time, and what was written stays.
func TestSync_FlushRefused(t *testing.T) {
	Refuse(t, "Flush", syscall.EIO)
	f, path := openRandom(t)
	copy(f.Bytes(), "stored")
	for range 2 {
		wantPathError(t, f.Sync(), "sync", path, syscall.EIO)
	}
	if b, err := os.ReadFile(path); err != nil || string(b[:6]) != "stored" {
		t.Errorf("the file begins with %q: %v", b[:6], err)
	}
}

// If the system cannot make a range durable, SyncRange does that for the file. Another error is
// SyncRange's.
func TestSyncRange_Refused(t *testing.T) {
	for _, refusal := range []error{errors.ErrUnsupported, syscall.EIO} {
		t.Run(refusal.Error(), func(t *testing.T) {
			Refuse(t, "Sync", refusal)
			f, path := openRandom(t)
			if err := f.Truncate(2 * pages.BlockSize); err != nil {
				t.Fatal(err)
			}
			HoldPages(t)
			copy(f.Bytes(), "stored")
			prefaultAll(f)
			err := f.SyncRange(10, 5)
			whole := !isPrefaulted(f, pages.BlockSize, 1)
			if refusal == syscall.EIO {
				wantPathError(t, err, "sync", path, refusal)
			} else if err != nil || !whole {
				t.Errorf("%v; the file was synced: %v", err, whole)
			}
			if b, err := os.ReadFile(path); err != nil || string(b[:6]) != "stored" {
				t.Errorf("the file begins with %q: %v", b[:6], err)
			}
		})
	}
}

// Advice that the system has not is an error, but populating pages is done without it. Pages that
// cannot be populated, although they are in the file, cannot be read.
func TestAdvise_Refused(t *testing.T) {
	for _, c := range []struct {
		advice       int
		refusal, err error
	}{
		{sys.Random, errors.ErrUnsupported, errors.ErrUnsupported},
		{sys.Random, syscall.EPERM, syscall.EPERM},
		{sys.PopulateRead, errors.ErrUnsupported, nil},
		{sys.PopulateWrite, errors.ErrUnsupported, nil},
		{sys.PopulateRead, syscall.EPERM, syscall.EPERM},
		{sys.PopulateRead, sys.ErrFault, syscall.EIO},
	} {
		t.Run(fmt.Sprint(c.advice, c.refusal), func(t *testing.T) {
			Refuse(t, "Advise", c.refusal)
			f, path := openRandom(t)
			f.storage.Store(uint32(sys.StorageLocal))
			HoldPages(t)
			err := f.Advise(0, 1000, c.advice)
			if c.err != nil {
				wantPathError(t, err, "advise", path, c.err)
			} else if err != nil || !f.pages.Ready(0, 1000) {
				t.Errorf("%v; the pages are known: %v", err, f.pages.Ready(0, 1000))
			}
		})
	}
}

// If prefaulting fails, writes stay system calls.
func TestWriteAt_PrefaultingRefused(t *testing.T) {
	if noUnifiedCache {
		t.Skip("a mapped page is written through the mapping alone")
	}
	Refuse(t, "Prefault", syscall.EIO)
	f, path := openRandom(t)
	if f.Bytes() == nil || !f.m.Load().writes {
		t.Skip("no write is mapped here")
	}
	if mapsWrites(f, func() { writeOften(t, f, 5000) }) {
		t.Error("a write is mapped")
	}
	if b, err := os.ReadFile(path); err != nil || string(b[10:15]) != "often" {
		t.Errorf("the file has %q: %v", b[10:15], err)
	}
}

// If some of the pages cannot be locked, LockMemory locks none.
func TestLockMemory_Refused(t *testing.T) {
	r := &refusing{verb: "Lock", err: syscall.EPERM}
	refuse(t, r)
	f, path := openRandom(t)
	wantPathError(t, f.LockMemory(0, 1000), "lock", path, syscall.EPERM)
	if r.undone != 1 {
		t.Errorf("%d calls unlock what was locked", r.undone)
	}
}

// UnlockMemory tries all mappings, whichever fails.
func TestUnlockMemory_Refused(t *testing.T) {
	r := &refusing{verb: "Unlock", err: syscall.EINVAL}
	refuse(t, r)
	f, path := openRandom(t)
	mappings := 0
	for _, size := range []int64{1000, 200_000} {
		if err := f.Truncate(size); err != nil || int64(len(f.Bytes())) != size {
			t.Fatal(err)
		}
	}
	for m := f.m.Load(); m != nil; m = m.prev {
		mappings++
	}
	wantPathError(t, f.UnlockMemory(0, 1000), "unlock", path, syscall.EINVAL)
	if r.refused != mappings {
		t.Errorf("%d of %d mappings were tried", r.refused, mappings)
	}
}

// Resident of a private File, whose pages are not the file's, has the system's error.
func TestResident_Refused(t *testing.T) {
	Refuse(t, "Resident", syscall.EPERM)
	_, path := openRandom(t)
	f := new(File)
	if err := OpenPrivate(f, path, os.O_RDWR, 0, 0); err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	_, err := f.Resident(0, 1000)
	wantPathError(t, err, "resident", path, syscall.EPERM)
}

// On an overlay, only mincore(2) tells what is in memory. If it is refused, it is not called again.
func TestReadAt_ResidencyRefused(t *testing.T) {
	r := &refusing{verb: "Resident", err: syscall.EPERM}
	refuse(t, r)
	f, path := openRandom(t)
	f.storage.Store(uint32(sys.StorageOverlay))
	if f.Bytes() == nil || f.m.Load().usable == 0 {
		t.Skip("not mapped here")
	}
	b := make([]byte, 1000)
	for range 2 {
		if f.cached(0, 1000) {
			t.Error("the pages count as in memory")
		}
		if n, err := f.ReadAt(b, 0); n != len(b) || err != nil {
			t.Errorf("ReadAt: %d, %v", n, err)
		}
	}
	if want, err := os.ReadFile(path); err != nil || !bytes.Equal(b, want) {
		t.Error("ReadAt has other bytes")
	}
	if r.refused != 1 {
		t.Errorf("%d calls were refused", r.refused)
	}
}

// Some systems refuse to truncate a mapped file, so that Truncate takes the mappings away for a
// moment. If it cannot restore them, Truncate and all calls have the results of os.File, and memory
// that is held faults, which Guard reports.
func TestTruncate_RestoringRefused(t *testing.T) {
	if noUnifiedCache {
		t.Skip("without its memory, a mapped file cannot be read here")
	}
	for _, verb := range []string{"Reserve", "MapReserved"} {
		t.Run(verb, func(t *testing.T) {
			Refuse(t, verb, syscall.EPERM)
			f, path := openRandom(t)
			held := f.Bytes()
			if err := f.Truncate(500); err != nil {
				t.Fatal(err)
			}
			if err := f.Guard(func() error { held[0]++; return nil }); err == nil {
				t.Error("the memory is still there")
			}
			b := make([]byte, 1000)
			n, err := f.ReadAt(b, 0)
			if want, _ := os.ReadFile(path); n != 500 || err != io.EOF || !bytes.Equal(b[:n], want) {
				t.Errorf("ReadAt: %d, %v", n, err)
			}
			if n, err := f.WriteAt([]byte("written"), 0); n != 7 || err != nil {
				t.Errorf("WriteAt: %d, %v", n, err)
			}
			if again := f.Bytes(); len(again) != 500 || string(again[:7]) != "written" {
				t.Errorf("Bytes has %d bytes", len(again))
			}
		})
	}
}

// Without advice for it, a page is tried by a store.
func TestView_PopulatingRefused(t *testing.T) {
	if race.Detector {
		t.Skip("it is tried by a load")
	}
	Refuse(t, "Advise", errors.ErrUnsupported)
	f, path := openRandom(t)
	g, err := OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if f.Bytes() == nil || g.Bytes() == nil {
		t.Fatal("not mapped")
	}
	if !storable(f.m.Load().data) || storable(g.m.Load().data) {
		t.Errorf("mapped for writing, a page is storable: %v; for reading: %v", storable(f.m.Load().data), storable(g.m.Load().data))
	}
}
