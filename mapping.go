package mmapfile

import (
	"errors"

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

// mapTo publishes a mapping of at least size bytes, or of as much as address space allows.
// With whole, for Bytes and View, it fails if it cannot map all of them. Called with mu
// held.
func (f *file) mapTo(size int64, whole bool) error {
	m := f.m.Load()
	mapped := m != nil && int64(len(m.data)) >= size
	if mapped && (whole || int64(m.callLen) >= size) {
		return nil
	}
	flag := f.flag
	if sys.Maps && !closeNeedsLock && !f.ownDescriptor() {
		flag = -1 // other code may have changed it
	}
	access, err := sys.AccessOf(f.inner, flag)
	if err != nil {
		return err
	}
	kind := f.storageOf()
	limit := mapLimit
	switch {
	case kind == sys.StorageOnRequest && whole:
	case !access.Read, access.Direct, !f.mapsOn(kind, access.Write):
		f.never.Store(true)
		limit = 0
	}
	if !access.Read || limit == 0 && !whole {
		return errors.ErrUnsupported
	}
	if mapped && int64(m.callLen) >= limit {
		return errNoMemory // no more of it may be used
	}
	if mapped {
		next := *m
		next.callLen = int(min(limit, int64(len(m.data))))
		f.m.Store(&next)
		return nil
	}
	return f.mapNew(m, size, limit, whole, access)
}

// mapsOn reports whether calls may use a mapping of the file on storage of that kind. Only a
// promise rules out that the mapping misses a change, or is in the way of one.
func (f *file) mapsOn(kind sys.Storage, write bool) bool {
	switch kind {
	case sys.StorageMemory:
		return f.flag >= 0 // else it may be a memfd, which cannot be sealed while it is mapped
	case sys.StorageOverlay:
		return f.immutable || write
	case sys.StorageRemote, sys.StorageOnRequest:
		return f.immutable
	}
	return true
}

// mapNew is mapTo if the present mapping m, if any, is too short.
func (f *file) mapNew(m *mapping, size, limit int64, whole bool, access sys.Access) error {
	need := size
	if !whole {
		need = min(size, mapLimit)
	}
	if !roomFor(need, whole) {
		return errNoMemory
	}
	length := size
	if m != nil && mapsBeyondEnd && size < mapLimit/2 && roomFor(2*size, false) {
		length = 2 * size // it grew: leave room for further growth
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
		data, writable, err = mapFile(f.inner, int(length), access.Write, whole)
		if err != nil && length > size {
			data, writable, err = mapFile(f.inner, int(size), access.Write, whole)
		}
		return err
	})
	if err != nil {
		return err
	}
	next := &mapping{
		data: data, callLen: int(min(limit, int64(len(data)))), writable: writable,
		region: newRegion(f, data),
	}
	if next.writes = writable && access.Plain; next.writes {
		f.writes.Make() // before the mapping is published
	}
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

// anyMapped reports whether any File is mapped.
func anyMapped() bool { return ranges.Load() > reserved.Load() }

const maxInt = int64(^uint(0) >> 1)

// unpublish ends the mappings of a File. If closeNeedsLock, the last running Guard
// revokes them instead. Called with mu held.
func (f *file) unpublish() {
	if f.revoked = f.m.Swap(nil); f.guards == 0 {
		f.revoke()
	}
}

// revoke revokes the mappings that the File had at Close. Called with mu held.
func (f *file) revoke() {
	for m := f.revoked; m != nil; m = m.prev {
		m.region.revoke()
	}
}
