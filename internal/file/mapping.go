package file

import (
	"io"
	"os"
	"time"

	"go.dw1.io/mmapfile/internal/evictions"
	"go.dw1.io/mmapfile/internal/sys"
	"go.dw1.io/mmapfile/internal/vm"
)

// mapping is one range of memory that shows the file from its start. It may reach past the
// file's end, if the platform allows that, so that growth does not need a new one each
// time. It is never changed once published.
type mapping struct {
	data        []byte
	usable      int          // how much of data calls may use: up to mapLimit, or nothing (see mapsOn)
	writable    bool         // stores reach the file
	copyOnWrite bool         // pages of a private File, whose content does not prove where the file ends
	writes      bool         // calls may write through it
	trial       bool         // made for calls, which have paid for its end
	stored      *storedPages // of a private File where reading a hole of the mapping allocates memory
	region      *vm.Range
	prev        *mapping // the shorter one before, for callers that still hold its slices
}

// A mapping comes about in one of two ways, and mapTo makes it:
//
//	calls:   noteRead, noteWrite              → mapForCalls, once it pays
//	memory:  Bytes, Chunks                    → mapForMemory, for the whole file
//	         View, At, SliceAt     → bytesAt  → mapForMemory, for bytes that are all in the file
//	         Advise, LockMemory, … → pagesAt  → mapForMemory, for pages up to the end of the file
//
// The two differ in what is usable. Calls may use no more address space than mapLimit, and nothing
// if the storage may change a file without showing that in memory. Memory that a caller asks for
// may have all of it, and replaces ranges of closed Files if there is not enough.

// mapsTo reports whether calls may use a mapping up to end.
func (f *File) mapsTo(end int64) bool {
	m := f.m.Load()
	return m != nil && end <= int64(m.usable)
}

// mapForCalls makes a mapping, and reports whether it did, and how long that took.
func (f *File) mapForCalls() (took time.Duration, ok bool) {
	if f.never.Load() || !f.mu.TryLock() {
		return 0, false
	}
	defer f.mu.Unlock()
	if f.mu.Closed() {
		return 0, false
	}
	began := time.Now()
	size, regular := f.stat()
	if !regular || !f.onMappable() { // /proc has files without a length
		f.never.Store(true)
		return 0, false
	}
	ok = size > 0 && f.mapTo(size, false) == nil
	return time.Since(began), ok
}

