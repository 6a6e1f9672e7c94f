package logdisk

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Scheduler has one goroutine run at a time, in a simulation.
type Scheduler interface {
	Go(fn func())

	// Wait returns once ready has returned true, or at a time unless that is zero.
	Wait(ready func() bool, until time.Time)

	Now() time.Time
}

var scheduler Scheduler // nil, but in a simulation

// Simulate has a scheduler run all goroutines of logs, until restore is called. It is for tests that
// run alone.
func Simulate(s Scheduler) (restore func()) {
	old := scheduler
	scheduler = s
	return func() { scheduler = old }
}

// Mutex is a sync.Mutex that may be held across calls of a disk, and waits.
type Mutex struct{ mu sync.Mutex }

func (m *Mutex) TryLock() bool { return m.mu.TryLock() }

func (m *Mutex) Unlock() {
	if scheduler != nil {
		m.mu.TryLock() // a goroutine that was killed may be in a part that has no lock
	}
	m.mu.Unlock()
}

func (m *Mutex) Lock() {
	if scheduler != nil {
		scheduler.Wait(m.mu.TryLock, time.Time{})
		return
	}
	m.mu.Lock()
}

// RWMutex is a sync.RWMutex that may be held across calls of a disk.
type RWMutex struct{ mu sync.RWMutex }

func (m *RWMutex) Unlock()  { m.mu.Unlock() }
func (m *RWMutex) RUnlock() { m.mu.RUnlock() }

func (m *RWMutex) Lock() {
	if scheduler != nil {
		scheduler.Wait(m.mu.TryLock, time.Time{})
		return
	}
	m.mu.Lock()
}

func (m *RWMutex) RLock() {
	if scheduler != nil {
		scheduler.Wait(m.mu.TryRLock, time.Time{})
		return
	}
	m.mu.RLock()
}

// Jobs counts work in the background.
type Jobs struct {
	wg sync.WaitGroup
	n  atomic.Int64
}

func (j *Jobs) Add() {
	j.n.Add(1)
	j.wg.Add(1)
}

func (j *Jobs) Done() {
	j.n.Add(-1)
	j.wg.Done()
}

// Wait returns once all work is done.
func (j *Jobs) Wait() {
	if scheduler != nil {
		scheduler.Wait(func() bool { return j.n.Load() == 0 }, time.Time{})
	}
	j.wg.Wait()
}

// Go calls fn in the background.
func (j *Jobs) Go(fn func()) {
	j.Add()
	Go(func() {
		defer j.Done()
		fn()
	})
}

// Go calls fn in a goroutine of its own.
func Go(fn func()) {
	if scheduler != nil {
		scheduler.Go(fn)
		return
	}
	go fn()
}

// Closed reports whether a channel that only closes is closed.
func Closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// Wait waits until a channel is closed, or returns the error of ctx if that is done before.
func Wait(ctx context.Context, c <-chan struct{}) error {
	if scheduler != nil {
		scheduler.Wait(func() bool { return Closed(c) || ctx.Err() != nil }, time.Time{})
	}
	if Closed(c) { // also if ctx is done
		return nil
	}
	select {
	case <-c:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Do calls fn, and returns its error, or that of ctx if that is done before. Then fn goes on in the background.
func Do(ctx context.Context, fn func() error) error {
	if ctx.Done() == nil {
		return fn()
	}
	done, err := make(chan struct{}), error(nil)
	Go(func() {
		defer close(done)
		err = fn()
	})
	if cerr := Wait(ctx, done); cerr != nil {
		return cerr
	}
	return err
}

// Pause waits for a while, or until done is closed. It uses the timer, which has fired or was not started.
func Pause(done <-chan struct{}, t *time.Timer, d time.Duration) {
	if scheduler != nil {
		scheduler.Wait(func() bool { return Closed(done) }, scheduler.Now().Add(d))
		return
	}
	t.Reset(d)
	select {
	case <-done:
	case <-t.C:
	}
}

// Sleep is time.Sleep.
func Sleep(d time.Duration) {
	if scheduler != nil {
		scheduler.Wait(func() bool { return false }, scheduler.Now().Add(d))
		return
	}
	time.Sleep(d)
}

// Now is time.Now.
func Now() time.Time {
	if scheduler != nil {
		return scheduler.Now()
	}
	return time.Now()
}
