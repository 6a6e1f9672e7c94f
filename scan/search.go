package scan

import (
	"bytes"
	"context"
	"math"
	"sync/atomic"

	"go.dw1.io/mmapfile"
)

// Index returns the offset of the first instance of sep in f, or -1, as [bytes.Index] does.
func Index(ctx context.Context, f *mmapfile.File, sep []byte) (int64, error) {
	return Scanner{}.Index(ctx, f, sep)
}

// Index returns the offset of the first instance of sep in f, or -1. See the function [Index].
func (s Scanner) Index(ctx context.Context, f *mmapfile.File, sep []byte) (int64, error) {
	return s.first(ctx, f, len(sep), func(p []byte) int { return bytes.Index(p, sep) })
}

// IndexByte returns the offset of the first c in f, or -1, as [bytes.IndexByte] does.
func IndexByte(ctx context.Context, f *mmapfile.File, c byte) (int64, error) {
	return Scanner{}.IndexByte(ctx, f, c)
}

// IndexByte returns the offset of the first c in f, or -1. See the function [IndexByte].
func (s Scanner) IndexByte(ctx context.Context, f *mmapfile.File, c byte) (int64, error) {
	return s.first(ctx, f, 1, func(p []byte) int { return bytes.IndexByte(p, c) })
}

// first returns the offset of the first match of length n. find returns the
// index of the first match in a window.
func (s Scanner) first(ctx context.Context, f *mmapfile.File, n int, find func(p []byte) int) (int64, error) {
	src, err := s.open(f)
	if err != nil {
		return -1, err
	}
	if n == 0 {
		return s.trivial(ctx, src, 0)
	}
	r := run{source: src, Scanner: s, ctx: ctx}
	r.pieces, r.window = src.windows(0, int64(n)-1)
	var first atomic.Int64
	first.Store(math.MaxInt64)
	r.search = func(_, off int64, p []byte) (stop bool, err error) {
		i := find(p)
		if i >= 0 {
			keep(&first, off+int64(i), func(now, best int64) bool { return now < best })
		}
		return i >= 0, nil
	}
	err = r.all()
	// All lower pieces were searched, and without an error.
	if at := first.Load(); at < math.MaxInt64 && at/src.chunk < r.failed {
		r.endProgress(err)
		return at, nil
	}
	return -1, err
}

// keep stores now in best if it is better.
func keep(best *atomic.Int64, now int64, better func(now, best int64) bool) {
	for b := best.Load(); better(now, b) && !best.CompareAndSwap(b, now); {
		b = best.Load()
	}
}

// LastIndex returns the offset of the last instance of sep in f, or -1, as [bytes.LastIndex]
// does.
func LastIndex(ctx context.Context, f *mmapfile.File, sep []byte) (int64, error) {
	return Scanner{}.LastIndex(ctx, f, sep)
}

// LastIndex returns the offset of the last instance of sep in f, or -1. See the function
// [LastIndex].
func (s Scanner) LastIndex(ctx context.Context, f *mmapfile.File, sep []byte) (int64, error) {
	src, err := s.open(f)
	if err != nil {
		return -1, err
	}
	if len(sep) == 0 {
		return s.trivial(ctx, src, src.size)
	}
	r := run{source: src, Scanner: s, ctx: ctx}
	pieces, window := src.windows(0, int64(len(sep))-1)
	r.pieces, r.window = pieces, func(i int64) (off, n int64) { return window(pieces - 1 - i) }
	var last atomic.Int64
	last.Store(-1)
	r.search = func(_, off int64, p []byte) (stop bool, err error) {
		i := bytes.LastIndex(p, sep)
		if i >= 0 {
			keep(&last, off+int64(i), func(now, best int64) bool { return now > best })
		}
		return i >= 0, nil
	}
	err = r.all()
	if at := last.Load(); at >= 0 && pieces-1-at/src.chunk < r.failed {
		r.endProgress(err)
		return at, nil
	}
	return -1, err
}

// Count returns the number of non-overlapping instances of sep in f, as [bytes.Count] does. If
// sep is empty, that is the number of runes plus 1.
//
// Count searches on one goroutine if sep is empty, or if it can overlap itself because a
// proper prefix is also a suffix. "aa" can, and so can " ERROR ", which begins and ends with a
// space. "ERROR " cannot.
func Count(ctx context.Context, f *mmapfile.File, sep []byte) (int64, error) {
	return Scanner{}.Count(ctx, f, sep)
}

// Count returns the number of non-overlapping instances of sep in f. See the function [Count].
func (s Scanner) Count(ctx context.Context, f *mmapfile.File, sep []byte) (int64, error) {
	src, err := s.open(f)
	if err == nil {
		err = ctx.Err()
	}
	switch {
	case err != nil:
		return 0, err
	case len(sep) == 0 || int64(len(sep)) <= src.size && overlapsItself(sep):
		// Which matches count depends on where the match before them ends.
		n := int64(0)
		for _, err := range s.All(ctx, f, sep) {
			if err != nil {
				return 0, err
			}
			n++
		}
		return n, nil
	}
	r := run{source: src, Scanner: s, ctx: ctx}
	r.pieces, r.window = src.windows(0, int64(len(sep))-1)
	var count atomic.Int64
	r.search = func(_, _ int64, p []byte) (stop bool, err error) {
		count.Add(int64(bytes.Count(p, sep)))
		return false, nil
	}
	if err := r.all(); err != nil {
		return 0, err
	}
	return count.Load(), nil
}

// overlapsItself reports whether a proper prefix of sep is a suffix, as for "aa"
// and "abcab". It is the failure function of Knuth, Morris and Pratt.
func overlapsItself(sep []byte) bool {
	border := make([]int, len(sep))
	k := 0
	for i := 1; i < len(sep); i++ {
		for k > 0 && sep[i] != sep[k] {
			k = border[k-1]
		}
		if sep[i] == sep[k] {
			k++
		}
		border[i] = k
	}
	return k > 0
}

// ForEach calls fn once for each piece of f, with the offset of the piece. Calls run
// concurrently, or in file order if there is one worker.
//
// p is the file's memory or a buffer. fn must not write to p, nor use it after it returns.
//
// The first error of fn stops the search, and ForEach returns it. If several calls fail,
// ForEach returns the error of the piece with the lowest offset. A panic of fn continues in
// the caller. If the file is truncated or closed while fn reads p, the fault ends fn, and
// ForEach returns an error.
func ForEach(ctx context.Context, f *mmapfile.File, fn func(off int64, p []byte) error) error {
	return Scanner{}.ForEach(ctx, f, fn)
}

// ForEach calls fn with the content of f in pieces. See the function [ForEach].
func (s Scanner) ForEach(ctx context.Context, f *mmapfile.File, fn func(off int64, p []byte) error) error {
	src, err := s.open(f)
	if err != nil {
		return err
	}
	r := run{source: src, Scanner: s, ctx: ctx}
	r.pieces, r.window = src.windows(0, 0)
	r.search = func(_, off int64, p []byte) (stop bool, err error) { return false, fn(off, p[:len(p):len(p)]) }
	return r.all()
}
