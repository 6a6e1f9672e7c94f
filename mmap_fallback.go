//go:build nommap || !(unix || windows)

package mmapfile

import (
	"bytes"
	"errors"
	"io"
	"math"
	"os"
	"sync"
	"sync/atomic"
	"unsafe"
)

const (
	canMap        = false
	locked        = false
	mapsBeyondEnd = false
	split         = false
	mapLimit      = maxInt
)

var errNoMemory = errors.ErrUnsupported

// memory holds what Bytes has handed out: copies of the file, each with the
// content that the file had when they last agreed. A byte that differs from that
// was stored by the caller. It goes into the file before any call that could see
// it, and at Sync and Close, and stays what it is until it is there.
//
// The race detector sees the copies. There it shall find what is a race of the
// program with a mapping, too: a store into memory that a ReadAt or WriteAt of
// those bytes meets. What looks at more than the call was asked for (a flush,
// the calls at the cursor) is unseen by it. It takes each byte as it is then, as
// the kernel does that writes back a mapped page.
type memory struct {
	used   atomic.Bool // there are copies
	mu     sync.Mutex
	copies []fileCopy // a longer file needs a new one; the last is current
	now    []byte     // what settleRange found in a piece of one
}

type fileCopy struct{ data, was []byte }

// copied reports whether Bytes has handed out a copy.
func (f *file) copied() bool { return f.mem.used.Load() }

// bytesCopy is Bytes.
func (f *file) bytesCopy() []byte {
	f.mem.mu.Lock()
	defer f.mem.mu.Unlock()
	f.settleLocked(0, -1) // what fails stays, and fails again at Sync and Close
	size, regular := f.stat()
	if !regular || size == 0 || size > maxInt/4 {
		return nil
	}
	if i := len(f.mem.copies) - 1; i < 0 || len(f.mem.copies[i].data) < int(size) {
		n := int(size)
		if i >= 0 {
			n *= 2 // it grew: spare the next times
		}
		f.mem.copies = append(f.mem.copies, fileCopy{aligned(n), make([]byte, n)})
		f.mem.used.Store(true)
	}
	if f.refresh() != nil {
		return nil
	}
	return f.mem.copies[len(f.mem.copies)-1].data[:size:size]
}

// refresh brings what the file holds now into the copies. Called with mem.mu held.
func (f *file) refresh() error {
	var buf [32 << 10]byte
	last := f.mem.copies[len(f.mem.copies)-1]
	for off := 0; off < len(last.was); off += len(buf) {
		part := buf[:min(len(buf), len(last.was)-off)]
		n, err := f.inner.ReadAt(part, int64(off))
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		clear(part[n:]) // as the rest of a mapped page
		f.put(part, int64(off), replaceUnseen)
	}
	return nil
}

// put brings b, which is in the file at off, into the copies, but for what the
// caller has stored there. It writes only what has changed: another goroutine may
// be reading the copies. Called with mem.mu held.
func (f *file) put(b []byte, off int64, replace func(p *byte, old, new byte)) {
	for _, c := range f.mem.copies {
		if off >= int64(len(c.data)) {
			continue
		}
		data, was := c.data[off:], c.was[off:]
		b := b[:min(len(b), len(was))]
		if bytes.Equal(was[:len(b)], b) {
			continue
		}
		for i, x := range b {
			if was[i] != x {
				replace(&data[i], was[i], x)
				was[i] = x
			}
		}
	}
}

// replaceSeen stores new where there is old, as a write of the caller's.
func replaceSeen(p *byte, old, new byte) {
	if *p == old {
		*p = new
	}
}

// settle writes what was stored into memory, within n bytes at off or anywhere
// if n is negative, and no other byte: somebody else may have written those.
func (f *file) settle(off int64, n int) error {
	if !f.mem.used.Load() {
		return nil
	}
	f.mem.mu.Lock()
	defer f.mem.mu.Unlock()
	return f.settleLocked(off, n)
}

// settlePiece is how much is compared, and written at most, at a time.
const settlePiece = 64 << 10

func (f *file) settleLocked(off int64, n int) (err error) {
	same := equalUnseen
	if n >= 0 {
		same = bytes.Equal
	}
	for _, c := range f.mem.copies {
		from, to := 0, len(c.data)
		if n >= 0 {
			from = int(min(max(off, 0), int64(to)))
			to = from + min(n, to-from)
		}
		for at := from; at < to; at += settlePiece {
			end := min(at+settlePiece, to)
			if same(c.was[at:end], c.data[at:end]) {
				continue
			}
			if werr := f.settleRange(c, at, end); werr != nil {
				err = werr
				break
			}
		}
	}
	return err
}

// settleRange writes what differs between at and end. It takes one look at what is
// there: what is stored after that differs from it, and is written the next time.
func (f *file) settleRange(c fileCopy, at, end int) error {
	if f.mem.now == nil {
		f.mem.now = make([]byte, settlePiece)
	}
	now := f.mem.now[:end-at]
	copyUnseen(now, c.data[at:end])
	for a, b := range changes(c.was[at:end], now) {
		if err := f.writeBack(now[a:b], int64(at+a)); err != nil {
			return err
		}
		copy(c.was[at+a:], now[a:b])
		f.put(now[a:b], int64(at+a), replaceUnseen)
	}
	return nil
}

// absorb brings what a call has written at off into memory, or all of the file
// if b is nil.
func (f *file) absorb(b []byte, off int64) {
	if !f.mem.used.Load() {
		return
	}
	f.mem.mu.Lock()
	defer f.mem.mu.Unlock()
	if b == nil {
		f.refresh()
		return
	}
	f.put(b, off, replaceSeen)
}

const syncsRanges = false

func datasync(f *os.File) error { return f.Sync() }

// mapPrivate is a copy that is never written back.
func mapPrivate(f *os.File, length int, _ bool) ([]byte, error) {
	data := aligned(length)
	_, err := io.ReadFull(io.NewSectionReader(f, 0, int64(length)), data)
	if err == io.ErrUnexpectedEOF || err == io.EOF {
		err = nil // it has been cut meanwhile
	}
	return data, err
}

// aligned is n bytes where any number may stand, as in a mapping.
func aligned(n int) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(make([]uint64, n/8+1)))), n)
}

func (f *file) cut(size int64) error { return f.inner.Truncate(size) }

func (f *file) flush() error { return f.settle(0, -1) }

// What follows is never reached, since canMap is false.

func mapFile(*os.File, int, bool, bool) ([]byte, bool, error) {
	return nil, false, errors.ErrUnsupported
}
func descriptorMode(*os.File, int) (mode, error)        { return mode{}, errors.ErrUnsupported }
func reserve([]byte)                                    {}
func unmap(_, _ []byte)                                 {}
func markModified(*os.File, int64)                      {}
func storageOf(*os.File) storage                        { return storageRemote }
func syncMapped([]byte) error                           { return errors.ErrUnsupported }
func adviseMemory([]byte, Advice) error                 { return errors.ErrUnsupported }
func lockMemory([]byte) error                           { return errors.ErrUnsupported }
func unlockMemory([]byte) error                         { return errors.ErrUnsupported }
func residentPages([]byte) (int64, error)               { return 0, errors.ErrUnsupported }
func cachedPages(*os.File, int64, int64) (int64, error) { return 0, errors.ErrUnsupported }
func inMemory(*os.File, int64, int64) (bool, error)     { return false, errors.ErrUnsupported }

func prefaultPages(*os.File, []byte, int64) error { return errors.ErrUnsupported }

func majorFaults() (int64, bool) { return 0, false }

func fileSizeLimit() int64 { return math.MaxInt64 }
