package mmapfile

import (
	"io"
	"os"
	"time"

	"go.dw1.io/mmapfile/internal/pages"
	"go.dw1.io/mmapfile/internal/sys"
)

// mapping is one range of memory that shows the file from its start. It may reach past the
// file's end, if the platform allows that, so that growth does not need a new one each
// time. It is never changed once published.
type mapping struct {
	data        []byte
	callLen     int  // how much of data calls may use: all, or none on a network file system
	writable    bool // stores reach the file
	copyOnWrite bool // pages of a private File, whose content does not prove where the file ends
	writes      bool // calls may write through it
	region      *region
	prev        *mapping // the shorter one before, for callers that still hold its slices
}

// A mapping comes about in one of two ways, and mapTo makes it:
//
//	calls:   noteRead, noteWrite, lookAhead   → mapForCalls, once it pays
//	memory:  Bytes, Chunks                    → mapForMemory, for the whole file
//	         View, At, SliceAt     → bytesAt  → mapForMemory, for bytes that are all in the file
//	         Advise, LockMemory, … → pagesAt  → mapForMemory, for pages up to the end of the file
//
// The two differ in what they may use of it. Calls use callLen bytes, which is nothing if the
// storage may change a file without showing that in memory, and no more address space than
// mapLimit. Memory that a caller asks for may have all of it, and replaces ranges of closed
// Files if there is not enough.

// mapsTo reports whether calls may use a mapping up to end.
func (f *file) mapsTo(end int64) bool {
	m := f.m.Load()
	return m != nil && end <= int64(m.callLen)
}

// mapForCalls makes a mapping, and reports whether it did.
func (f *file) mapForCalls() bool {
	if f.never.Load() || !f.mu.TryLock() {
		return false
	}
	defer f.mu.Unlock()
	if f.mu.Closed() {
		return false
	}
	began := time.Now()
	size, regular := f.stat()
	if !regular {
		f.never.Store(true)
		return false
	}
	mapped := size > 0 && f.mapTo(size, false) == nil
	f.pages.Mapped(mapped, time.Since(began))
	return mapped
}

// mapForMemory returns a mapping of at least size bytes. If hold is set, callers hold slices
// of it until the File is closed. Otherwise it is pinned if closeNeedsLock. Then a concurrent
// truncation may make it shorter than size.
func (f *file) mapForMemory(size int64, hold bool) (*mapping, error) {
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
		m.region.exposed.Store(true)
	case closeNeedsLock:
		m.region.pins.Add(1)
	}
	return m, nil
}

// mapTo publishes a mapping of at least size bytes, or, for calls, of as much as they may use.
// With memory set, a caller asks for the memory: then it fails if it cannot map all of it.
// Called with mu held.
func (f *file) mapTo(size int64, memory bool) error {
	m := f.m.Load()
	long := m != nil && int64(len(m.data)) >= size
	if long && (memory || int64(m.callLen) >= size) {
		return nil
	}
	limit, access, err := f.mayMap(memory)
	switch {
	case err != nil:
		return err
	case !long:
		return f.mapNew(m, size, limit, memory, access)
	case int64(m.callLen) >= limit:
		return errNoMemory // no more of it may be used
	}
	next := *m
	next.callLen = int(min(limit, int64(len(m.data))))
	f.makeLocks(&next)
	f.m.Store(&next)
	return nil
}

// mayMap returns how the file is open, and how much of a mapping calls may use. It is an error
// if there may be no mapping.
func (f *file) mayMap(memory bool) (limit int64, access sys.Access, err error) {
	flag := f.flag
	if sys.Maps && !closeNeedsLock && !f.ownDescriptor() {
		flag = -1 // other code may have changed it
	}
	if access, err = sys.AccessOf(f.inner, flag); err != nil {
		return 0, access, err
	}
	kind := f.storageOf()
	limit = mapLimit
	switch {
	case kind == sys.StorageOnRequest && memory:
	case !access.Read, access.Direct, !f.mapsOn(kind, access.Write):
		f.never.Store(true)
		limit = 0
	}
	if !access.Read || limit == 0 && !memory {
		err = errNotMapped
	}
	return limit, access, err
}

// mapsOn reports whether calls may use a mapping of the file on storage of that kind. Only a
// promise rules out that the mapping misses a change, or is in the way of one.
func (f *file) mapsOn(kind sys.Storage, write bool) bool {
	switch kind {
	case sys.StorageMemory:
		return !write || !sys.Sealable(f.inner)
	case sys.StorageOverlay:
		return f.immutable || write
	case sys.StorageRemote, sys.StorageOnRequest:
		return f.immutable
	}
	return true
}

// mapNew publishes a new mapping. m is the present one, which is shorter than size, if any.
func (f *file) mapNew(m *mapping, size, limit int64, memory bool, access sys.Access) error {
	need := size
	if !memory {
		need = min(size, mapLimit)
	}
	if !roomFor(need, memory) {
		return errNoMemory
	}
	length := size
	if m != nil && mapsBeyondEnd && size < mapLimit/2 && roomFor(2*size, false) {
		length = 2 * size // it grew: leave room for further growth
	}
	if !memory {
		length = min(length, mapLimit)
	}
	if length > maxInt-int64(pageSize) || m != nil && length <= int64(len(m.data)) {
		return errNoMemory
	}
	var data []byte
	var writable bool
	err := retry(memory, func() (err error) {
		data, writable, err = mapFile(f.inner, int(length), access.Write, memory)
		if err != nil && length > size {
			data, writable, err = mapFile(f.inner, int(size), access.Write, memory)
		}
		return err
	})
	if err != nil {
		return err
	}
	next := &mapping{
		data: data, callLen: int(min(limit, int64(len(data)))), writable: writable,
		writes: writable && access.Plain, region: newRegion(f, data),
	}
	f.makeLocks(next)
	if m == nil {
		next.region.countFile()
	} else if next.prev = m; m.region.abandon() {
		next.prev = m.prev
		next.region.countFile()
	}
	f.m.Store(next)
	pages.Watch(anyMapped)
	return nil
}

// makeLocks makes the locks of writes, before m is published, if calls may write through it.
func (f *file) makeLocks(m *mapping) {
	if m.writes && m.callLen > 0 {
		f.writes.Make()
	}
}

// anyMapped reports whether any File is mapped.
func anyMapped() bool { return ranges.Load() > reserved.Load() }

const maxInt = int64(^uint(0) >> 1)

// unpublish ends the mappings of a File. If closeNeedsLock, the last running Guard
// revokes them instead. Called with mu held.
func (f *file) unpublish() {
	m := f.m.Swap(nil)
	if m == nil {
		return
	}
	c := f.needCold()
	c.atClose = m
	if began := time.Now(); c.guards == 0 {
		f.revoke()
		f.pages.Unmapped(time.Since(began))
	}
}

// closedMapping returns the mapping that the File had at Close, or nil. Called with mu held.
func (f *file) closedMapping() *mapping {
	if c := f.cold.Load(); c != nil {
		return c.atClose
	}
	return nil
}

// revoke revokes the mappings that the File had at Close. Called with mu held.
func (f *file) revoke() {
	for m := f.closedMapping(); m != nil; m = m.prev {
		m.region.revoke()
	}
}
