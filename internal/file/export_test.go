package file

import (
	"io/fs"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"go.dw1.io/mmapfile/internal/account"
	"go.dw1.io/mmapfile/internal/evictions"
	"go.dw1.io/mmapfile/internal/flush"
	"go.dw1.io/mmapfile/internal/pages"
	"go.dw1.io/mmapfile/internal/sys"
)

// These helpers show the tests the inside of a File. v is one, or its face in package mmapfile.

func of(v any) *File {
	f, _ := fileOf(v)
	return f
}

// Options are those of mmapfile that tests inside the package need, which cannot import it.
type Options struct {
	Immutable, WholeWrites bool
	Flush                  FlushPolicy
}

func (o Options) OpenFile(name string, flag int, perm fs.FileMode, size ...int64) (*File, error) {
	var inner *os.File
	var err error
	if len(size) > 0 {
		inner, err = sys.OpenSized(name, flag, perm, size[0])
	} else {
		inner, err = os.OpenFile(name, flag, perm)
	}
	if err != nil {
		return nil, err
	}
	f := opened(inner, flag)
	Promise(f, o.Immutable, o.WholeWrites)
	if o.Flush != (FlushPolicy{}) {
		err = StartFlushes(f, o.Flush)
	}
	return f, err
}

// OpenFile is that of mmapfile.
func OpenFile(name string, flag int, perm fs.FileMode, size ...int64) (*File, error) {
	return Options{}.OpenFile(name, flag, perm, size...)
}

// opened returns the File of inner. A negative flag means that other code has opened it.
func opened(inner *os.File, flag int) *File {
	f := new(File)
	Init(f, inner, flag)
	return f
}

// MapsOn reports whether calls may use a mapping of f if it is on storage of that kind.
func MapsOn(v any, kind sys.Storage, write bool) bool {
	f := of(v)
	f.storage.Store(uint32(kind))
	return f.mapsOn(kind, write)
}

// CloseInner closes the inner file of f without its knowledge.
func CloseInner(v any) {
	f := of(v)
	f.inner.Close()
}

// OwnCursor reports whether f keeps its cursor, and not the kernel.
func OwnCursor(v any) bool {
	f := of(v)
	return f.cur.InFile()
}

// TempDir is t.TempDir, except on Windows. There a file stays mapped until its File was
// collected, and that it cannot be removed must not fail the test.
func TempDir(t testing.TB) string {
	t.Helper()
	if runtime.GOOS != "windows" {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp("", "mmapfile-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// prefaultAll prefaults all pages of f, if f is mapped.
func prefaultAll(f *File) {
	if m := f.m.Load(); !f.private() && m != nil && m.usable > 0 && !noUnifiedCache {
		f.pages.Note(pages.Prefaulted, 0, min(int64(len(m.data)), 1<<30))
	}
}

// isPrefaulted reports whether writes of n bytes at off go to the mapping.
func isPrefaulted(f *File, off int64, n int) bool {
	prefaulted, _, _ := f.pages.PrefaultedBefore(off, off, n)
	return prefaulted
}

// HoldPages keeps what is known of pages until the end of the test, whatever faults other
// tests have.
func HoldPages(t testing.TB) { t.Cleanup(evictions.Hold()) }

// PrefaultAll prefaults all pages of f, if f is mapped.
func PrefaultAll(v any) {
	f := of(v)
	prefaultAll(f)
}

// ChunksCopying is Chunks with another bound for windows that are copies.
func ChunksCopying(v any, size int, copyMax int64) func(yield func(Chunk, error) bool) {
	return of(v).chunks(size, copyMax)
}

// Flush gives f the policy p, as opening it with Options does.
func Flush(v any, p struct {
	Bytes    int64
	Interval time.Duration
}) error {
	return StartFlushes(of(v), p)
}

// Pending returns the number of bytes that the FlushPolicy of f has not flushed.
func Pending(v any) int64 {
	f := of(v)
	return f.variant.Pending()
}

// FlushCalling gives f, a regular file, the policy p, as opening it with Options does. Each flush
// begins with fn, whose error is that of the flush.
func FlushCalling(v any, p struct {
	Bytes    int64
	Interval time.Duration
}, fn func() error) {
	f := of(v)
	f.variant = flush.New(f, p.Bytes, p.Interval, func(f *File) error {
		if err := fn(); err != nil {
			return err
		}
		return f.syncData()
	})
}

// LearnLate lets a call that asked for f's length before fn learn size after it.
func LearnLate(v any, size int64, fn func()) {
	f := of(v)
	was := f.length.Before()
	fn()
	f.length.Answered(was, size)
}

// RaiseLate lets a write up to end, which began before fn, end after it.
func RaiseLate(v any, end int64, fn func()) {
	f := of(v)
	was := f.length.Before()
	fn()
	f.length.Reached(was, end)
}

// WriteLate makes a WriteAt of f during which fn is called: after the call has begun, and
// before the system writes.
func WriteLate(v any, b []byte, off int64, fn func()) (n int, err error) {
	f := of(v)
	writes.Store(f, fn)
	n, err = f.WriteAt(b, off)
	if _, missed := writes.LoadAndDelete(f); missed {
		panic("the write was no system call")
	}
	return n, err
}

var writes sync.Map // of func() by *File

func init() {
	account.Unbound()
	onWrite = func(f *File) {
		if fn, ok := writes.LoadAndDelete(f); ok {
			fn.(func())()
		}
	}
}

// WroteMapped reports whether the current period of f has had a mapped write.
func WroteMapped(v any) bool {
	f := of(v)
	return f.needCold().mtime.State().Mapped
}

// PeriodTime returns the modification time that began the current period, in nanoseconds.
func PeriodTime(v any) int64 {
	f := of(v)
	return f.needCold().mtime.State().Began
}

// PeriodOver reports whether the last period of mapped writes of f, and its timer, have ended.
func PeriodOver(v any) bool {
	f := of(v)
	s := f.needCold().mtime.State()
	return !s.Active && !s.Timed
}
