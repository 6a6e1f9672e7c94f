package mmapfile

import "errors"

// mapping is one range of memory that shows the file from its start. It may
// reach beyond the file's end, where the platform allows that, so that growth
// does not need a new one each time. It is never changed once published.
type mapping struct {
	data     []byte
	limit    int         // how much of data calls may use; all but for holes that cost
	writable bool        // stores reach the file
	locks    *rangeLocks // nil if writes must not use it
	region   *region
	prev     *mapping // the shorter one before, for callers that still hold its slices
}

// mapTo publishes a mapping of at least size bytes, or of as much as there is
// address space for; whole insists on all of it, for Bytes and View. Called
// with mu held.
func (f *file) mapTo(size int64, whole bool) error {
	m := f.m.Load()
	mapped := m != nil && int64(len(m.data)) >= size
	if mapped && (whole || int64(m.limit) >= size) {
		return nil
	}
	if f.private {
		return errors.ErrUnsupported
	}
	mode, err := descriptorMode(f.inner, f.flag)
	if err != nil {
		return err
	}
	kind := storageOf(f.inner)
	limit := mapLimit
	switch {
	case kind == storageAsked && whole:
	case !mode.read, mode.direct, kind == storageRemote, kind == storageAsked, kind == storageMemory, kind == storageOverlay && !mode.write:
		f.never.Store(true)
		limit = 0
	}
	if !mode.read || limit == 0 && !whole {
		return errors.ErrUnsupported
	}
	if mapped && int64(m.limit) >= limit {
		return errNoMemory // no more of it may be used
	}
	if mapped {
		next := *m
		next.limit = int(min(limit, int64(len(m.data))))
		f.m.Store(&next)
		return nil
	}
	return f.mapNew(m, size, limit, whole, mode)
}

// mapNew is mapTo where the present mapping m, if any, is too short.
func (f *file) mapNew(m *mapping, size, limit int64, whole bool, mode mode) error {
	if !roomFor(min(size, mapLimit), whole) {
		return errNoMemory
	}
	length := size
	if m != nil && mapsBeyondEnd && size < mapLimit/2 && roomFor(2*size, false) {
		length = 2 * size // it grew: spare the next times
	}
	if !whole {
		length = min(length, mapLimit)
	}
	if length > maxInt-int64(pageSize) || m != nil && length <= int64(len(m.data)) {
		return errNoMemory
	}
	var data []byte
	var writable bool
	err := retry(whole, func() (err error) {
		data, writable, err = mapFile(f.inner, int(length), mode.write, whole)
		if err != nil && length > size {
			data, writable, err = mapFile(f.inner, int(size), mode.write, whole)
		}
		return err
	})
	if err != nil {
		return err
	}
	next := &mapping{
		data: data, limit: int(min(limit, int64(len(data)))), writable: writable,
		region: newRegion(f, data),
	}
	if writable && mode.plain {
		if next.locks = new(rangeLocks); m != nil && m.locks != nil {
			next.locks = m.locks
		}
	}
	if m == nil {
		next.region.countFile()
	} else if next.prev = m; m.region.abandon() {
		next.prev = m.prev
		next.region.countFile()
	}
	f.m.Store(next)
	watchEvictions()
	if testMapped != nil {
		testMapped(f)
	}
	return nil
}

// testMapped is called for each mapping that is made: tests have it used from the first
// call on.
var testMapped func(f *file)

// storage is what a file lies on, as far as it decides what a mapping may do for
// calls. Bytes and View get one in any case.
type storage int

const (
	storageLocal   storage = iota
	storageRemote          // or unknown: other machines' changes may show in system calls alone
	storageOverlay         // whose files, open for reading alone, may be replaced by a writer's copy
	storageMemory          // a tmpfs, where reading a hole of a mapping fills it with memory for good
	storageAsked           // local, but a mapping is in others' way: none without Bytes or View
)

// mode is what a descriptor allows.
type mode struct {
	read, write bool
	plain       bool // a store may stand for a write: not O_APPEND, O_SYNC, O_DSYNC, O_DIRECT
	direct      bool // O_DIRECT
}

const maxInt = int64(^uint(0) >> 1)
