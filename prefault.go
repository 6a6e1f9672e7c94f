package mmapfile

import (
	"errors"
	"time"

	"go.dw1.io/mmapfile/internal/pages"
	"go.dw1.io/mmapfile/internal/sys"
)

// prefaults prefaults the blocks of a write of n bytes at off if that pays by now. Called
// with the range locked.
func (f *file) prefaults(m *mapping, off int64, n int) bool {
	return f.pages.Prefaults(off, n) && f.prefault(m, off, off+int64(n))
}

// prefault prefaults the blocks that the bytes from off to end intersect if they are in
// memory, or only the pages of the bytes.
func (f *file) prefault(m *mapping, off, end int64) bool {
	page := int64(pageSize)
	last := min((f.size.Load()+page-1)&^(page-1), int64(len(m.data)))
	from, to := off/pages.BlockSize*pages.BlockSize, min((end+pages.BlockSize-1)/pages.BlockSize*pages.BlockSize, last)
	if from >= to {
		return false // it has been truncated
	}
	if !f.known(from, int(to-from)) && !f.cached(from, to) {
		from, to = off&^(page-1), min((end+page-1)&^(page-1), last)
	}
	if from >= to {
		return false
	}
	began := time.Now()
	err := sys.Prefault(f.inner, m.data[from:to], from)
	switch {
	case err == nil:
		f.pages.SetPrice(to-from, time.Since(began))
		f.pages.NotePrefaulted(from, to-from)
	case errors.Is(err, errors.ErrUnsupported):
		// Each page faults at its first write. It is in memory.
		if !f.known(off, int(end-off)) {
			return false
		}
		f.pages.NotePrefaulted(off, end-off)
		to = (end + page - 1) &^ (page - 1)
	default:
		f.pages.Failed(from, to)
		return false
	}
	stats.prefaults.Add(1)
	f.prereadNext(to) // which tells a mapped write that the file was not truncated
	return true
}

// timeEvery is the number of mapped writes from one that is timed to the next: behind-64B.
const timeEvery = 32

// timedStore is store with a timer. Two writes in a row that were page faults mean that
// another process had the file written back, which protects its pages. Then no page counts
// as prefaulted. Called with the lock l.
func (f *file) timedStore(m *mapping, b []byte, off int, l *rangeLock) bool {
	began := time.Now()
	ok := f.store(m, b, off)
	f.endOverdue(began)
	if !f.pages.Slow(len(b), time.Since(began)) {
		l.slow = 0
	} else if l.slow++; l.slow == 2 {
		l.slow = 0
		f.pages.Unprefault()
	}
	return ok
}
