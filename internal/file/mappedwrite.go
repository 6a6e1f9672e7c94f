package file

import (
	"errors"
	"os"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"
	"unsafe"

	"go.dw1.io/mmapfile/internal/guard"
	"go.dw1.io/mmapfile/internal/mtime"
	"go.dw1.io/mmapfile/internal/pages"
	"go.dw1.io/mmapfile/internal/race"
	"go.dw1.io/mmapfile/internal/sys"
	"go.dw1.io/mmapfile/internal/vm"
)

// A write goes to the mapping once its pages are prefaulted, because the first mapped write
// to a page is a fault. internal/pages counts until that pays. The kernel does not see a
// mapped write, so a period of them begins with a write through the kernel, and ends with
// what the kernel does at a write (internal/mtime). Nor does a mapped write fail where the file
// was truncated, so what comes after the bytes has to prove that they are in the file.

// tryWrite writes b at off through the mapping. If it writes nothing, and returns no error, the caller writes
// all of b through the inner file. prefaulted, nextKnown and due are what PrefaultedBefore has returned. Called with the range
// locked; l is the lock of its first block.
func (f *File) tryWrite(l *rangeLock, b []byte, off int64, prefaulted, nextKnown, due bool) (n int, err error) {
	m := f.m.Load()
	if m == nil || !prefaulted && !due || !f.mayWrite(m, off, len(b)) {
		return 0, nil
	}
	if !prefaulted {
		if !f.pages.Prefault((*host)(f), off, len(b)) {
			return 0, nil
		}
		nextKnown = f.pages.Known(pageAfter(int(off)+len(b)-1), 1)
	}
	if !f.needCold().mtime.Active() {
		return f.writeFirst(m, l, b, off)
	}
	if f.mappedWrite(m, l, b, int(off), nextKnown) {
		n = len(b)
	}
	return n, nil
}

// mayWrite reports whether a write of n bytes at off may go to m. Called with the range locked.
func (f *File) mayWrite(m *mapping, off int64, n int) bool {
	return m.writes && f.writes.MayMap() && f.covers(m, off, n)
}

// writeFirst is the write that begins a period of mapped writes. The kernel gets all of b,
// or its first page if b is long. The rest is a mapped write.
func (f *File) writeFirst(m *mapping, l *rangeLock, b []byte, off int64) (n int, err error) {
	if !pages.BeginsPeriod(f.needCold().mtime.Asked) {
		return 0, nil
	}
	if n = len(b); n > firstWhole {
		n = pages.PageSize
	}
	// An error here is that of os.File.WriteAt, which does not report what was written before it.
	if _, err := f.writeInner(b[:n], off); err != nil {
		return 0, err
	}
	// The kernel must refuse writes past the limit of the process.
	begun := sys.FileSizeLimit() >= f.length.Known() && f.needCold().mtime.Begin(f.modified(), off)
	if rest, at := b[n:], off+int64(n); len(rest) > 0 {
		if !begun || !f.mappedWrite(m, l, rest, int(at), f.pages.Known(pageAfter(int(at)+len(rest)-1), 1)) {
			if _, err = f.writeInner(rest, at); err != nil {
				return 0, err
			}
		}
	}
	return len(b), nil
}

// firstWhole is the number of bytes up to which the kernel writes all of a first write.
const firstWhole = 64 << 10

// mappedWrite copies b to the mapping, and reports whether b is in the file. It returns
// false if the file was truncated concurrently: else bytes past the new end would be lost, and
// reappear when the file grows. nextKnown says that the page after b is in memory. Called with the
// range locked.
func (f *File) mappedWrite(m *mapping, l *rangeLock, b []byte, off int, nextKnown bool) (ok bool) {
	if l.State.Count(len(b)) {
		ok = f.timedStore(m, b, off, l, nextKnown)
	} else {
		ok = f.store(m, b, off, nextKnown)
	}
	if ok {
		f.needCold().mtime.Wrote(f.modified())
	} else {
		f.pages.Unproven(int64(off), int64(len(b)))
	}
	return ok
}

// timedStore is store with a timer.
func (f *File) timedStore(m *mapping, b []byte, off int, l *rangeLock, nextKnown bool) bool {
	began := time.Now()
	ok := f.store(m, b, off, nextKnown)
	took := time.Since(began)
	f.needCold().mtime.EndOverdue(f.modified(), began)
	if ok { // else it is repeated by system call, and has saved nothing
		f.pages.Timed(&l.State, len(b), took)
	}
	return ok
}

