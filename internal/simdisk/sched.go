//go:build linux

// Package simdisk is a disk in memory that fails, for tests of what keeps logs. All that happens in a
// World follows from its seed: which goroutine runs, which page is written back, which call fails, and
// what a crash leaves.
package simdisk

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"time"
)

// World is a machine: its disk, its clock, and the processes that run on it. One goroutine runs at a
// time. It hands the token on at calls of the disk, and where it waits.
type World struct {
	Disk
	Rand *rand.Rand

	now    time.Time
	steps  int
	limit  int // steps after which the world is taken to loop for ever
	failed string
	parked []*task
	cur    *task
	loose  *Process // of the goroutine that made the world
	procs  []*Process

	// Switch is how many calls of the disk come, on average, before another goroutine runs.
	Switch int

	// Trace is called for each call of the disk, unless it is nil.
	Trace func(op, name string)

	// OnStep is called before each call of the disk, with the number of calls so far.
	OnStep func(step int)
}

// Process is what a kill ends.
type Process struct {
	w     *World
	dead  bool
	tasks int
	files map[*handle]bool
}

type task struct {
	p     *Process
	wake  chan struct{}
	ready func() bool // nil if it is ready
	until time.Time
}

// New returns a world without files. The goroutine that calls it runs until it waits.
func New(seed uint64) *World {
	w := &World{Rand: rand.New(rand.NewPCG(seed, 42)), now: time.Unix(1_700_000_000, 0), limit: 200_000, Switch: 4}
	w.Disk.init(w)
	w.loose = w.Start()
	w.cur = &task{p: w.loose, wake: make(chan struct{}, 1)}
	return w
}

// Now returns the time of the world.
func (w *World) Now() time.Time { return w.now }

// Skip sets the clock, forward or back. What waits for a time waits as long as it would have.
func (w *World) Skip(d time.Duration) {
	w.now = w.now.Add(d)
	for _, t := range w.parked {
		if !t.until.IsZero() {
			t.until = t.until.Add(d)
		}
	}
}

// Steps returns the number of calls of the disk.
func (w *World) Steps() int { return w.steps }

// Failed returns why the world cannot go on: a panic, or goroutines that wait for ever. It is empty if it can.
func (w *World) Failed() string { return w.failed }

func (w *World) fail(format string, args ...any) {
	if w.failed == "" {
		w.failed = fmt.Sprintf(format, args...)
	}
}

// Start returns a new process.
func (w *World) Start() *Process {
	p := &Process{w: w, files: map[*handle]bool{}}
	w.procs = append(w.procs, p)
	return p
}

// Go runs fn in a new goroutine of the process that runs.
func (w *World) Go(fn func()) { w.cur.p.Go(fn) }

// Go runs fn in a new goroutine.
func (p *Process) Go(fn func()) {
	if p.dead {
		return
	}
	w := p.w
	t := &task{p: p, wake: make(chan struct{}, 1)}
	p.tasks++
	w.parked = append(w.parked, t)
	go func() {
		<-t.wake
		defer func() {
			if r := recover(); r != nil {
				w.fail("panic: %v\n%s", r, debug.Stack())
			}
			p.tasks--
			w.next() // it hands the token on for good
		}()
		if !p.dead {
			fn()
		}
	}()
}

// Left returns how many goroutines of the process have not ended, and how many of its files are open.
func (p *Process) Left() (tasks, files int) { return p.tasks, len(p.files) }

// Dead reports whether the process was killed.
func (p *Process) Dead() bool { return p.dead }

// Kill ends the process: its files are closed, and its goroutines run no further. The caller must not
// be one of them.
func (p *Process) Kill() {
	p.dead = true
	for h := range p.files {
		h.close()
	}
	p.files = map[*handle]bool{}
	p.w.Wait(func() bool { return p.tasks == 0 }, time.Time{})
}

// Stop has the process run no further. Kill ends it.
func (p *Process) Stop() { p.dead = true }

// End ends all processes.
func (w *World) End() {
	for _, p := range w.procs {
		if p != w.loose {
			p.Kill()
		}
	}
}

// Do runs fn in the process, and reports whether it returned before the process was killed.
func (p *Process) Do(fn func()) (ended bool) {
	p.Go(func() {
		fn()
		ended = true
	})
	p.w.Wait(func() bool { return ended || p.dead || p.w.failed != "" }, time.Time{})
	return ended
}

// Wait implements logdisk.Scheduler.
func (w *World) Wait(ready func() bool, until time.Time) {
	t := w.cur
	w.endIfDead(t)
	if ready() {
		return
	}
	t.ready, t.until = ready, until
	w.park(t)
}

// park hands the token on, and returns when it comes back.
func (w *World) park(t *task) {
	w.parked = append(w.parked, t)
	if w.pick() == t {
		w.cur = t
	} else {
		<-t.wake
	}
	w.endIfDead(t)
}

func (w *World) endIfDead(t *task) {
	if t.p.dead {
		runtime.Goexit()
	}
}

// next gives the token to another goroutine.
func (w *World) next() { w.pick() }

// pick chooses the goroutine that runs next, wakes it unless it calls, and returns it.
func (w *World) pick() *task {
	caller := w.cur
	for {
		n := len(w.parked)
		if n == 0 {
			return nil // the test has ended
		}
		start := w.Rand.IntN(n)
		for k := range n {
			i := (start + k) % n
			t := w.parked[i]
			if t.p.dead || t.ready == nil || w.late(t) || t.ready() || w.failed != "" && t.p == w.loose {
				w.parked = append(w.parked[:i], w.parked[i+1:]...)
				t.ready, t.until = nil, time.Time{}
				w.cur = t
				if t != caller {
					t.wake <- struct{}{}
				}
				return t
			}
		}
		at := time.Time{}
		for _, t := range w.parked {
			if !t.until.IsZero() && (at.IsZero() || t.until.Before(at)) {
				at = t.until
			}
		}
		if at.IsZero() {
			w.fail("all goroutines wait for ever")
			continue
		}
		w.now = at
		if w.steps += 1; w.steps > w.limit {
			w.fail("more than %d steps", w.limit)
		}
	}
}

func (w *World) late(t *task) bool { return !t.until.IsZero() && !w.now.Before(t.until) }

// step is a call of the disk: another goroutine may run before. It returns false in a process that was killed.
func (w *World) step() bool {
	t := w.cur
	if t.p.dead {
		return false
	}
	if t.p == w.loose {
		return true // the test looks
	}
	w.steps++
	w.now = w.now.Add(time.Microsecond)
	if w.steps > w.limit {
		w.fail("more than %d steps", w.limit)
		t.p.dead = true
		runtime.Goexit()
	}
	if w.OnStep != nil {
		w.OnStep(w.steps)
	}
	w.Disk.step()
	if w.Rand.IntN(w.Switch) == 0 || t.p.dead {
		t.ready = nil
		w.park(t)
	}
	return true
}

func (w *World) trace(op, name string) {
	if w.Trace != nil {
		w.Trace(op, name)
	}
}
