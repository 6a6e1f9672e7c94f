package file

import (
	"io"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"go.dw1.io/mmapfile/internal/evictions"
	"go.dw1.io/mmapfile/internal/guard"
	"go.dw1.io/mmapfile/internal/reason"
	"go.dw1.io/mmapfile/internal/sys"
)

// Reads and writes by system call are recorded in f.pages, which decides when mapping the
// file pays. The functions here do what it decides, as its host.

// tracks reports whether pages of f are recorded: calls may use its mapping, or the one
// that it will have.
func (f *File) tracks() bool {
	if !canMap || noUnifiedCache {
		return false
	}
	if !f.never.Load() {
		return true
	}
	m := f.m.Load()
	return m != nil && m.usable > 0
}

// noteRead records a read by system call. short says that it reached the end of file, and tried that it was copied from
// the mapping, in vain. A negative off is not known, because the kernel's offset is shared.
func (f *File) noteRead(off, n int64, short, tried bool) {
	switch {
	case n <= 0:
	case off >= 0 && f.tracks():
		f.pages.Read((*host)(f), off, n, short, tried)
	default:
		f.pages.Refused(f.whyRefused)
	}
}

// noteWrite records a write by system call, as noteRead does. known is the length that was known before it.
func (f *File) noteWrite(off, n, known int64) {
	if off >= 0 && f.tracks() {
		f.pages.Write((*host)(f), off, n, known, f.whyWrite(off, n))
	} else {
		f.pages.Refused(f.whyRefused)
	}
}

// whyRefused returns why no mapping can serve calls of f. If calls are recorded, it is the reason of
// those at the kernel's offset.
func (f *File) whyRefused() reason.Reason {
	if !canMap || noUnifiedCache || f.flag >= 0 && f.flag&(os.O_WRONLY|os.O_APPEND) != 0 {
		return reason.Unmappable
	}
	if f.storage.Load() == 0 && !f.never.Load() { // no other call may have asked
		if _, regular := f.stat(); !regular || !f.onMappable() {
			f.never.Store(true)
		}
	}
	switch {
	case f.tracks():
		return reason.HandedOut
	case f.storage.Load() != 0 && !f.onMappable():
		return reason.Storage
	}
	return reason.Unmappable
}

// whyWrite returns why no mapping can serve a write of n bytes at off, or None.
func (f *File) whyWrite(off, n int64) reason.Reason {
	m := f.m.Load()
	switch {
	case f.cur.Shared():
		return reason.HandedOut
	case f.wholeWrites, f.flag&sys.FlagsSync != 0, m != nil && !m.writes:
		return reason.Unmappable
	case m != nil && f.needCold().mtime.Active():
		if prefaulted, _, _ := f.pages.PrefaultedBefore(off, off, int(n)); prefaulted {
			return reason.Unproven
		}
	}
	return reason.None
}

// process is this one, for pages.
type process struct{}

var started = time.Now()

func init() { evictions.OfProcess = process{} }

func (process) MajorFaults() (n int64, ok bool) { return sys.MajorFaults() }
func (process) Now() time.Duration              { return time.Since(started) }
func (process) After(d time.Duration, f func()) { time.AfterFunc(d, f) }

// host is what the record of pages has its file do.
type host File

func (h *host) MapsTo(end int64) bool {
	f := (*File)(h)
	return f.mapsTo(end) && end <= f.length.Known()
}

func (h *host) Map() (took time.Duration, ok bool)           { return (*File)(h).mapForCalls() }
func (h *host) Load(off int64) time.Duration                 { return (*File)(h).loadPage(off) }
func (h *host) InMemory(off, end int64) (in bool, err error) { return (*File)(h).inMemory(off, end) }
func (h *host) ReadPage(off int64)                           { (*File)(h).readPage(off) }
func (h *host) InOrder(on bool)                              { (*File)(h).readInOrder(on) }
func (h *host) TimeCall(off int64) time.Duration             { return (*File)(h).timeCall(off) }

func (h *host) Size(off int64) int64 {
	f := (*File)(h)
	if !f.onMappable() {
		f.never.Store(true) // on a network file system, what os.File does is all that is done
		return 0
	}
	size := f.length.Known()
	if off >= size || off+1 == size && !f.length.Current() { // calls may have met bytes that another program has added
		var regular bool
		if size, regular = f.stat(); !regular {
			f.never.Store(true)
		}
	}
	return size
}

func (h *host) Prefault(off, end int64) (took time.Duration, ok bool) {
	f := (*File)(h)
	m := f.m.Load()
	if m == nil {
		return 0, false
	}
	return f.prefault(m, off, end)
}

// storageOf asks the system once.
func (f *File) storageOf() sys.Storage {
	s := sys.Storage(f.storage.Load())
	if s == 0 {
		writable := f.flag < 0 || f.flag&(os.O_WRONLY|os.O_RDWR) != 0
		if s = sys.StorageOf(f.inner, writable); s&sys.StorageSparse != 0 {
			f.pages.Confirm() // before another call can map the file
		}
		f.storage.Store(uint32(s))
	}
	return s
}

// onMappable reports whether calls may use a mapping of some file on the storage of f.
func (f *File) onMappable() bool {
	storage := f.storageOf()
	return f.mapsOn(storage, false) || f.mapsOn(storage, true)
}

// sparse reports whether a hole of the file is not to be read from the mapping (tmpfs).
func (f *File) sparse() bool { return f.storage.Load()&uint32(sys.StorageSparse) != 0 }

// timeCall measures a small read of a page that is in memory, by system call. Of three, the fastest has
// not waited for a processor. It reads only from what can be mapped: a read of /dev/kmsg takes a
// message away.
func (f *File) timeCall(off int64) time.Duration {
	if _, regular := f.stat(); !regular || !f.onMappable() {
		f.never.Store(true)
		return 0
	}
	least := time.Duration(math.MaxInt64)
	var b [1]byte
	for range 3 {
		began := time.Now()
		if _, err := f.inner.ReadAt(b[:], off); err != nil {
			if err != io.EOF { // it is open for writing only, or has O_DIRECT
				f.never.Store(true)
			}
			return 0
		}
		least = min(least, time.Since(began))
	}
	return least
}

// loadPage loads the page at off, and returns how long that took, or 0 if it is not mapped.
func (f *File) loadPage(off int64) (took time.Duration) {
	m := f.m.Load()
	if m == nil || off >= int64(m.usable) || !f.tryLockMapping(m) {
		return 0
	}
	defer f.unlockMappings()
	var ok bool
	defer guard.End(debug.SetPanicOnFault(true), &ok)
	began := time.Now()
	m.touch(off &^ int64(pageSize-1))
	took = max(time.Since(began), 1)
	ok = true
	runtime.KeepAlive(f)
	return took
}
