package scan

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// run is one search on several goroutines, which take the pieces in order.
type run struct {
	*source
	Scanner
	ctx    context.Context
	pieces int64
	window func(i int64) (off, n int64)
	// search searches the window p at off of piece i. After it returns stop, no
	// piece with a higher number is started.
	search func(i, off int64, p []byte) (stop bool, err error)

	next    atomic.Int64 // the piece to start next
	stopped atomic.Bool
	done    atomic.Int64 // bytes

	mu       sync.Mutex // guards all below until the goroutines have ended
	failed   int64      // the lowest piece with an error, or pieces
	err      error      // the error of piece failed
	panicked any        // the value of a panic in search
	exited   bool       // search called runtime.Goexit
	progress *progress
}

// all searches all pieces, or stops early.
func (r *run) all() error {
	r.failed, r.progress = r.pieces, newProgress(r.Progress)
	workers := int(min(int64(r.workers()), r.pieces))
	var wg sync.WaitGroup
	for range workers - 1 {
		wg.Go(r.work)
	}
	defer wg.Wait() // even if runtime.Goexit in search ends this goroutine
	if workers > 0 {
		r.work()
	}
	wg.Wait()
	switch {
	case r.panicked != nil:
		panic(r.panicked) // on the caller's goroutine
	case r.exited:
		runtime.Goexit()
	case r.err != nil:
		return r.err
	}
	r.progress.end(r.size)
	return nil
}

// work searches pieces, and records a panic or Goexit of the caller's function.
func (r *run) work() {
	ended := false
	defer func() {
		if ended {
			return
		}
		v := recover()
		r.stopped.Store(true)
		r.mu.Lock()
		defer r.mu.Unlock()
		if v == nil {
			r.exited = true
		} else if r.panicked == nil {
			r.panicked = v
		}
	}()
	r.searchPieces()
	ended = true
}

// searchPieces searches pieces until none is left or the run stops.
func (r *run) searchPieces() {
	in := reader{source: r.source}
	var i, off int64
	search := func(p []byte) error {
		stop, err := r.search(i, off, p)
		if stop {
			r.stopped.Store(true)
		}
		return err
	}
	for !r.stopped.Load() {
		if i = r.next.Add(1) - 1; i >= r.pieces {
			return
		}
		var n int64
		err := r.ctx.Err()
		if err == nil {
			off, n = r.window(i)
			err = in.at(off, n, search)
		}
		if err != nil {
			r.fail(i, err)
			return
		}
		r.done.Add(min(n, r.chunk))
		if r.Progress != nil {
			r.report()
		}
	}
}

// fail stops the run. The error of the lowest piece is kept.
func (r *run) fail(i int64, err error) {
	r.stopped.Store(true)
	r.mu.Lock()
	defer r.mu.Unlock()
	if i < r.failed {
		r.failed, r.err = i, err
	}
}

// endProgress reports the end of a search that has a result although a higher piece failed
// with err. Without an error, all has reported it.
func (r *run) endProgress(err error) {
	if err != nil {
		r.progress.end(r.size)
	}
}

// report calls Progress, unless another goroutine does.
func (r *run) report() {
	if !r.mu.TryLock() {
		return
	}
	defer r.mu.Unlock()
	r.progress.report(r.done.Load(), r.size)
}

// progressInterval is the time between two calls of Progress.
const progressInterval = 100 * time.Millisecond

// progress limits the rate of calls of Scanner.Progress.
type progress struct {
	call func(done, total int64)
	last time.Time
}

func newProgress(call func(done, total int64)) *progress { return &progress{call, time.Now()} }

func (p *progress) report(done, total int64) {
	if p.call == nil {
		return
	}
	if now := time.Now(); now.Sub(p.last) >= progressInterval {
		p.last = now
		p.call(min(done, total), total)
	}
}

func (p *progress) end(total int64) {
	if p.call != nil {
		p.call(total, total)
	}
}
