// Package scan searches a file on all cores.
//
//	n, err := scan.Count(ctx, f, []byte("\n"))
//
// [Index], [IndexByte], [LastIndex] and [Count] return what the functions of the same names in
// package [bytes] return for the whole content.
//
//	you want                                      use
//	the first or last match of a text             Index, IndexByte, LastIndex
//	how often a text occurs, or all its places    Count, All
//	the first byte that differs from a given one  IndexNot
//	a match of a regular expression               Regexp
//	a match of a function                         Find
//	the lines, in order                           Lines
//	all content, in pieces, concurrently          ForEach
//
// A [Scanner] sets the number of goroutines and the size of the pieces, and reports progress.
// Each function of the package calls the method of the same name on the zero Scanner.
//
// The API follows the version of the module: before v1 a minor version may change it, and the
// changelog says how.
//
// # Concurrency
//
// All functions may be called concurrently, with each other and with every method of the
// [mmapfile.File]. No goroutine outlives the call. A search covers the length that the file
// has at the start of the call, and may or may not see concurrent writes.
//
// # Errors
//
// If the File is nil, a function returns [os.ErrInvalid]. When the context is done, each
// goroutine finishes its piece, and the function returns the error of the context. [ForEach]
// returns an error of its function unchanged. Every other error is a *[fs.PathError] with Op
// "scan" or the Op of the call that failed. As [errors.Is] reports, it is
//
//   - [os.ErrClosed] if the File is closed, also during the search
//   - [io.ErrUnexpectedEOF] if the file is truncated during the search
//   - [errors.ErrUnsupported] if the file is not a regular file
//   - [fs.ErrInvalid] if the arguments of Find or Regexp are wrong
//   - or the error of a failed read
package scan

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"runtime"

	"go.dw1.io/mmapfile"
)

// Scanner holds the settings of a search. The zero value is ready to use. A Scanner may be
// used by several goroutines at once if its Progress function may.
type Scanner struct {
	// Workers is the number of goroutines. 0 or less means GOMAXPROCS.
	Workers int

	// Chunk is the number of bytes that a goroutine searches at a time. 0 or less
	// means a size that suits the file. If the file is read and not mapped, each
	// goroutine has a buffer for a piece and the bytes around it that a match needs.
	Chunk int

	// Progress, if not nil, is called about ten times a second with the number of bytes
	// searched so far. The last call has done == total, unless the search fails. Calls do
	// not overlap, and may come from any goroutine.
	Progress func(done, total int64)

	access access
}

// access is how a search reaches the bytes of a file. Tests choose it.
type access int

const (
	// accessAuto is accessView or, if that is slower, accessRead: for a file of at
	// most 64 KiB, for one that is mostly not in memory, and without mapsForFree.
	accessAuto access = iota
	// accessView searches the pages in place, in [mmapfile.File.View]. It is
	// accessRead on a platform without mappings.
	accessView
	// accessRead copies pieces into buffers that fit the processor's cache.
	accessRead
)

const (
	mappedChunk = 1 << 20
	readChunk   = 256 << 10 // fits the second-level cache
	minChunk    = 64 << 10
)

// source is a file during a search.
type source struct {
	f     *mmapfile.File
	size  int64 // at the start of the search
	reads bool  // accessRead, not accessView
	chunk int64 // the size of a piece; at least 1, at most size
}

// open checks that f can be searched, and chooses the access and the size of pieces.
func (s Scanner) open(f *mmapfile.File) (*source, error) {
	if f == nil {
		return nil, os.ErrInvalid
	}
	fi, err := f.Stat()
	if err != nil {
		// Stat of a closed file has another error on Windows, as in os.
		if _, rerr := f.ReadAt(make([]byte, 1), 0); errors.Is(rerr, os.ErrClosed) {
			err = rerr
		}
		return nil, err
	}
	if !fi.Mode().IsRegular() {
		return nil, pathError(f, errors.ErrUnsupported)
	}
	src := &source{f: f, size: fi.Size()}
	if src.size == 0 {
		// Files in /proc have content and a size of 0.
		if n, _ := f.ReadAt(make([]byte, 1), 0); n > 0 {
			return nil, pathError(f, errors.ErrUnsupported)
		}
	}
	cold := false
	if src.reads = s.access == accessRead || viewCopies; s.access == accessAuto {
		cold = src.size > minChunk && !inMemory(f, src.size)
		src.reads = !mapsForFree || src.size <= minChunk || cold
	}
	if src.chunk = int64(s.Chunk); s.Chunk <= 0 {
		src.chunk = mappedChunk
		if src.reads && !cold { // a disk limits cold reads, and is faster with long ones
			src.chunk = readChunk
		}
		src.chunk = min(src.chunk, max(minChunk, src.size/4/int64(s.workers())))
	}
	src.chunk = min(src.chunk, max(1, src.size)) // sums of sizes do not overflow
	return src, nil
}

func (s Scanner) workers() int {
	if s.Workers > 0 {
		return s.Workers
	}
	return runtime.GOMAXPROCS(0)
}

func pathError(f *mmapfile.File, err error) error {
	return &fs.PathError{Op: "scan", Path: f.Name(), Err: err}
}

// inMemory reports whether at least half of the file is in memory, by samples.
func inMemory(f *mmapfile.File, size int64) bool {
	const samples, length = 16, 64 << 10
	found := int64(0)
	for i := range int64(samples) {
		n, err := f.Resident(size/samples*i, min(length, size/samples))
		if err != nil {
			return true // the platform does not say
		}
		found += n
	}
	return found >= samples/2*min(length, size/samples)
}

// windows divides the file into pieces. The window of a piece includes up to
// before bytes before the piece, and up to after bytes after it.
func (src *source) windows(before, after int64) (pieces int64, window func(i int64) (off, n int64)) {
	return (src.size + src.chunk - 1) / src.chunk, func(i int64) (off, n int64) {
		start := i * src.chunk
		off = max(start-before, 0)
		return off, start - off + src.length(start, after)
	}
}

// length returns the length of the piece at off with up to after more bytes.
func (src *source) length(off, after int64) int64 {
	n := src.size - off
	if n-src.chunk > after {
		n = src.chunk + after
	}
	return n
}

// reader gets the pieces for one goroutine.
type reader struct {
	*source
	buf []byte
}

// at calls fn with n bytes at off. It returns an error of fn unchanged.
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
			return pathError(r.f, io.ErrUnexpectedEOF)
		}
		// The window cannot be mapped, for example without address space.
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
		return nil, pathError(r.f, errors.ErrUnsupported)
	}
	if int64(cap(r.buf)) < n {
		r.buf = make([]byte, n)
	}
	p := r.buf[:n]
	if _, err := r.f.ReadAt(p, off); err == io.EOF {
		return nil, pathError(r.f, io.ErrUnexpectedEOF)
	} else if err != nil {
		return nil, err
	}
	return p, nil
}

// trivial returns at, the result of a search that needs no content.
func (s Scanner) trivial(ctx context.Context, src *source, at int64) (int64, error) {
	if err := ctx.Err(); err != nil {
		return -1, err
	}
	newProgress(s.Progress).end(src.size)
	return at, nil
}
