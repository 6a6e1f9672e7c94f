package file

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"sync"
	"testing"

	"go.dw1.io/mmapfile/internal/account"
	"go.dw1.io/mmapfile/internal/pages"
	"go.dw1.io/mmapfile/internal/prices"
	"go.dw1.io/mmapfile/internal/race"
	"go.dw1.io/mmapfile/internal/sys"
)

// of returns the number of calls with that reason, and of all.
func (c SystemCalls) of(reason string) (n, all uint64) {
	v := reflect.ValueOf(c)
	for i := range v.NumField() {
		all += v.Field(i).Uint()
	}
	return v.FieldByName(reason).Uint(), all
}

// What pages cannot know: how a file is open, and who has its descriptor. The reasons that only pages knows are
// tested there.
func TestSystemCalls_Reasons(t *testing.T) {
	const size, n = 8 * pages.BlockSize, 4 * pages.LookEvery
	repeat := func(call func(f *File, b []byte, i int64) error) func(t *testing.T, f *File) {
		return func(t *testing.T, f *File) {
			t.Helper()
			b := make([]byte, 100)
			for i := range int64(n) {
				if err := call(f, b, i); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	reread := repeat(func(f *File, b []byte, _ int64) error { _, err := f.ReadAt(b, 0); return err })
	rewrite := repeat(func(f *File, b []byte, _ int64) error { _, err := f.WriteAt(b, 0); return err })
	write := repeat(func(f *File, b []byte, _ int64) error { _, err := f.Write(b); return err })
	readAtCursor := repeat(func(f *File, b []byte, _ int64) error {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return err
		}
		_, err := f.Read(b)
		return err
	})
	for _, c := range []struct {
		name   string
		reason string
		flag   int
		o      Options
		calls  func(t *testing.T, f *File)
	}{
		{"write-only", "Unmappable", os.O_WRONLY, Options{}, rewrite},
		{"writes with O_APPEND", "Unmappable", os.O_RDWR | os.O_APPEND, Options{}, write},
		{"reads at the cursor with O_APPEND", "Unmappable", os.O_RDWR | os.O_APPEND, Options{}, readAtCursor},
		{"writes with O_SYNC", "Unmappable", os.O_RDWR | os.O_SYNC, Options{}, rewrite},
		{"WholeWrites", "Unmappable", os.O_RDWR, Options{WholeWrites: true}, rewrite},
		{"writes after OS", "HandedOut", os.O_RDWR, Options{}, func(t *testing.T, f *File) { f.OS(); rewrite(t, f) }},
		{"reads at the cursor after OS", "HandedOut", os.O_RDONLY, Options{}, func(t *testing.T, f *File) { f.OS(); readAtCursor(t, f) }},
		{"reads past the end", "PastEnd", os.O_RDONLY, Options{}, repeat(func(f *File, b []byte, _ int64) error {
			if _, err := f.ReadAt(b, size-10); err != io.EOF {
				return fmt.Errorf("%v at the end", err)
			}
			return nil
		})},
		{"writes past the end", "PastEnd", os.O_RDWR, Options{}, repeat(func(f *File, b []byte, i int64) error { _, err := f.WriteAt(b, size+100*i); return err })},
		{"writes into a hole", "Unseen", os.O_RDWR, Options{}, func(t *testing.T, f *File) {
			if err := f.Truncate(n * pages.PageSize); err != nil {
				t.Fatal(err)
			}
			repeat(func(f *File, b []byte, i int64) error { _, err := f.WriteAt(b, i*pages.PageSize); return err })(t, f)
		}},
		{"a network file system", "Storage", os.O_RDONLY, Options{}, func(t *testing.T, f *File) {
			MapsOn(f, sys.StorageRemote, false)
			f.never.Store(true)
			reread(t, f)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			name := filepath.Join(TempDir(t), "data")
			if err := os.WriteFile(name, make([]byte, size), 0o600); err != nil {
				t.Fatal(err)
			}
			f, err := c.o.OpenFile(name, c.flag, 0)
			if err != nil && c.flag&os.O_SYNC != 0 && runtime.GOOS == "js" {
				t.Skip(err)
			} else if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			c.calls(t, f)
			reason := c.reason
			switch storage := f.storageOf(); {
			case !canMap || noUnifiedCache:
				reason = "Unmappable"
			case reason != "Unmappable" && storage.Kind() == sys.StorageOnRequest:
				reason = "Storage"
			case reason != "Storage" && storage.Kind() != sys.StorageLocal:
				t.Skip("this file system is not mapped unasked")
			}
			calls, loadsEnd := f.SystemCalls(), c.reason == "PastEnd" && c.flag == os.O_RDONLY
			// The first ones are not looked at, and the pages of some are not seen before.
			if of, all := calls.of(reason); of == 0 || of+pages.LookEvery+1 < all || all > n || all < n && !loadsEnd {
				t.Errorf("%+v: want %d, most of them %s", calls, n, reason)
			}
			if f.Close(); f.SystemCalls() != calls {
				t.Errorf("%+v after Close, %+v before", f.SystemCalls(), calls)
			}
		})
	}
}

func TestSystemCalls_Pipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Skip(err)
	}
	defer w.Close()
	f := opened(r, -1)
	defer f.Close()
	const n = 4 * pages.LookEvery
	for range n {
		if _, err := w.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Read(make([]byte, 10)); err != nil {
			t.Fatal(err)
		}
	}
	calls := f.SystemCalls()
	if _, all := calls.of("First"); all != n || calls.Unmappable == 0 || calls.Seldom+calls.Unseen+calls.Unmapped > 0 {
		t.Errorf("%+v, want %d", calls, n)
	}
}

