package mmapfile

import (
	"iter"
	"os"
	"runtime"
	"sync"
	"testing"

	"go.dw1.io/mmapfile/internal/pages"
	"go.dw1.io/mmapfile/internal/sys"
)

// These helpers show the tests the inside of a File.

// MapLimit is how many bytes of a file calls alone map. BytesAsked is how many bytes of all files
// are mapped because a program asked for memory.
const (
	MapLimit   = mapLimit
	BytesAsked = bytesAsked
)

// MapsOn reports whether calls may use a mapping of f if it is on storage of that kind.
func MapsOn(f *File, kind sys.Storage, write bool) bool {
	f.storage.Store(uint32(kind))
	return f.mapsOn(kind, write)
}

// CloseInner closes the inner file of f without its knowledge.
func CloseInner(f *File) { f.inner.Close() }

// OwnCursor reports whether f keeps its cursor, and not the kernel.
func OwnCursor(f *File) bool { return f.cur.InFile() }

// ReclaimLooks returns how often a call that lacks address space looks for it, if the last
// collection has found all ranges in use.
func ReclaimLooks() (n int) {
	reserved.Add(1)
	kept.Store(reserved.Load())
	reclaim(true, func() bool { n++; return false })
	capTo(&kept, reserved.Add(-1))
	return n
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
func prefaultAll(f *file) {
	if m := f.m.Load(); !f.private && m != nil && m.callLen > 0 && !noUnifiedCache {
		f.pages.NotePrefaulted(0, min(int64(len(m.data)), 1<<30))
	}
}

// HoldPages keeps what is known of pages until the end of the test, whatever faults other
// tests have.
func HoldPages(t testing.TB) { t.Cleanup(pages.Hold()) }

// PrefaultAll prefaults all pages of f, if f is mapped.
func PrefaultAll(f *File) { prefaultAll(f.file) }

// ChunksCopying is Chunks with another bound for windows that are copies.
func ChunksCopying(f *File, size int, copyMax int64) iter.Seq2[Chunk, error] {
	return f.chunks(size, copyMax)
}

// StartFlushes gives f the policy p, as opening it with Options does.
func StartFlushes(f *File, p FlushPolicy) error { return f.startFlushes(p) }

// Pending returns the number of bytes that the FlushPolicy of f has not flushed.
func Pending(f *File) int64 { return f.flusher.pending.Load() }

// OnFlush calls fn at each flush by the policy of f. An error of fn is that of the flush.
func OnFlush(f *File, fn func() error) { onFlush.Store(f.file, fn) }

var onFlush sync.Map // of func() error by *file

// LearnLate lets a call that asked for f's length before fn learn size after it.
func LearnLate(f *File, size int64, fn func()) {
	was := f.length.Before()
	fn()
	f.length.Answered(was, size)
}

// RaiseLate lets a write up to end, which began before fn, end after it.
func RaiseLate(f *File, end int64, fn func()) {
	was := f.length.Before()
	fn()
	f.length.Reached(was, end)
}

// WriteLate makes a WriteAt of f during which fn is called: after the call has begun, and
// before the system writes.
func WriteLate(f *File, b []byte, off int64, fn func()) (n int, err error) {
	writes.Store(f.file, fn)
	n, err = f.WriteAt(b, off)
	if _, missed := writes.LoadAndDelete(f.file); missed {
		panic("the write was no system call")
	}
	return n, err
}

var writes sync.Map // of func() by *file

func init() {
	pages.Unbound()
	onWrite = func(f *file) {
		if fn, ok := writes.LoadAndDelete(f); ok {
			fn.(func())()
		}
	}
	flushData = func(f *file) error {
		if fn, ok := onFlush.Load(f); ok {
			if err := fn.(func() error)(); err != nil {
				return err
			}
		}
		return f.syncData()
	}
}

// WroteMapped reports whether the current period of f has had a mapped write.
func WroteMapped(f *File) bool { return f.needCold().mtime.Mapped() }

// PeriodTime returns the modification time that began the current period, in nanoseconds.
func PeriodTime(f *File) int64 { return f.needCold().mtime.Time() }

// PeriodOver reports whether the last period of mapped writes of f, and its timer, have ended.
func PeriodOver(f *File) bool {
	return f.needCold().mtime.Over()
}
