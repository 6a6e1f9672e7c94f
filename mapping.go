package mmapfile

import "errors"

// mapping is one range of memory that shows the file from its start. It may
// reach beyond the file's end, where the platform allows that, so that growth
// does not need a new one each time. It is never changed once published.
type mapping struct {
	data     []byte
	limit    int          // how much of data calls may use; all but for holes that cost
	writable bool         // stores reach the file
	store    *storePolicy // nil where WriteAt must not store
	region   *region
	prev     *mapping // the shorter one before, for callers that still hold its slices
}

// stat asks the file for its length, and remembers it unless another call
// learns of one meanwhile: then which is newer is uncertain.
func (f *file) stat() (size int64, regular bool) {
	known := f.size.Load()
	f.uncertain.Store(false) // before the question: what moves the end now marks it again
	fi, err := f.inner.Stat()
	if err != nil || !fi.Mode().IsRegular() {
		f.uncertain.Store(true)
		return 0, false
	}
	if !f.size.CompareAndSwap(known, fi.Size()) {
		f.uncertain.Store(true)
	}
	return fi.Size(), true
}

// mapTo publishes a mapping of at least size bytes, or of as much as there is
// address space for; whole insists on all of it. Called with mu held.
func (f *file) mapTo(size int64, whole bool) error {
	m := f.m.Load()
	if m != nil && int64(len(m.data)) >= size {
		return nil
	}
	if !roomFor(min(size, mapLimit), whole) {
		return errNoMemory
	}
	length := size
	if m != nil && mapsBeyondEnd && size < mapLimit/2 {
		length = 2 * size // it grew: spare the next times
	}
	if !whole {
		length = min(length, mapLimit)
	}
	if length > maxInt-int64(pageSize) || m != nil && length <= int64(len(m.data)) {
		return errNoMemory
	}
	mode, err := descriptorMode(f.inner, f.flag)
	if err != nil {
		return err
	}
	// With O_DIRECT reads have to stay aligned, as the kernel demands.
	if !mode.read || mode.direct && !whole {
		f.never.Store(true)
		return errors.ErrUnsupported
	}
	limit := mapLimit
	switch storageOf(f.inner) {
	case storageRemote:
		f.never.Store(true)
		limit = 0
	case storageHoles:
		limit = 0
	case storageMemory:
		length, limit = size, size // what comes behind may have holes
	}
	if limit == 0 && !whole {
		return errors.ErrUnsupported
	}
	data, writable, err := mapFile(f.inner, int(length), mode.write)
	if err != nil && length > size {
		data, writable, err = mapFile(f.inner, int(size), mode.write)
	}
	if err != nil {
		return err
	}
	next := &mapping{
		data: data, limit: int(min(limit, int64(len(data)))), writable: writable,
		prev: m, region: newRegion(f, data),
	}
	if writable && mode.plain {
		next.store = newStorePolicy(len(data))
	}
	f.m.Store(next)
	return nil
}

// storage is what a file lies on, as far as it decides what a mapping may do for
// calls. Bytes and View get one in any case.
type storage int

const (
	storageLocal  storage = iota
	storageRemote         // or unknown: other machines' changes may show in system calls alone
	storageMemory         // a tmpfs, where reading a hole of a mapping fills it with memory for good
	storageHoles          // the same, and the file has holes
)

// mode is what a descriptor allows.
type mode struct {
	read, write bool
	plain       bool // a store may stand for a write: not O_APPEND, O_SYNC, O_DSYNC, O_DIRECT
	direct      bool // O_DIRECT
}

const maxInt = int64(^uint(0) >> 1)
