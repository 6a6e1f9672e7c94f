//go:build nommap || !(unix || windows)

package mmapfile

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"sync"
	"sync/atomic"
	"unsafe"

	"go.dw1.io/mmapfile/internal/race"
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
		f.put(part, int64(off), race.ReplaceUnseen)
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
// if n is negative, and no other byte: another process may have written those.
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
	same := race.EqualUnseen
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
	race.CopyUnseen(now, c.data[at:end])
	for a, b := range changes(c.was[at:end], now) {
		if err := f.writeBack(now[a:b], int64(at+a)); err != nil {
			return err
		}
		copy(c.was[at+a:], now[a:b])
		f.put(now[a:b], int64(at+a), race.ReplaceUnseen)
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

// mapPrivate is a copy that is never written back.
func mapPrivate(f *os.File, length int, _ bool) ([]byte, error) {
	data := aligned(length)
	_, err := io.ReadFull(io.NewSectionReader(f, 0, int64(length)), data)
	if err == io.ErrUnexpectedEOF || err == io.EOF {
		err = nil // it has been truncated meanwhile
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
func descriptorMode(*os.File, int) (mode, error) { return mode{}, errors.ErrUnsupported }
func reserve([]byte)                             {}
func unmap(_, _ []byte)                          {}

// viewCopy is View where there are no mappings: fn gets a copy, and the bytes
// that it changed, no others, go into the file when it ends, in whatever way.
func (f *file) viewCopy(off int64, n int, fn func(p []byte) error) (err error) {
	p := make([]byte, n)
	if _, err := f.readAt(p, off); err == io.EOF {
		return err
	} else if err != nil {
		return f.fail("view", cause(err))
	}
	was := bytes.Clone(p)
	defer func() {
		for i, j := range changes(was, p) {
			if werr := f.writeBack(p[i:j], off+int64(i)); werr != nil {
				if err == nil {
					err = f.fail("view", werr)
				}
				return
			}
			f.absorb(p[i:j], off+int64(i))
		}
	}()
	return fn(p)
}

// writeBack writes b, which was stored into a copy of the file at off, as far
// as the file reaches: what was truncated stays so, as with a mapping.
func (f *file) writeBack(b []byte, off int64) error {
	fi, err := f.inner.Stat()
	if err != nil {
		return cause(err)
	}
	if off >= fi.Size() {
		return nil
	}
	b = b[:min(int64(len(b)), fi.Size()-off)]
	_, err = f.inner.WriteAt(b, off)
	if pe := (*fs.PathError)(nil); err != nil && !errors.As(err, &pe) {
		err = f.writeApart(b, off, fi) // it was opened with os.O_APPEND
	}
	if err != nil && f.flag >= 0 && f.flag&(os.O_WRONLY|os.O_RDWR) == 0 {
		return fs.ErrPermission // whatever the system calls it
	}
	return cause(err)
}

// writeApart writes b to the file, which fi is of, through a descriptor that can
// write in its middle: one opened with os.O_APPEND cannot.
func (f *file) writeApart(b []byte, off int64, fi fs.FileInfo) error {
	again, err := os.OpenFile(f.inner.Name(), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer again.Close()
	now, err := again.Stat()
	if err == nil && !os.SameFile(fi, now) {
		err = errors.ErrUnsupported // it has been removed or renamed
	}
	if err == nil {
		_, err = again.WriteAt(b, off)
	}
	return err
}

// changes are the ranges in which a and b, of the same length, differ in every byte.
func changes(a, b []byte) iter.Seq2[int, int] {
	const step = 4 << 10
	return func(yield func(i, j int) bool) {
		for i := 0; i < len(a); {
			if n := min(step, len(a)-i); i%step == 0 && bytes.Equal(a[i:i+n], b[i:i+n]) {
				i += n
				continue
			}
			if a[i] == b[i] {
				i++
				continue
			}
			j := i
			for j < len(a) && a[j] != b[j] {
				j++
			}
			if !yield(i, j) {
				return
			}
			i = j
		}
	}
}
