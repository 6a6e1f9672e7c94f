//go:build nommap || !(unix || windows)

package mmapfile

import (
	"bytes"
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
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
// content it had when it last agreed with the file. A byte that differs from
// that was stored by the caller, and goes into the file before any call that
// could see it, and at Sync and Close.
type memory struct {
	used   atomic.Bool // there are copies
	mu     sync.Mutex
	copies []fileCopy // a longer file needs a new one; the last is current
}

type fileCopy struct{ data, was []byte }

// copied reports whether Bytes has handed out a copy.
func (f *file) copied() bool { return f.mem.used.Load() }

// bytesCopy is Bytes.
func (f *file) bytesCopy() []byte {
	f.settle(0, -1)
	f.mem.mu.Lock()
	defer f.mem.mu.Unlock()
	size, regular := f.stat()
	if !regular || size == 0 || size > maxInt/4 {
		return nil
	}
	if i := len(f.mem.copies) - 1; i < 0 || len(f.mem.copies[i].data) < int(size) {
		n := int(size)
		if i >= 0 {
			n *= 2 // it grew: spare the next times
		}
		f.mem.used.Store(true)
		f.mem.copies = append(f.mem.copies, fileCopy{make([]byte, n), make([]byte, n)})
	}
	if f.refresh() != nil {
		return nil
	}
	return f.mem.copies[len(f.mem.copies)-1].data[:size:size]
}

// refresh reads the file into the copies, which hold nothing new. Called with
// mem.mu held.
func (f *file) refresh() error {
	for _, c := range f.mem.copies {
		n, err := f.inner.ReadAt(c.was, 0)
		if n == 0 && err != nil && n < len(c.was) && !errors.Is(err, io.EOF) {
			return err
		}
		clear(c.was[n:])
		copy(c.data, c.was)
	}
	return nil
}

// settle writes what was stored into memory, within n bytes at off or anywhere
// if n is negative: from the first to the last changed byte of each page.
func (f *file) settle(off int64, n int) (err error) {
	if !f.mem.used.Load() {
		return nil
	}
	f.mem.mu.Lock()
	defer f.mem.mu.Unlock()
	for i, c := range f.mem.copies {
		from, to := 0, len(c.data)
		if n >= 0 {
			from = int(min(max(off, 0), int64(to)))
			to = from + min(n, to-from)
		}
		for from < to {
			end := min((from|(pageSize-1))+1, to)
			if !bytes.Equal(c.data[from:end], c.was[from:end]) {
				a, b := changed(c.was[from:end], c.data[from:end])
				err = errors.Join(err, f.writeBack(i, from+a, from+b))
			}
			from = end
		}
	}
	return err
}

// writeBack writes the bytes from a to b of copy i, as far as the file reaches:
// what was cut off stays so, as with a mapping. Called with mem.mu held.
func (f *file) writeBack(i, a, b int) error {
	fi, err := f.inner.Stat()
	if err != nil {
		return err
	}
	p := f.mem.copies[i].data[a:b]
	if left := fi.Size() - int64(a); left > 0 {
		if _, err := f.inner.WriteAt(p[:min(int64(len(p)), left)], int64(a)); err != nil {
			return err
		}
	}
	f.put(p, int64(a))
	return nil
}

// put brings b, which is in the file at off, into the copies. Called with
// mem.mu held.
func (f *file) put(b []byte, off int64) {
	for _, c := range f.mem.copies {
		if off < int64(len(c.data)) {
			copy(c.was[off:], b)
			copy(c.data[off:], b)
		}
	}
}

// absorb brings what a call has written at off into memory, or reads all of
// the file again if b is nil.
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
	f.put(b, off)
}

func (f *file) cut(size int64) error { return f.inner.Truncate(size) }

func (f *file) flush() error { return f.settle(0, -1) }

// What follows is never reached, since canMap is false.

func mapFile(*os.File, int, bool) ([]byte, bool, error) { return nil, false, errors.ErrUnsupported }
func descriptorMode(*os.File, int) (mode, error)        { return mode{}, errors.ErrUnsupported }
func reserve([]byte)                                    {}
func unmap([]byte, int)                                 {}
func touch(*os.File)                                    {}
func storageOf(*os.File) storage                        { return storageRemote }
