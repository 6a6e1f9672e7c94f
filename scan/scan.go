// Package scan searches a file as fast as memory allows: on all cores, in the
// file's own pages, with the vectorised functions of the standard library.
//
//	n, err := scan.Count(ctx, f, []byte("\n"))
//
// A [Scanner] says with how many goroutines, in what pieces, and who is told
// how far it is; the functions of the package are those of its zero value. They
// give what the functions of the same names in [bytes] give for the whole
// content, matches across the borders of pieces included.
//
// All of them may be called from any number of goroutines, on the same
// [mmapfile.File] too, and beside Close and truncation: a File that is closed
// meanwhile gives an error for which errors.Is(err, os.ErrClosed) holds, one
// that is cut short [io.ErrUnexpectedEOF]; no goroutine is left behind. The
// content is that of the length which the file has at the beginning; what
// others write meanwhile is seen or not. Errors are *[fs.PathError] with Op
// "scan" or that of the call that failed; a File that is not a regular file is
// [errors.ErrUnsupported], and a nil one [os.ErrInvalid]. When ctx is done, its
// error comes once each goroutine is through with its piece.
package scan

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"go.dw1.io/mmapfile"
)

// Scanner says how a file is searched. The zero value is what most want. A
// Scanner may be used by several goroutines at once, unless its Progress may
// not.
type Scanner struct {
	// Workers is the number of goroutines; 0 or less means GOMAXPROCS.
	Workers int

	// Chunk is how many bytes one goroutine takes at a time; 0 or less means as
	// many as suit the file. Where the file is read and not mapped, each goroutine
	// has a buffer for so many bytes, and for as many more as what is looked for is
	// long; and Lines, where nothing can be mapped, one for each line.
	Chunk int

	// Progress, if it is not nil, is told how many of how many bytes are done,
	// some ten times a second and at the end of a search without an error, when
	// done is total. Its calls come one after the other, from any goroutine.
	Progress func(done, total int64)

	access access
}

// access is how the bytes of a file are reached. Tests choose it.
type access int

const (
	// accessAuto is accessView, but accessRead for a file of at most 64 KiB, for
	// one that is mostly not in memory, and on a platform where mapping a file has
	// a price (see mapsForFree).
	accessAuto access = iota
	// accessView searches the pages in place, in [mmapfile.File.View]. Without
	// mappings it is accessRead.
	accessView
	// accessRead copies pieces into buffers that fit the processor's cache.
	accessRead
)

const (
	mappedChunk = 1 << 20
	readChunk   = 256 << 10 // the buffer is to stay in the second-level cache
	leastChunk  = 64 << 10
	rate        = 100 * time.Millisecond // of Progress
)

// source is a file that is being searched.
type source struct {
	f     *mmapfile.File
	size  int64
	reads bool
	chunk int64
}

func (s Scanner) open(f *mmapfile.File) (*source, error) {
	if f == nil {
		return nil, os.ErrInvalid
	}
	fi, err := f.Stat()
	if err != nil {
		// Windows does not say there that it is closed, nor does os.File.
		if _, rerr := f.ReadAt(make([]byte, 1), 0); errors.Is(rerr, os.ErrClosed) {
			err = rerr
		}
		return nil, err
	}
	if !fi.Mode().IsRegular() {
		return nil, fail(f, errors.ErrUnsupported)
	}
	src := &source{f: f, size: fi.Size()}
	if src.size == 0 {
		// Files of /proc and the like say so, and are not empty.
		if n, _ := f.ReadAt(make([]byte, 1), 0); n > 0 {
			return nil, fail(f, errors.ErrUnsupported)
		}
	}
	cold := false
	if src.reads = s.access == accessRead || viewCopies; s.access == accessAuto {
		cold = src.size > leastChunk && !inMemory(f, src.size)
		src.reads = !mapsForFree || src.size <= leastChunk || cold
	}
	if src.chunk = int64(s.Chunk); s.Chunk <= 0 {
		src.chunk = mappedChunk
		if src.reads && !cold { // a disk likes long reads, and is what limits them
			src.chunk = readChunk
		}
		src.chunk = min(src.chunk, max(leastChunk, src.size/4/int64(s.workers())))
	}
	src.chunk = min(src.chunk, max(1, src.size)) // so that sums of sizes stay in range
	return src, nil
}

func (s Scanner) workers() int {
	if s.Workers > 0 {
		return s.Workers
	}
	return runtime.GOMAXPROCS(0)
}

func fail(f *mmapfile.File, err error) error {
	return &fs.PathError{Op: "scan", Path: f.Name(), Err: err}
}

// inMemory reports whether most of the file is, going by samples of it.
func inMemory(f *mmapfile.File, size int64) bool {
	const samples, length = 16, 64 << 10
	found := int64(0)
	for i := range int64(samples) {
		n, err := f.Resident(size/samples*i, min(length, size/samples))
		if err != nil {
			return true // not told
		}
		found += n
	}
	return found >= samples/2*min(length, size/samples)
}

