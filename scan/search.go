package scan

import (
	"bytes"
	"context"
	"math"
	"sync/atomic"

	"go.dw1.io/mmapfile"
)

// Index returns the offset of the first sep in f, or -1, as [bytes.Index] does.
func Index(ctx context.Context, f *mmapfile.File, sep []byte) (int64, error) {
	return Scanner{}.Index(ctx, f, sep)
}

// IndexByte returns the offset of the first c in f, or -1, as [bytes.IndexByte] does.
func IndexByte(ctx context.Context, f *mmapfile.File, c byte) (int64, error) {
	return Scanner{}.IndexByte(ctx, f, c)
}

// LastIndex returns the offset of the last sep in f, or -1, as [bytes.LastIndex] does.
func LastIndex(ctx context.Context, f *mmapfile.File, sep []byte) (int64, error) {
	return Scanner{}.LastIndex(ctx, f, sep)
}

// Count returns how many times sep stands in f without overlapping, as
// [bytes.Count] does: for an empty sep that is the number of runes and one
// more.
func Count(ctx context.Context, f *mmapfile.File, sep []byte) (int64, error) {
	return Scanner{}.Count(ctx, f, sep)
}

// Chunks calls fn on many goroutines with the content of f in pieces, each
// piece once, and with its offset. p is the file's own memory, or a buffer, and
// must not outlive the call nor be written to. The first error of fn ends the
// search and is returned, that of the lowest piece where there are several; a
// panic comes out of Chunks. A fault in p, because the file has been cut or
// closed, ends fn where it is, and is an error. With one worker the pieces come
// in order.
func Chunks(ctx context.Context, f *mmapfile.File, fn func(off int64, p []byte) error) error {
	return Scanner{}.Chunks(ctx, f, fn)
}

// Index is [Index] as s says.
func (s Scanner) Index(ctx context.Context, f *mmapfile.File, sep []byte) (int64, error) {
	return s.first(ctx, f, len(sep), func(p []byte) int { return bytes.Index(p, sep) })
}

// IndexByte is [IndexByte] as s says.
func (s Scanner) IndexByte(ctx context.Context, f *mmapfile.File, c byte) (int64, error) {
	return s.first(ctx, f, 1, func(p []byte) int { return bytes.IndexByte(p, c) })
}

// LastIndex is [LastIndex] as s says.
func (s Scanner) LastIndex(ctx context.Context, f *mmapfile.File, sep []byte) (int64, error) {
	src, err := s.open(f)
	if err != nil {
		return -1, err
	}
	if len(sep) == 0 {
		return s.atOnce(ctx, src, src.size)
	}
	r := run{source: src, Scanner: s, ctx: ctx}
	pieces, window := src.forward(int64(len(sep)) - 1)
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
		r.found(err)
		return at, nil
	}
	return -1, err
}

// atOnce is a search that has nothing to look at.
func (s Scanner) atOnce(ctx context.Context, src *source, at int64) (int64, error) {
	if err := ctx.Err(); err != nil {
		return -1, err
	}
	newTeller(s.Progress).end(src.size)
	return at, nil
}

// first finds the first match of length n, which find finds in a piece.
func (s Scanner) first(ctx context.Context, f *mmapfile.File, n int, find func(p []byte) int) (int64, error) {
	src, err := s.open(f)
	if err != nil {
		return -1, err
	}
	if n == 0 {
		return s.atOnce(ctx, src, 0)
	}
	r := run{source: src, Scanner: s, ctx: ctx}
	r.pieces, r.window = src.forward(int64(n) - 1)
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
	// All lower pieces were taken before this one, and without an error.
	if at := first.Load(); at < math.MaxInt64 && at/src.chunk < r.failed {
		r.found(err)
		return at, nil
	}
	return -1, err
}

// found ends a search that has its match, whatever else failed behind it.
func (r *run) found(err error) {
	if err != nil {
		r.teller.end(r.size)
	}
}

// keep stores now in best if it is better.
func keep(best *atomic.Int64, now int64, better func(now, best int64) bool) {
	for b := best.Load(); better(now, b) && !best.CompareAndSwap(b, now); {
		b = best.Load()
	}
}

// Count is [Count] as s says.
func (s Scanner) Count(ctx context.Context, f *mmapfile.File, sep []byte) (int64, error) {
	src, err := s.open(f)
	if err == nil {
		err = ctx.Err()
	}
	switch {
	case err != nil:
		return 0, err
	case len(sep) == 0 || int64(len(sep)) <= src.size && overlapsItself(sep):
		// Where one match ends decides on the next.
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
	r.pieces, r.window = src.forward(int64(len(sep)) - 1)
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

// overlapsItself reports whether sep can begin inside itself, as "aa" and
// "abcab" can: it does where it has a border, by the failure function of Knuth,
// Morris and Pratt.
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

// Chunks is [Chunks] as s says.
func (s Scanner) Chunks(ctx context.Context, f *mmapfile.File, fn func(off int64, p []byte) error) error {
	src, err := s.open(f)
	if err != nil {
		return err
	}
	r := run{source: src, Scanner: s, ctx: ctx}
	r.pieces, r.window = src.forward(0)
	r.search = func(_, off int64, p []byte) (stop bool, err error) { return false, fn(off, p[:len(p):len(p)]) }
	return r.all()
}
