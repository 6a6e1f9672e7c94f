package mmapfile

import (
	"time"

	"go.dw1.io/mmapfile/internal/sys"
)

// The kernel does not see a mapped write. So a period of mapped writes begins with a write
// through the kernel. That write moves the modification time, notifies watchers, and clears
// the set-user-ID bit. It also fails if the file may not be written to at all. A period
// ends soon, and at calls that show the file. Then endPeriod does what the kernel does at a
// write.

var started = time.Now()

// The states of a period of mapped writes.
const (
	noPeriod     = iota // no period: the next write goes through the kernel
	periodBegun         // a period has begun
	periodMapped        // and there were mapped writes, which the kernel does not know of
)

// periodLasts is half of the documented 100 ms, because timers are late.
const periodLasts = 50 * time.Millisecond

// beginPeriod begins a period after a write through the kernel. It reports false if it cannot
// stat the file, or if the file is longer than the limit of the process: the kernel must
// refuse writes past that.
func (f *file) beginPeriod() bool {
	if !f.noteTime() || sys.FileSizeLimit() < f.length.Known() {
		return false
	}
	if f.period.CompareAndSwap(noPeriod, periodBegun) {
		f.timePeriod()
	}
	return true
}

// noteTime notes the modification time that the last write has left, and reports whether it
// could. It waits for the end of the period before, which sets another time.
func (f *file) noteTime() bool {
	f.periodMu.Lock()
	defer f.periodMu.Unlock()
	fi, err := f.inner.Stat()
	if err == nil {
		f.periodTime.Store(fi.ModTime().UnixNano())
	}
	return err == nil
}

// timePeriod starts a timer that ends the period. One is enough: a period that it ends
// early begins again.
func (f *file) timePeriod() {
	now := int64(time.Since(started))
	if due := f.periodEnd.Load(); (due == 0 || overdue(due, now)) && f.periodEnd.CompareAndSwap(due, now+int64(periodLasts)) {
		time.AfterFunc(periodLasts, func() {
			f.periodMu.Lock()
			f.periodEnd.Store(0) // first: a period that begins now has a timer of its own
			f.endLocked()
			f.periodMu.Unlock()
		})
	}
}

// overdue reports whether the timer that was due does not fire. Then it belonged to a test
// with a clock of its own (testing/synctest), or no processor is free to run it.
func overdue(due, now int64) bool {
	return now > due+int64(periodLasts)/2 || due > now+int64(periodLasts)
}

// endOverdue is called after every so many mapped writes, because timers of a busy program
// are late.
func (f *file) endOverdue(now time.Time) {
	if due := f.periodEnd.Load(); due != 0 && overdue(due, int64(now.Sub(started))) && f.periodEnd.CompareAndSwap(due, 0) {
		f.endPeriod()
	}
}

// endPeriod ends the period. If there were mapped writes, it marks the file as modified
// now. When it returns, no other goroutine is about to do so: a time that is set next
// stands.
func (f *file) endPeriod() {
	if f.periodTime.Load() == 0 {
		return // there never was one
	}
	f.periodMu.Lock()
	f.endLocked()
	f.periodMu.Unlock()
}

func (f *file) endLocked() {
	if f.period.Load() != noPeriod && f.period.Swap(noPeriod) == periodMapped {
		sys.MarkModified(f.inner, f.periodTime.Load())
	}
}

// noteMappedWrite is called after a mapped write. If the period ended during the write, the
// time moved too early, and another period begins.
func (f *file) noteMappedWrite() {
	if f.period.Load() == periodMapped { // most often: no cache line to take from other cores
		return
	}
	if f.period.Swap(periodMapped) == noPeriod {
		f.noteTime()
		f.timePeriod()
	}
}