// The write that begins a period of mapped writes came too seldom. One that ends in the zeros of the last page
// proves nothing.
func TestSystemCalls_MappedWrites(t *testing.T) {
	t.Parallel()
	const size, n = 4*pages.BlockSize - 100, 4 * pages.LookEvery
	f := lazyFile(t, size)
	for range manyReads {
		readAt(t, f, 0, 100)
	}
	write := func(b []byte, off int64) {
		t.Helper()
		prefaultAll(f)
		if _, err := f.WriteAt(b, off); err != nil {
			t.Fatal(err)
		}
	}
	before := f.SystemCalls()
	for range n {
		f.endPeriod()
		write([]byte("begins a period"), 0)
	}
	begun := f.SystemCalls()
	if k := begun.Seldom - before.Seldom; k != n {
		t.Errorf("%d of %d writes were system calls for that reason: %+v, %+v before", k, n, begun, before)
	}
	for range n {
		write(make([]byte, 100), size-100)
	}
	calls := f.SystemCalls()
	if k := calls.Unproven - begun.Unproven; k < n/2 {
		t.Errorf("%d of %d writes were system calls for that reason: %+v, %+v before", k, n, calls, begun)
	}
}

func TestSystemCalls_Allocations(t *testing.T) {
	if race.Detector {
		t.Skip("the race detector allocates")
	}
	f := lazyFile(t, 4*pages.BlockSize)
	b := make([]byte, 100)
	for range manyReads {
		readAt(t, f, 0, 100)
	}
	allocs := testing.AllocsPerRun(10*pages.LookEvery, func() {
		if n, err := f.ReadAt(b, 4*pages.BlockSize-10); n != 10 || err != io.EOF {
			t.Fatal(n, err)
		}
		f.SystemCalls()
	})
	if allocs > 0 {
		t.Errorf("%v allocations", allocs)
	}
}

// Calls that move no bytes are no system calls of os.File either.
func TestSystemCalls_NoBytes(t *testing.T) {
	t.Parallel()
	f := lazyFileEvicted(t, 100)
	for range 100 {
		if n, err := f.ReadAt(nil, 0); n != 0 || err != nil {
			t.Fatalf("ReadAt of no bytes: %d, %v", n, err)
		}
	}
	if _, all := f.SystemCalls().of("First"); all != 0 {
		t.Errorf("%d calls are counted", all)
	}
}

// Calls at the same time may be missing, and are not counted twice.
func TestSystemCalls_AtTheSameTime(t *testing.T) {
	defer account.Set(account.Balance())
	account.Set(0)
	const readers, reads = 4, 150
	for range 100 {
		f := lazyFileEvicted(t, 100)
		var wg sync.WaitGroup
		for range readers {
			wg.Go(func() {
				for range reads {
					f.ReadAt(make([]byte, 10), 0)
				}
			})
		}
		wg.Wait()
		if _, all := f.SystemCalls().of("First"); all > readers*reads || all == 0 {
			t.Fatalf("%d calls are counted of %d", all, readers*reads)
		}
	}
}

// Neither what memory takes to unmap, nor what two mappings take, is the price of a mapping for calls.
func TestClose_MemoryIsNoPrice(t *testing.T) {
	defer prices.Reset()
	memory := func(f *File) {
		if f.Bytes() == nil {
			t.Fatal("no memory")
		}
	}
	forCalls := func(f *File) {
		if f.mapForCalls(); f.m.Load() == nil || !f.m.Load().trial {
			t.Fatal("not mapped")
		}
	}
	for _, tc := range []struct {
		name     string
		maps     func(f *File)
		measured bool
	}{
		{"for calls", forCalls, true},
		{"memory", memory, false},
		{"memory, and then for calls", func(f *File) {
			memory(f)
			if _, err := f.WriteAt([]byte{1}, 4<<20); err != nil {
				t.Fatal(err)
			}
			forCalls(f)
		}, false},
	} {
		f := lazyFile(t, 1<<20)
		f.pages.Note(pages.Seen, 0, 1) // a file without a record is not measured
		tc.maps(f)
		prices.Unmap.Set(0)
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if got := prices.Unmap.Measured() > 0; got != tc.measured {
			t.Errorf("%s: the end is measured: %t, want %t", tc.name, got, tc.measured)
		}
	}
}
