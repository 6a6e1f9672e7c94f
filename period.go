package mmapfile

import (
	"time"

	"go.dw1.io/mmapfile/internal/sys"
)

// The kernel does not see a mapped write. So a period of them begins with a write through the
// kernel, which moved the modification time, notified watchers, took the set-user-ID bit away,
// and was asked whether the file may be written to at all. It ends soon, and at calls that
// show the file: then what the kernel does at a write is made up for.

// The states of a period, in dirty.
const (
	clean   = iota // there is none: the next write goes through the kernel
	written        // it has begun
	stored         // and there were mapped writes, of which the kernel knows nothing
)

// periodLasts is half of the 100 ms that are promised: timers are late.
const periodLasts = 50 * time.Millisecond

// begin begins a period, after a write through the kernel. A limit of the process is the one
// thing that this write need not have met: past the limit writes are the kernel's to refuse.
func (f *file) begin() bool {
	fi, err := f.inner.Stat()
	if err != nil || sys.FileSizeLimit() < f.size.Load() {
		return false
	}
	f.before.Store(fi.ModTime().UnixNano())
	if f.dirty.CompareAndSwap(clean, written) {
		f.timePeriod()
	}
	return true
}

// timePeriod sees to it that a timer ends the period. One is enough: a period that it ends
// early begins again.
func (f *file) timePeriod() {
	now := int64(time.Since(started))
	if due := f.due.Load(); (due == 0 || overdue(due, now)) && f.due.CompareAndSwap(due, now+int64(periodLasts)) {
		time.AfterFunc(periodLasts, func() {
			f.ending.Lock()
			f.due.Store(0) // first: a period that begins now has a timer of its own
			f.endLocked()
			f.ending.Unlock()
		})
	}
}

// overdue reports whether the timer that was due does not come: it was that of a test with a
// clock of its own (testing/synctest), or no processor is free to run it.
func overdue(due, now int64) bool {
	return now > due+int64(periodLasts)/2 || due > now+int64(periodLasts)
}

// endOverdue is for every so many mapped writes: timers of a busy program are late.
func (f *file) endOverdue(now time.Time) {
	if due := f.due.Load(); due != 0 && overdue(due, int64(now.Sub(started))) && f.due.CompareAndSwap(due, 0) {
		f.endPeriod()
	}
}

// endPeriod ends the period. If there were mapped writes it marks the file as modified now. When
// it returns, no other goroutine is about to: a time that is set next stands.
func (f *file) endPeriod() {
	if f.before.Load() == 0 {
		return // there never was one
	}
	f.ending.Lock()
	f.endLocked()
	f.ending.Unlock()
}

func (f *file) endLocked() {
	if f.dirty.Load() != clean && f.dirty.Swap(clean) == stored {
		sys.MarkModified(f.inner, f.before.Load())
	}
}

// markStored comes after a mapped write: a period that ended before it moved the time too early.
func (f *file) markStored() {
	if f.dirty.Load() == stored { // most often: no line of the cache to take from others
		return
	}
	if f.dirty.Swap(stored) == clean {
		f.timePeriod() // the period ended during the write
	}
}
