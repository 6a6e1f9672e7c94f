package mmapfile

import (
	"errors"
	"runtime"
	"sync/atomic"
)

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

// region owns the address range of a mapping. It does not lead back to the
// File, so that it can be the argument of the File's cleanup.
type region struct {
	data  []byte
	state atomic.Uint32
	lent  atomic.Bool  // Bytes has handed out slices
	pins  atomic.Int64 // where locked: calls of View inside
}

// The states of a region.
const (
	regionMapped   = iota
	regionReserved // inaccessible, and counted in reservedRanges
	regionGone
)

// Ranges that are closed but may still be inside a call stay reserved until
// their File is unreachable. The system allows some 65,530 ranges in all
// (vm.max_map_count), so past reservedGC we ask for a collection, and past
// reservedMax nothing new is mapped unasked until one has run: system calls
// serve those files. Bytes and View still get theirs up to twice that. Address space is scarce on 32 bits, hence the bound in bytes.
const (
	reservedGC       = 8 << 10
	reservedMax      = 16 << 10
	reservedBytesMax = 1<<(28+16*(^uint(0)>>63)) - 1 // 256 MiB, or 16 TiB
)

var (
	reservedRanges atomic.Int64
	reservedBytes  atomic.Int64
	collecting     atomic.Bool
)

func newRegion(f *file, data []byte) *region {
	r := &region{data: data}
	r.pins.Store(1)
	runtime.AddCleanup(f, (*region).free, r)
	return r
}

// revoke ends the use of the range and lets go of the file. It becomes
// inaccessible at once for every goroutine: a late access faults, and never
// meets somebody else's memory. Where the platform cannot do that, the range
// is given back as soon as nobody is inside, which the File's lock tells.
func (r *region) revoke() {
	if locked {
		r.unpin()
		return
	}
	if !r.state.CompareAndSwap(regionMapped, regionReserved) {
		return
	}
	n := reservedRanges.Add(1)
	bytes := reservedBytes.Add(int64(len(r.data)))
	reserve(r.data)
	if (n > reservedGC || bytes > reservedBytesMax/2) && collecting.CompareAndSwap(false, true) {
		go func() {
			runtime.GC()
			collecting.Store(false)
		}()
	}
}

// free gives the range back. No call can be inside: its File is unreachable.
func (r *region) free() {
	switch r.state.Swap(regionGone) {
	case regionReserved:
		reservedRanges.Add(-1)
		reservedBytes.Add(-int64(len(r.data)))
		unmap(r.data)
	case regionMapped:
		unmap(r.data)
	}
}

// pin keeps m's range until unpin, where locked.
func (f *file) pin(m *mapping) bool {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.m.Load() != m {
		return false
	}
	m.region.pins.Add(1)
	return true
}

// unpin gives the range back with the last pin, one of which is the File's.
func (r *region) unpin() {
	if r.pins.Add(-1) == 0 {
		r.free()
	}
}

// beforeCut prepares a truncation: where the system refuses to cut a file that
// is mapped, the mapping goes, unless somebody still holds a slice of it.
// Called with mu held.
func (f *file) beforeCut() {
	if !locked {
		return
	}
	for m := f.m.Load(); m != nil; m = m.prev {
		if m.region.lent.Load() || m.region.pins.Load() > 1 {
			return
		}
	}
	f.unpublish()
}

// heat counts what the kernel served, to find the moment from which a mapping
// pays: after warmCalls calls, or once twice the file's size was moved. A file
// that is opened, read once and closed never gets there. Calls that move much
// count by their bytes alone: for them the first touch of a mapped page costs
// more than the kernel's copy.
type heat struct {
	word  atomic.Uint64 // calls in the upper 16 bits, bytes in the lower 48
	bytes atomic.Int64  // ask the file's size from here on; 0 means warmBytes
	tries atomic.Uint32 // each attempt in vain doubles the calls for the next
}

const (
	warmCalls  = 16
	warmBytes  = 256 << 10
	smallCall  = 64 << 10
	heatShift  = 48
	maxTries   = 10
	heatToMany = 1 << 47 // bytes: start anew before they run into the calls
)

// warm notes a call that the kernel served with n bytes, and maps the file if
// it is time. It takes no lock that somebody holds.
func (f *file) warm(n int) {
	if !canMap || f.never.Load() {
		return
	}
	if m := f.m.Load(); m != nil && f.size.Load() <= int64(len(m.data)) {
		return
	}
	add := uint64(n)
	if n < smallCall {
		add += 1 << heatShift
	}
	w := f.heat.word.Add(add)
	calls, bytes := w>>heatShift, int64(w&(1<<heatShift-1))
	if calls < warmCalls<<f.heat.tries.Load() && bytes < max(warmBytes, f.heat.bytes.Load()) {
		return
	}
	f.warmed(bytes, calls >= warmCalls)
}

// warmed maps the file if it can be mapped and either enough small calls were
// made or enough bytes were moved.
func (f *file) warmed(bytes int64, calls bool) {
	if !f.mu.TryLock() {
		return
	}
	defer f.mu.Unlock()
	if f.closed {
		return
	}
	size, regular := f.stat()
	if !regular {
		f.never.Store(true)
		return
	}
	if !calls && bytes < 2*size && bytes < heatToMany {
		f.heat.bytes.Store(2 * size)
		return
	}
	f.heat.word.Store(0)
	if size == 0 || f.mapTo(size, false) != nil {
		f.heat.tries.Store(min(f.heat.tries.Load()+1, maxTries))
	}
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
	room := int64(1)
	if whole {
		room = 2
	}
	if reservedRanges.Load() > room*reservedMax || reservedBytes.Load() > room*reservedBytesMax {
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

// unpublish ends the mappings of a File that is being closed. Called with mu held.
func (f *file) unpublish() {
	for m := f.m.Swap(nil); m != nil; m = m.prev {
		m.region.revoke()
	}
}
