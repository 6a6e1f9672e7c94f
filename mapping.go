package mmapfile

import (
	"errors"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.dw1.io/mmapfile/internal/pages"
	"go.dw1.io/mmapfile/internal/sys"
)

// mapping is one range of memory that shows the file from its start. It may reach past the
// file's end, if the platform allows that, so that growth does not need a new one each
// time. It is never changed once published.
type mapping struct {
	data     []byte
	limit    int         // how much of data calls may use: all, or none on a network file system
	writable bool        // stores reach the file
	own      bool        // pages of a private File, whose content does not prove where the file ends
	locks    *rangeLocks // nil if writes must not use it
	region   *region
	prev     *mapping // the shorter one before, for callers that still hold its slices
}

// mapTo publishes a mapping of at least size bytes, or of as much as address space allows.
// With whole, for Bytes and View, it fails if it cannot map all of them. Called with mu
// held.
func (f *file) mapTo(size int64, whole bool) error {
	m := f.m.Load()
	mapped := m != nil && int64(len(m.data)) >= size
	if mapped && (whole || int64(m.limit) >= size) {
		return nil
	}
	flag := f.flag
	if sys.Maps && !locked && !f.ownDescriptor() {
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
	if mapped && int64(m.limit) >= limit {
		return errNoMemory // no more of it may be used
	}
	if mapped {
		next := *m
		next.limit = int(min(limit, int64(len(m.data))))
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
	if !roomFor(min(size, mapLimit), whole) {
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
		data: data, limit: int(min(limit, int64(len(data)))), writable: writable,
		region: newRegion(f, data),
	}
	if writable && access.Plain {
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
	pages.Watch(anyMapped)
	return nil
}

// anyMapped reports whether any File is mapped.
func anyMapped() bool { return ranges.Load() > reserved.Load() }

const maxInt = int64(^uint(0) >> 1)

// region owns the address range of a mapping. It has no reference to the File, so that it
// can be the argument of the File's cleanup.
type region struct {
	data    []byte
	shown   []byte // the part of data that is mapped: all, or less after a truncation if locked
	rest    []byte // what is reserved after shown then
	state   atomic.Uint32
	counted bool         // as a mapped File in Stats
	exposed atomic.Bool  // Bytes has returned slices
	pins    atomic.Int64 // if locked: calls of View inside
	cleanup runtime.Cleanup
}

// The states of a region.
const (
	regionMapped   = iota
	regionReserved // inaccessible, and counted in reserved
	regionGone
)

// The system allows some 65,530 ranges of memory in all (vm.max_map_count), and Go's own
// heap fails if none is left. So past rangesMax, system calls serve further files. Bytes
// and View still get a mapping up to twice that.
//
// Address space is scarce on 32 bits. Hence the same bound applies in bytes, and four times
// that for Bytes and View: 2 GiB there. If the process has a limit (RLIMIT_AS), the bounds
// are at most a quarter and a half of it. Go itself takes 1.2 GiB, and dies if its heap
// cannot grow.
//
// Ranges of closed Files count too, if a call may still use them. They stay reserved until
// their File is unreachable. After each reservedGC new ones the package starts a
// collection, and Bytes and View wait for one.
const (
	rangesMax  = 16 << 10
	bytesMax   = mapLimit
	bytesAsked = 4 * min(bytesMax, 1<<60)
	reservedGC = 8 << 10
)

var (
	ranges, rangeBytes      atomic.Int64 // all that are mapped or reserved
	reserved, reservedBytes atomic.Int64 // those of closed Files
	kept, keptBytes         atomic.Int64 // of those, what the last collection left: still in use

	space      atomic.Int64 // the process's limit, as of the last mapping; 0 before
	collecting sync.Mutex
)

// bounds returns how many bytes may be mapped or reserved for the hot path, and for Bytes
// and View.
func bounds() (unasked, asked int64) {
	limit := space.Load()
	if limit == 0 {
		return bytesMax, bytesAsked
	}
	return min(bytesMax, limit/4), min(bytesAsked, limit/2)
}

// roomFor reports whether another range of size bytes may be mapped. If asked, for Bytes or
// View, it makes room if it can.
func roomFor(size int64, asked bool) bool {
	space.Store(sys.AddressSpace())
	full := func() bool {
		limit, _ := bounds()
		return ranges.Load() >= rangesMax || rangeBytes.Load()+size > limit
	}
	if !full() {
		return true
	}
	reclaim(asked, func() bool { return !full() })
	_, limit := bounds()
	return asked && ranges.Load() < 2*rangesMax && rangeBytes.Load()+size <= limit
}

// reclaim collects the reservations of closed Files, unless the last collection found all
// of them in use. With wait, it returns when the ranges are unmapped, when enough returns
// true, or 80 ms after the collection. Without wait it returns at once.
func reclaim(wait bool, enough func() bool) {
	if !wait {
		if reserved.Load() > kept.Load() {
			go collect()
		}
		return
	}
	collecting.Lock() // not concurrently with another collection, which may free what is needed
	defer collecting.Unlock()
	if !enough() && reserved.Load() > kept.Load() {
		collectLocked(enough)
	}
}

// retry calls do. If do fails for lack of address space, retry collects reservations. With
// wait, it then calls do again until there is enough.
func retry(wait bool, do func() error) error {
	err := do()
	if err == errNoMemory && reserved.Load() > 0 {
		again := func() bool {
			if err == errNoMemory {
				err = do()
			}
			return err != errNoMemory
		}
		if reclaim(wait, again); wait {
			again() // the last range may be unmapped since
		}
	}
	return err
}

// collect starts a collection that unmaps the ranges of closed Files that are not in use,
// unless one is running.
func collect() {
	if collecting.TryLock() {
		collectLocked(func() bool { return false })
		collecting.Unlock()
	}
}

// collectLocked collects, and waits as reclaim says.
func collectLocked(enough func() bool) {
	runtime.GC()
	kept.Store(reserved.Load())
	keptBytes.Store(reservedBytes.Load())
	// The cleanups run on other goroutines, which may have to wait for a processor.
	for d := 10 * time.Microsecond; d < 50*time.Millisecond && !enough() && reserved.Load() > 0; d *= 2 {
		time.Sleep(d)
	}
}

func newRegion(f *file, data []byte) *region {
	r := &region{data: data, shown: data}
	r.pins.Store(1)
	ranges.Add(1)
	rangeBytes.Add(int64(len(data)))
	r.cleanup = runtime.AddCleanup(f, (*region).free, r)
	return r
}

// revoke ends the use of the range and releases the file. The range becomes inaccessible
// at once for every goroutine. A late access faults, and never reaches memory of another
// owner. If the platform cannot do that (locked), the range is unmapped with its last pin.
// The File's lock guarantees that no call uses it then.
func (r *region) revoke() {
	if locked {
		r.unpin()
		return
	}
	if !r.state.CompareAndSwap(regionMapped, regionReserved) {
		return
	}
	r.uncount()
	reserve(r.data, nil)
	n, bytes := reserved.Add(1), reservedBytes.Add(int64(len(r.data)))
	limit, _ := bounds()
	if n-kept.Load() > reservedGC || bytes-keptBytes.Load() > limit/2 {
		go collect()
	}
}

// free unmaps the range. No call can be inside: its File is unreachable, or its lock is
// held.
func (r *region) free() {
	was := r.state.Swap(regionGone)
	if was == regionGone {
		return
	}
	if was == regionMapped {
		r.uncount()
	}
	unmap(r.shown, r.rest)
	size := int64(len(r.data))
	ranges.Add(-1)
	rangeBytes.Add(-size)
	if was == regionReserved {
		capTo(&kept, reserved.Add(-1))
		capTo(&keptBytes, reservedBytes.Add(-size))
	}
}

// countFile makes Stats count the File of the region while it is mapped.
func (r *region) countFile() {
	r.counted = true
	stats.files.Add(1)
}

func (r *region) uncount() {
	if r.counted {
		stats.files.Add(-1)
	}
}

// capTo limits kept to the present number. Cleanups, which call it, run after the
// collection that found them was counted.
func capTo(kept *atomic.Int64, now int64) {
	if kept.Load() > now {
		kept.Store(now)
	}
}

// abandon unmaps the range of a mapping that was replaced, if no caller holds a slice of
// it. The File's lock, which is held, keeps calls out.
func (r *region) abandon() bool {
	if !locked || r.exposed.Load() || r.pins.Load() > 1 {
		return false
	}
	r.cleanup.Stop() // it would keep r until the File, which is in use here, is closed
	r.unpin()
	return true
}

// unpin unmaps the range with the last pin, one of which is the File's.
func (r *region) unpin() {
	if r.pins.Add(-1) == 0 {
		r.free()
	}
}

// hide replaces the mapping of the range by a reservation, so that an access faults.
func (r *region) hide() {
	if len(r.shown) > 0 { // else it was hidden before
		r.shown, r.rest = nil, reserve(r.data, r.rest)
	}
}

// show maps the first length bytes of inner to the hidden range, and returns them. The rest
// of the range stays reserved.
func (r *region) show(inner *os.File, length int, write bool) []byte {
	if length == 0 || len(r.rest) != len(r.data) {
		return nil
	}
	r.shown, r.rest, _ = mapReserved(inner, r.rest, length, write)
	return r.shown[:len(r.shown):len(r.shown)]
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
		next.limit = min(next.limit, len(next.data))
		next.prev = f.m.Load()
		f.m.Store(&next)
	}
	return err
}

// unpublish ends the mappings of a File. On a platform with locked, the last running Guard
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