// reader gives one goroutine its pieces.
type reader struct {
	*source
	buf []byte
}

// at calls fn with the n bytes at off, all of them in the file. An error of fn
// is returned as it is.
func (r *reader) at(off, n int64, fn func(p []byte) error) error {
	if !r.reads {
		called, fnErr := false, error(nil)
		err := r.f.View(off, n, func(p []byte) error {
			called = true
			fnErr = fn(p)
			return fnErr
		})
		switch {
		case called && fnErr != nil:
			return fnErr
		case err == nil || called || errors.Is(err, os.ErrClosed):
			return err
		case err == io.EOF:
			return fail(r.f, io.ErrUnexpectedEOF)
		}
		// It cannot be mapped, for want of address space perhaps.
	}
	p, err := r.read(off, n)
	if err != nil {
		return err
	}
	return fn(p)
}

// read reads n bytes at off into the buffer.
func (r *reader) read(off, n int64) ([]byte, error) {
	if n > math.MaxInt/2 {
		return nil, fail(r.f, errors.ErrUnsupported)
	}
	if int64(cap(r.buf)) < n {
		r.buf = make([]byte, n)
	}
	p := r.buf[:n]
	if _, err := r.f.ReadAt(p, off); err == io.EOF {
		return nil, fail(r.f, io.ErrUnexpectedEOF)
	} else if err != nil {
		return nil, err
	}
	return p, nil
}

// A run is one search on several goroutines. The pieces are numbered, and taken
// in that order.
type run struct {
	*source
	Scanner
	ctx    context.Context
	pieces int64
	window func(i int64) (off, n int64)
	// search looks at one piece. Once it says stop, no piece of a higher number is taken.
	search func(i, off int64, p []byte) (stop bool, err error)

	next    atomic.Int64
	stopped atomic.Bool
	done    atomic.Int64

	mu       sync.Mutex
	failed   int64 // under mu: the lowest piece with an error, and that
	err      error
	panicked any
	exited   bool
	teller   *teller // under mu
}

// forward is the windows of a search from the start, each with extra bytes of
// the next, so that no match is cut in two.
func (src *source) forward(extra int64) (pieces int64, window func(i int64) (off, n int64)) {
	return (src.size + src.chunk - 1) / src.chunk, func(i int64) (off, n int64) {
		off = i * src.chunk
		return off, src.window(off, extra)
	}
}

// window is how long the piece at off is with extra bytes behind it.
func (src *source) window(off, extra int64) int64 {
	n := src.size - off
	if n-src.chunk > extra {
		n = src.chunk + extra
	}
	return n
}

// all runs the search to its end.
func (r *run) all() error {
	r.failed, r.teller = r.pieces, newTeller(r.Progress)
	workers := int(min(int64(r.workers()), r.pieces))
	var others sync.WaitGroup
	for range workers - 1 {
		others.Go(r.work)
	}
	defer others.Wait() // also where the caller's function ends this goroutine
	if workers > 0 {
		r.work()
	}
	others.Wait()
	switch {
	case r.panicked != nil:
		panic(r.panicked) // where it can be recovered
	case r.exited:
		runtime.Goexit()
	case r.err != nil:
		return r.err
	}
	r.teller.end(r.size)
	return nil
}

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
			r.exited = true // by runtime.Goexit in the caller's function
		} else if r.panicked == nil {
			r.panicked = v
		}
	}()
	r.pieceByPiece()
	ended = true
}

func (r *run) pieceByPiece() {
	in := reader{source: r.source}
	var i, off int64
	look := func(p []byte) error {
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
			err = in.at(off, n, look)
		}
		if err != nil {
			r.fail(i, err)
			return
		}
		r.done.Add(min(n, r.chunk))
		if r.Progress != nil {
			r.tell()
		}
	}
}

// fail ends the search with the error of the lowest piece.
func (r *run) fail(i int64, err error) {
	r.stopped.Store(true)
	r.mu.Lock()
	defer r.mu.Unlock()
	if i < r.failed {
		r.failed, r.err = i, err
	}
}

func (r *run) tell() {
	if !r.mu.TryLock() {
		return
	}
	defer r.mu.Unlock()
	r.teller.tell(r.done.Load(), r.size)
}

// teller calls Progress at a rate that people can follow.
type teller struct {
	progress func(done, total int64)
	last     time.Time
}

func newTeller(progress func(done, total int64)) *teller { return &teller{progress, time.Now()} }

func (t *teller) tell(done, total int64) {
	if t.progress == nil {
		return
	}
	if now := time.Now(); now.Sub(t.last) >= rate {
		t.last = now
		t.progress(min(done, total), total)
	}
}

func (t *teller) end(total int64) {
	if t.progress != nil {
		t.progress(total, total)
	}
}
