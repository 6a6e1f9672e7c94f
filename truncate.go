package mmapfile

import (
	"os"
	"slices"
)

// Truncate changes the file's length to size bytes and leaves the cursor where it is, as
// [os.File.Truncate] does, with its errors. It waits for writes of f in flight. The caller
// must no longer access the truncated part of slices from [File.Bytes].
//
// Windows does not truncate a mapped file. There Truncate takes the file's mappings away
// and restores them at the same addresses. Meanwhile no slice from Bytes may be accessed,
// and a View in another goroutine fails.
func (f *File) Truncate(size int64) error {
	if f == nil {
		return os.ErrInvalid
	}
	if f.private {
		return f.truncatePrivate(size)
	}
	if f.flusher == nil {
		return f.check(f.truncate(size))
	}
	_, err := f.flusher.write(f.file, 1, func() (int, error) {
		if err := f.truncate(size); err != nil {
			return 0, err
		}
		return 1, nil // so that a flush is due
	})
	return f.check(err)
}

func (f *file) truncate(size int64) error {
	l := f.lockWrites()
	defer f.unlockWrites(l)
	f.writeBack(0, -1)
	f.endPeriod() // its first write may be in what is truncated
	old := f.length.BeginTruncate(size)
	err := f.truncateInner(size)
	if err == nil {
		f.pages.Truncated(size)
	}
	f.length.EndTruncate(old, size, err == nil)
	if err == nil {
		f.refresh(nil, 0)
	}
	return err
}

// truncateInner truncates the inner file. If the system refuses that for a mapped file, it
// takes all mappings away. Those that a caller may use, through Bytes or inside View, are
// restored at the same addresses, with the file's new length. Called with mu held.
func (f *file) truncateInner(size int64) error {
	err := f.inner.Truncate(size)
	m := f.m.Load()
	if m == nil || !refusesMapped(err) {
		return err
	}
	var held []*mapping
	for f.m.Store(nil); m != nil; m = m.prev {
		if !m.region.abandon() {
			held = append(held, m)
		}
	}
	for _, m := range held {
		m.region.hide()
	}
	err = f.inner.Truncate(size)
	if fi, serr := f.inner.Stat(); serr == nil {
		size = fi.Size()
	}
	for _, m := range slices.Backward(held) {
		next := *m
		next.data = m.region.show(f.inner, int(min(size, int64(len(m.data)))), m.writable)
		next.callLen = min(next.callLen, len(next.data))
		next.prev = f.m.Load()
		f.m.Store(&next)
	}
	return err
}