// modified returns the inner file as internal/mtime needs it.
func (f *File) modified() mtime.File { return modified{f.inner} }

type modified struct{ *os.File }

func (f modified) MarkModified(before, off int64) { sys.MarkModified(f.File, before, off) }

// endPeriod marks the file as modified if mapped writes were not seen by the kernel yet.
func (f *File) endPeriod() {
	if c := f.cold.Load(); c != nil {
		c.mtime.End(f.modified())
	}
}

// store copies b into m at off, not into the file's last page. It reports false as load
// does. Then a part may be stored, which the caller's repeated write covers.
func (f *File) store(m *mapping, b []byte, off int, nextKnown bool) (ok bool) {
	page := pageAfter(off + len(b) - 1)
	if f.isLast(m, page) {
		return f.storeLast(m, b, off)
	}
	if !nextKnown || !f.tryLockMapping(m) {
		return false
	}
	if closeNeedsLock {
		defer f.unlockMappings()
	}
	// guard.End, inlined by hand as in load.
	old := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(old)
		if !ok && recover() != nil {
			guard.Faults.Add(1)
		}
	}()
	guard.Put(m.data, b, off)
	m.touch(page) // a truncation that came before the end of the copy has taken it
	runtime.KeepAlive(f)
	return true
}

// storeLast is store if b ends in the file's last page. No page after it shows a
// truncation, but a truncation zeroes the rest of the page. So the last word is exchanged
// for what it was. If its byte was not zero at that moment, the file reached it. Otherwise
// bytes after b that are not zero show it.
func (f *File) storeLast(m *mapping, b []byte, off int) (ok bool) {
	if race.Detector { // see internal/race
		return false
	}
	if !f.tryLockMapping(m) {
		return false
	}
	defer f.unlockMappings()
	defer guard.End(debug.SetPanicOnFault(true), &ok)
	last := off + len(b) - 1
	at := last &^ (wordSize - 1)
	p := (*uintptr)(unsafe.Pointer(&m.data[at]))
	first := max(off-at, 0) // where b begins in the word
	head := len(b) - (last - at + 1 - first)
	guard.Put(m.data, b[:head], off)
	for {
		old := atomic.LoadUintptr(p)
		next := old
		word := (*[wordSize]byte)(unsafe.Pointer(&next))
		proof := word[last-at] != 0
		copy(word[first:], b[head:])
		if atomic.CompareAndSwapUintptr(p, old, next) {
			ok = proof || m.lineAfter(last+1)
			break
		}
	}
	runtime.KeepAlive(f)
	return ok
}

// prefault prefaults the block of the bytes from off to end if it is in memory, or else only the pages of
// the bytes. It returns how long that took, and whether it could.
func (f *File) prefault(m *mapping, off, end int64) (took time.Duration, ok bool) {
	page := int64(pageSize)
	last := min((f.length.Known()+page-1)&^(page-1), int64(len(m.data)))
	from, to := off/pages.BlockSize*pages.BlockSize, min((end+pages.BlockSize-1)/pages.BlockSize*pages.BlockSize, last)
	if from >= to {
		return 0, false // it has been truncated
	}
	if !f.pages.Known(from, int(to-from)) {
		// A page that is still being read may be waited for: in a system call, other goroutines go on.
		if in, err := f.asks(from, to, true); !in || err != nil {
			from, to = off&^(page-1), min((end+page-1)&^(page-1), last)
		}
	}
	if from >= to {
		return 0, false
	}
	began := time.Now()
	err := vm.Memory.Prefault(f.inner, m.data[from:to], from)
	took = time.Since(began)
	switch {
	case err == nil:
		f.pages.Note(pages.Prefaulted, from, to-from)
	case errors.Is(err, errors.ErrUnsupported):
		// Each page faults at its first mapped write, which must not find a hole. This write is a
		// system call, which fills those of its pages. If it fails, writeAtDone takes this back.
		f.pages.Note(pages.Prefaulted, off, end-off)
		to = (end + page - 1) &^ (page - 1)
	default:
		return took, false
	}
	prefaults.Add(1)
	if to < f.length.Known() { // the page there tells a mapped write that the file was not truncated
		if !f.pages.Known(to, 1) {
			f.readPage(to)
		}
		if f.pages.Known(to, 1) {
			took += f.loadPage(to) // so that no write has its fault
		}
	}
	return took, err == nil
}