// mapForMemory returns a mapping of at least size bytes. If hold is set, callers hold slices
// of it until the File is closed. Otherwise it is pinned if closeNeedsLock. Then a concurrent
// truncation may make it shorter than size.
func (f *File) mapForMemory(size int64, hold bool) (*mapping, error) {
	if m := f.m.Load(); !closeNeedsLock && m != nil && int64(len(m.data)) >= size {
		return m, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.mu.Closed() {
		return nil, os.ErrClosed
	}
	if m := f.m.Load(); closeNeedsLock && (m == nil || int64(len(m.data)) < size) {
		if now, regular := f.stat(); regular && now < size {
			if size = now; size == 0 {
				return nil, io.EOF
			}
		}
	}
	if err := f.mapTo(size, true); err != nil {
		return nil, err
	}
	m := f.m.Load()
	switch {
	case hold:
		m.region.Expose()
	case closeNeedsLock:
		m.region.Pin()
	}
	return m, nil
}

// mapTo publishes a mapping of at least size bytes, or, for calls, of as much as they may use.
// With memory set, a caller asks for the memory: then it fails if it cannot map all of it.
// Called with mu held.
func (f *File) mapTo(size int64, memory bool) error {
	m := f.m.Load()
	long := m != nil && int64(len(m.data)) >= size
	if long && (memory || int64(m.usable) >= size) {
		return nil
	}
	usable, access, err := f.mayMap(memory)
	switch {
	case err != nil:
		return err
	case !long:
		return f.mapNew(m, size, usable, memory, access)
	case int64(m.usable) >= usable:
		return errNoMemory // no more of it may be used
	}
	next := *m
	next.usable = int(min(usable, int64(len(m.data))))
	f.makeLocks(&next)
	f.m.Store(&next)
	return nil
}

// mayMap returns how the file is open, and how much of a mapping calls may use. It returns an error
// if the file must not be mapped.
func (f *File) mayMap(memory bool) (usable int64, access sys.Access, err error) {
	flag := f.flag
	if canMap && !closeNeedsLock && !f.ownDescriptor() {
		flag = -1 // other code may have changed it
	}
	if access, err = sys.AccessOf(f.inner, flag); err != nil {
		return 0, access, err
	}
	storage := f.storageOf()
	if storage&sys.StorageNoWrites != 0 || f.wholeWrites {
		access.Plain = false
	}
	usable = mapLimit
	switch {
	case storage.Kind() == sys.StorageOnRequest && memory:
	case !access.Read, access.Direct, !f.mapsOn(storage, access.Write):
		f.never.Store(true)
		usable = 0
	}
	if !access.Read || usable == 0 && !memory {
		err = errNotMapped
	}
	return usable, access, err
}

// mapsOn reports whether calls may use a mapping of the file on that storage. On some, only
// Options.Immutable rules out that the mapping misses a change, or blocks one.
func (f *File) mapsOn(storage sys.Storage, write bool) bool {
	switch storage.Kind() {
	case sys.StorageMemory:
		return !write || !sys.Sealable(f.inner)
	case sys.StorageOverlay:
		return (f.immutable || write) && storage&sys.StorageSparse == 0
	case sys.StorageRemote, sys.StorageOnRequest:
		return f.immutable
	}
	return true
}

// mapNew publishes a new mapping. m is the present one, which is shorter than size, if any.
func (f *File) mapNew(m *mapping, size, usable int64, memory bool, access sys.Access) error {
	length := size
	if !memory {
		length = min(size, mapLimit)
	}
	if !vm.RoomFor(length, memory) {
		return errNoMemory
	}
	for times := int64(8); m != nil && mapsBeyondEnd && times > 1; times /= 2 { // it grew, and each new mapping faults anew
		if size < mapLimit/times && vm.RoomFor(times*size, false) {
			length = times * size
			break
		}
	}
	if length > maxInt-int64(pageSize) || m != nil && length <= int64(len(m.data)) {
		return errNoMemory
	}
	var data []byte
	var writable bool
	err := vm.Retry(memory, func() (err error) {
		data, writable, err = vm.Memory.Map(f.inner, int(length), access.Write, memory)
		if err != nil && length > size {
			data, writable, err = vm.Memory.Map(f.inner, int(size), access.Write, memory)
		}
		return err
	})
	if err != nil {
		return err
	}
	next := &mapping{
		data: data, usable: int(min(usable, int64(len(data)))), writable: writable,
		writes: writable && access.Plain && usable > 0, trial: !memory, region: vm.New(f, data),
	}
	f.makeLocks(next)
	if m == nil {
		next.region.CountFile()
	} else if next.prev = m; m.region.Abandon() {
		next.prev = m.prev
		next.region.CountFile()
	}
	f.m.Store(next)
	evictions.Watch(vm.Mapped)
	return nil
}

// makeLocks makes the locks of writes, before m is published, if calls may write through it.
func (f *File) makeLocks(m *mapping) {
	if m.writes && m.usable > 0 {
		f.writes.Make()
	}
}

const maxInt = int64(^uint(0) >> 1)

// unpublish ends the mappings of a File. If closeNeedsLock, the last running Guard
// revokes them instead. took is 0 if it is no measure. Called with mu held.
func (f *File) unpublish() (took time.Duration) {
	m := f.m.Swap(nil)
	if m == nil {
		return 0
	}
	c := f.needCold()
	c.atClose = m
	if began := time.Now(); c.guards == 0 {
		f.revoke()
		if m.trial && m.prev == nil && !closeNeedsLock { // else it may be pinned
			took = time.Since(began)
		}
	}
	return took
}

// closedMapping returns the mapping that the File had at Close, or nil. Called with mu held.
func (f *File) closedMapping() *mapping {
	if c := f.cold.Load(); c != nil {
		return c.atClose
	}
	return nil
}

// revoke revokes the mappings that the File had at Close. Called with mu held.
func (f *File) revoke() {
	for m := f.closedMapping(); m != nil; m = m.prev {
		m.region.Revoke()
	}
}
