package file

import (
	"slices"

	"go.dw1.io/mmapfile/internal/vm"
)

// Truncate is the method of mmapfile.File.
func (f *File) Truncate(size int64) error {
	switch v := f.variant; {
	case f.private():
		return f.truncatePrivate(size)
	case v != nil:
		v.Enter()
		defer v.Leave(f, 1, 1, nil) // it counts as a byte, so that a flush is due
	}
	return f.check(f.truncate(size))
}

func (f *File) truncate(size int64) error {
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
func (f *File) truncateInner(size int64) error {
	err := f.inner.Truncate(size)
	m := f.m.Load()
	if m == nil || !vm.Memory.RefusesMapped(err) {
		return err
	}
	var held []*mapping
	for f.m.Store(nil); m != nil; m = m.prev {
		if !m.region.Abandon() {
			held = append(held, m)
		}
	}
	for _, m := range held {
		m.region.Hide()
	}
	err = f.inner.Truncate(size)
	if fi, serr := f.inner.Stat(); serr == nil {
		size = fi.Size()
	}
	for _, m := range slices.Backward(held) {
		next := *m
		next.data = m.region.Show(f.inner, int(min(size, int64(len(m.data)))), m.writable)
		next.usable = min(next.usable, len(next.data))
		next.prev = f.m.Load()
		f.m.Store(&next)
	}
	return err
}
