package scan

import (
	"context"
	"fmt"
	"io/fs"
	"math"
	"sync"
	"unicode/utf8"

	"go.dw1.io/mmapfile"
)

// Find returns the start and the end of the first match in f, or -1 and -1, as find does for
// the whole content. It calls find with parts of the content, concurrently.
//
// find returns the start and the end of the first match in p, or a negative start. It must
// neither write to p nor keep it. A match may be up to overlap bytes long, and depend on its
// bytes and on one rune before and after them. For a regular expression, use [Regexp].
//
// Find fails with [fs.ErrInvalid] if overlap is negative, if a match is longer or outside p,
// or if find treats the start of p as the start of a line or of the content. A panic of find
// continues in the caller.
func Find(ctx context.Context, f *mmapfile.File, overlap int, find func(p []byte) (start, end int)) (start, end int64, err error) {
	return Scanner{}.Find(ctx, f, overlap, find)
}

// Find returns the start and the end of the first match in f, or -1 and -1. See
// the function [Find].
func (s Scanner) Find(ctx context.Context, f *mmapfile.File, overlap int, find func(p []byte) (start, end int)) (start, end int64, err error) {
	m := matcher{find: find}
	return s.match(ctx, f, overlap, lookBehind, &m, m.search)
}

// match implements Find and Regexp. They differ in search, and in before, the number of bytes
// that a window has before its piece.
func (s Scanner) match(ctx context.Context, f *mmapfile.File, overlap int, before int64, m *matcher,
	search func(i, off int64, p []byte) (stop bool, err error)) (start, end int64, err error) {
	src, err := s.open(f)
	if err != nil {
		return -1, -1, err
	}
	if overlap < 0 {
		return -1, -1, pathError(f, invalidError("a match cannot have a negative length"))
	}
	m.source, m.start = src, math.MaxInt64
	m.overlap = min(int64(overlap), src.size, math.MaxInt/4) // sums do not overflow
	if s.Chunk <= 0 {
		// At most a quarter of the content is searched twice.
		src.chunk = max(src.chunk, min(m.overlap, src.size/4)*4)
	}
	r := run{source: src, Scanner: s, ctx: ctx, search: search}
	r.pieces, r.window = src.windows(before, m.overlap+runeLen-1)
	r.pieces = max(r.pieces, 1) // an empty file may have an empty match
	m.pieces = r.pieces
	err = r.all()
	if m.start < math.MaxInt64 && m.piece < r.failed {
		r.endProgress(err)
		return m.start, m.end, nil
	}
	return -1, -1, err
}

const (
	// runeLen is the number of bytes before and after a match that it may depend on.
	runeLen = utf8.UTFMax

	// lookBehind is the number of bytes of a window before its piece. An error
	// needs all of them to be untrusted, so more of them make it less likely.
	lookBehind = 1 << 10
)

// matcher is a search for the first match of a function.
//
// Each piece has the matches that start in it. Its window ends overlap+runeLen-1
// bytes after the piece, so the window has these matches and the rune after each.
//
// find takes the start of a window for the start of a text. A match in the first
// runeLen bytes may be false: \b matches in the middle of a word, and the rest of a
// rune is an invalid byte. A false match hides a true one. So a window starts
// before its piece, and the search starts at a trusted index of the window.
type matcher struct {
	*source
	find    func(p []byte) (start, end int)
	overlap int64
	pieces  int64

	mu         sync.Mutex
	start, end int64 // the first match so far; start is MaxInt64 if there is none
	piece      int64 // the lowest piece whose window has that match
}

// search searches the window p at off of piece i.
func (m *matcher) search(i, off int64, p []byte) (stop bool, err error) {
	piece := int(i*m.chunk - off) // its index in p
	for from := 0; ; {
		if off > 0 {
			if from, err = m.trusted(i, p, from, piece); err != nil || from < 0 {
				return true, err
			}
		}
		start, end, err := m.call(p[from:])
		if err != nil || start < 0 {
			return false, err
		}
		at := from + start
		if i < m.pieces-1 && int64(at-piece) >= m.chunk {
			return false, nil // the next piece has it
		}
		if n := int64(end - start); n > m.overlap {
			return false, m.tooLong(n)
		}
		if off == 0 || start >= runeLen {
			m.keep(i, off+int64(at), off+int64(from+end))
			return true, nil
		}
		from = at + 1 // another process has changed the content
	}
}

// trusted returns the first index of p, at least from, at which find returns no
// match in the first runeLen bytes. A match after those is true: find sees the
// whole rune before it. The index is at least runeLen bytes before the piece. It is
// -1 if a lower piece has a match.
func (m *matcher) trusted(i int64, p []byte, from, piece int) (int, error) {
	for from+runeLen <= piece {
		if m.foundBelow(i) {
			return -1, nil
		}
		end := min(int64(len(p)), int64(from)+runeLen+m.overlap+runeLen) // all that the match depends on
		start, _, err := m.call(p[from:end])
		if err != nil || start < 0 || start >= runeLen {
			return from, err
		}
		from += start + 1
	}
	// If these matches were true, a lower piece would have one of them. That match
	// would be the result, not this error.
	return 0, m.invalid("find matches wherever a part starts in the %d bytes before offset %d, but not in the whole content", piece, i*m.chunk)
}

// call calls find and checks what it returns.
func (m *matcher) call(p []byte) (start, end int, err error) {
	start, end = m.find(p[:len(p):len(p)])
	if start >= 0 && (end < start || end > len(p)) {
		err = m.invalid("find returned start %d and end %d for %d bytes", start, end, len(p))
	}
	return start, end, err
}

func (m *matcher) tooLong(n int64) error {
	return m.invalid("a match of %d bytes is longer than %d, the most that was promised", n, m.overlap)
}

// keep records a match in the window of piece i.
func (m *matcher) keep(i, start, end int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if start < m.start || start == m.start && i < m.piece {
		m.start, m.end, m.piece = start, end, i
	}
}

// foundBelow reports whether a piece below i has a match.
func (m *matcher) foundBelow(i int64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.start < math.MaxInt64 && m.piece < i
}

func (m *matcher) invalid(format string, args ...any) error {
	return pathError(m.f, invalidError(fmt.Sprintf(format, args...)))
}

// invalidError is an error for which errors.Is reports fs.ErrInvalid.
type invalidError string

func (e invalidError) Error() string        { return string(e) }
func (e invalidError) Is(target error) bool { return target == fs.ErrInvalid }
