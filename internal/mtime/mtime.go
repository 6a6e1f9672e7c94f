// Package mtime moves the modification time of a file that is written through a mapping.
//
// The kernel does not see a mapped write. So a period of mapped writes begins with a write
// through the kernel. That write moves the modification time, notifies watchers, and clears
// the set-user-ID bit. It also fails if the file may not be written to at all. A period ends
// soon, and at calls that show the file. Then the file is marked as modified, which does what
// the kernel does at a write.
//
// Invariant: a mapped write belongs to a period, and one that outlives its period begins another. So no more than
// 100 ms after it, or at [Period.End], the file is marked as modified.
package mtime

import (
	"io/fs"
	"sync"
	"sync/atomic"
	"time"
)

// File is what a period needs of the file.
type File interface {
	Stat() (fs.FileInfo, error)

	// MarkModified does to the file what a write does. before is the modification time that
	// the last write through the kernel has left, in nanoseconds: another time was set by a
	// program, and stands. off is the offset of a written byte.
	MarkModified(before, off int64)
}

// Period is the present period of mapped writes of one file, if there is one.
type Period struct {
	state atomic.Uint32
	mu    sync.Mutex    // held while the file is marked as modified
	began atomic.Int64  // the modification time at the last write through the kernel; 0 before any
	off   atomic.Int64  // where that write was
	timer atomic.Int64  // when a timer ends the period, since started; 0 if there is no timer
	asked atomic.Uint32 // calls of Asked since the last mapped write
}

// The states of a period.
const (
	none   = iota // the next write goes through the kernel
	begun         // a period has begun
	mapped        // and there were mapped writes, which the kernel does not know of
)

// lasts is half of the documented 100 ms, because timers are late.
const lasts = 50 * time.Millisecond

var started = time.Now()

// Active reports whether there is a period. Without one, the next write goes through the
// kernel, and Begin comes after it.
func (p *Period) Active() bool { return p.state.Load() != none }

// Asked counts the writes that could begin a period, this one included, since the last mapped write.
func (p *Period) Asked() uint32 { return p.asked.Add(1) }

// Begin begins a period after a write through the kernel at off. It reports false if it
// cannot stat the file.
func (p *Period) Begin(file File, off int64) bool {
	if !p.note(file, off) {
		return false
	}
	if p.state.CompareAndSwap(none, begun) {
		p.startTimer(file)
	}
	return true
}

// note notes the modification time that the last write has left, and its offset, and reports
// whether it could. It waits for the end of the period before, which sets another time.
func (p *Period) note(file File, off int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	fi, err := file.Stat()
	if err == nil {
		p.began.Store(fi.ModTime().UnixNano())
		p.off.Store(off)
	}
	return err == nil
}

// Wrote is called after a mapped write. If the period ended during the write, the time moved
// too early, and another period begins.
func (p *Period) Wrote(file File) {
	if p.state.Load() != mapped { // seldom: it is a cache line to take from other cores
		p.wrote(file)
	}
}

func (p *Period) wrote(file File) {
	p.asked.Store(0)
	if p.state.Swap(mapped) == none {
		p.note(file, p.off.Load())
		p.startTimer(file)
	}
}

// startTimer starts a timer that ends the period. One is enough: a period that it ends early
// begins again.
func (p *Period) startTimer(file File) {
	now := int64(time.Since(started))
	if due := p.timer.Load(); (due == 0 || overdue(due, now)) && p.timer.CompareAndSwap(due, now+int64(lasts)) {
		time.AfterFunc(lasts, func() {
			p.mu.Lock()
			p.timer.Store(0) // first: a period that begins now has a timer of its own
			p.end(file)
			p.mu.Unlock()
		})
	}
}

// overdue reports whether the timer that was due does not fire. Then it belonged to a test
// with a clock of its own (testing/synctest), or no processor is free to run it.
func overdue(due, now int64) bool {
	return now > due+int64(lasts)/2 || due > now+int64(lasts)
}

// EndOverdue ends a period whose timer is late, as those of a busy program are. It is called
// after every so many mapped writes.
func (p *Period) EndOverdue(file File, now time.Time) {
	if due := p.timer.Load(); due != 0 && overdue(due, int64(now.Sub(started))) && p.timer.CompareAndSwap(due, 0) {
		p.End(file)
	}
}

// End ends the period. If there were mapped writes, it marks the file as modified now. When
// it returns, no other goroutine is about to do so: a time that is set next stands.
func (p *Period) End(file File) {
	if p.began.Load() == 0 {
		return // there never was one
	}
	p.mu.Lock()
	p.end(file)
	p.mu.Unlock()
}

// end is End with mu held.
func (p *Period) end(file File) {
	if p.state.Load() != none && p.state.Swap(none) == mapped {
		file.MarkModified(p.began.Load(), p.off.Load())
	}
}

// State is the state of a Period at a moment. It is for tests, as are the methods below.
type State struct {
	Active bool  // there is a period
	Mapped bool  // it has had a mapped write
	Timed  bool  // a timer ends it
	Began  int64 // the modification time with which the last one began, in nanoseconds
}

// State waits for the end of a period that is in progress.
func (p *Period) State() State {
	p.mu.Lock()
	defer p.mu.Unlock()
	state := p.state.Load()
	return State{state != none, state == mapped, p.timer.Load() != 0, p.began.Load()}
}

// Start begins a period without a write and without a timer.
func (p *Period) Start() {
	p.mu.Lock() // which the last timer may have
	p.state.Store(begun)
	p.mu.Unlock()
}

// Hold keeps the end of a period waiting, as one in progress does, until release is called.
func (p *Period) Hold() (release func()) {
	p.mu.Lock()
	return p.mu.Unlock
}
