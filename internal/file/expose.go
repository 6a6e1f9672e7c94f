package file

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// onPages runs call. It returns os.ErrClosed if m was not mapped until its end.
func (f *File) onPages(m *mapping, call func() error) error {
	if !f.tryLockMapping(m) {
		return os.ErrClosed
	}
	defer f.unlockMappings()
	if err := call(); f.m.Load() != nil {
		return err
	}
	return os.ErrClosed // Close may have replaced the pages before the call
}

// errNotMapped is the error for memory of a file that cannot be mapped.
var errNotMapped = fmt.Errorf("%w: the file cannot be mapped; use Read or ReadAt", errors.ErrUnsupported)

// pagesAt returns the mapped pages of n bytes at off, up to the end of the file, and
// the offset of the first one. inside leaves out pages that are partly in the range.
func (f *File) pagesAt(off, n int64, inside bool) (m *mapping, p []byte, from int64, err error) {
	size := f.visibleLen()
	switch {
	case size < 0:
		return nil, nil, 0, f.noSize()
	case !canMap:
		return nil, nil, 0, errors.ErrUnsupported
	case off >= size || n == 0:
		return nil, nil, 0, nil
	}
	end := size
	if n < size-off {
		end = off + n
	}
	whole := size
	if size > mapLimit {
		whole = end // no more than necessary, since address space is short
	}
	if m, err = f.mapForMemory(whole, true); err == io.EOF { // it has been truncated to nothing
		return nil, nil, 0, nil
	} else if err != nil {
		return nil, nil, 0, err
	}
	page := int64(pageSize)
	from = off &^ (page - 1)
	if inside {
		from = (off + page - 1) &^ (page - 1)
		if end < size {
			end &^= page - 1
		}
	} else {
		end = (end + page - 1) &^ (page - 1)
	}
	if end = min(end, int64(len(m.data))); from >= end {
		return m, nil, from, nil
	}
	return m, m.data[from:end], from, nil
}

// inPlace reports whether callers get memory of a mapping. A private File has such memory
// on every platform.
func (f *File) inPlace() bool { return canMap || f.private() }

// bytesAt finds a mapping that shows n bytes at off, all of them in the file. It is nil if n
// is 0, or if the platform has no mappings. hold is as for mapForMemory.
func (f *File) bytesAt(off, n int64, hold bool) (*mapping, error) {
	if m := f.m.Load(); hold && f.coversKnown(m, off, n) && f.proves(m, int(off+n-1)) {
		return m, nil
	}
	size := f.visibleLen()
	switch {
	case size < 0:
		return nil, f.noSize()
	case off+n > size && f.mu.Closed():
		return nil, os.ErrClosed // on Windows the size may be that of another file
	case off+n > size:
		return nil, io.EOF
	case n == 0 || !f.inPlace():
		return nil, nil
	case size > mapLimit:
		size = off + n // as much as is needed, because address space is short
	}
	if m := f.m.Load(); closeNeedsLock && m != nil && off+n <= int64(len(m.data)) {
		size = off + n // a longer mapping would stay beside m
	}
	m, err := f.mapForMemory(size, hold)
	if closeNeedsLock && err == nil && off+n > int64(len(m.data)) {
		if !hold {
			m.region.Unpin()
		}
		return nil, io.EOF
	}
	return m, err
}

// coversKnown reports whether m has n bytes at off that are in the file, by the size that f knows.
// The last of them is in memory.
func (f *File) coversKnown(m *mapping, off, n int64) bool {
	return !closeNeedsLock && m != nil && !f.innerClosed() && 0 < n && n <= maxInt && f.covers(m, off, int(n)) && f.pages.Known(off+n-1, 1)
}

// noSize returns the reason that the file has no size that could be mapped.
func (f *File) noSize() error {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if _, err := f.inner.Stat(); f.mu.Closed() || errors.Is(err, os.ErrClosed) {
		return os.ErrClosed
	}
	return errNotMapped
}
