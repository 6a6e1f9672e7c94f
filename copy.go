package mmapfile

import (
	"bytes"
	"io"
	"os"
	"sync"
	"syscall"
)

//lint:file-ignore U1000 the use of noWriteTo and noReadFrom is to hide a method

// Copies between files and to and from sockets are the kernel's (on Linux
// copy_file_range, sendfile, splice): the inner files do them, at the kernel's
// offset. All others go through Read and Write, since a foreign Writer must not
// be inside the mapping when it faults, nor a foreign Reader scribble on it.

// copyBuf is what io.Copy allocates anew for each copy.
var copyBuf = sync.Pool{New: func() any { return new([32 << 10]byte) }}

// WriteTo writes what is between the cursor and the end of the file to w, and
// moves the cursor. It may be called concurrently with everything, Close
// included, and holds no lock while w works. It returns what [os.File.WriteTo]
// returns, and keeps the kernel's fast paths to files and sockets.
func (f *File) WriteTo(w io.Writer) (n int64, err error) {
	if f == nil {
		return 0, os.ErrInvalid
	}
	if f.private {
		return copyThrough(w, source{File: f}) // the kernel would copy the file
	}
	switch dst := w.(type) {
	case *File:
		if dst == nil || dst.private {
			break // its Write does what is to be done
		}
		if dst.flusher != nil {
			return dst.copyFrom(f.inner, f.file)
		}
		return f.copyTo(dst.inner, dst.file)
	case *os.File, syscall.Conn:
		return f.copyTo(w, nil)
	case *bytes.Buffer:
		f.growFor(dst)
	}
	if w == io.Discard {
		n = f.skip()
	}
	rest, err := copyThrough(w, source{File: f})
	return n + rest, err
}

// skip moves the cursor over what nobody wants to have: it touches each page, for the
// errors of reading it, up to the last of the file, which is left to Read.
func (f *file) skip() (n int64) {
	for {
		m := f.m.Load()
		if m == nil || !f.lockCursor() {
			return n
		}
		off := f.cur.pos
		last := (min(f.size.Load(), int64(m.limit)) - 1) &^ int64(pageSize-1)
		to := min(last, off&^int64(pageSize-1)+skipPiece)
		ok := to > off && f.pages.seen(off, int(to-off)+1) && f.touchAll(m, int(off), int(to))
		if ok {
			f.cur.pos = to
			n += to - off
		}
		f.cur.mu.Unlock()
		if !ok {
			return n
		}
	}
}

const skipPiece = 8 << 20 // for which others may wait

// copyTo has the inner file write to w; dst is the File that w is the inner file of, if any.
func (f *file) copyTo(w io.Writer, dst *file) (int64, error) {
	f.settle(0, -1)
	defer f.cur.leave(f.cur.enter(f.inner))
	if dst != nil {
		dst.settle(0, -1)
		defer dst.movedEnd()
		defer dst.cur.leave(dst.cur.enter(dst.inner))
	}
	n, err := f.inner.WriteTo(w)
	f.cur.moved(n)
	if dst != nil {
		dst.cur.moved(n)
	}
	return n, err
}

// growFor makes room in buf for the rest of the file at once, where that is known.
func (f *file) growFor(buf *bytes.Buffer) {
	if f.m.Load() == nil || !f.lockCursor() {
		return
	}
	size, err := f.inner.Seek(0, io.SeekEnd) // what we remember may be too much for memory
	rest := size - f.cur.pos
	f.cur.mu.Unlock()
	if err == nil && 0 < rest && rest <= maxInt/4 {
		buf.Grow(int(rest) + bytes.MinRead)
	}
}

// ReadFrom writes what r gives until [io.EOF] at the cursor, and moves it. It
// may be called concurrently with everything, Close included, and holds no lock
// while r works. It returns what [os.File.ReadFrom] returns, and keeps the
// kernel's fast paths from files and sockets, those inside an [io.LimitedReader]
// included.
func (f *File) ReadFrom(r io.Reader) (n int64, err error) {
	if f == nil {
		return 0, os.ErrInvalid
	}
	if f.private {
		return copyThrough(sink{File: f}, r)
	}
	src := r
	limited, _ := r.(*io.LimitedReader)
	if limited != nil {
		src = limited.R
	}
	if s, ok := src.(source); ok {
		src = s.File
	}
	switch src := src.(type) {
	case *File:
		if src == nil || src.private {
			break // its Read does what is to be done
		}
		if limited == nil {
			return f.copyFrom(src.inner, src.file)
		}
		l := io.LimitedReader{R: src.inner, N: limited.N}
		n, err = f.copyFrom(&l, src.file)
		limited.N = l.N
		return n, err
	case *os.File, syscall.Conn:
		return f.copyFrom(r, nil)
	}
	return copyThrough(sink{File: f}, r)
}

// copyFrom has the inner file read from r; src is the File that r is the inner file of, if any.
func (f *file) copyFrom(r io.Reader, src *file) (int64, error) {
	f.settle(0, -1)
	defer f.movedEnd()
	defer f.cur.leave(f.cur.enter(f.inner))
	if src != nil {
		src.settle(0, -1)
		defer src.cur.leave(src.cur.enter(src.inner))
	}
	from := f.inner.ReadFrom
	if f.flusher != nil {
		from = func(r io.Reader) (int64, error) { return f.flusher.copyFrom(f, r) }
	}
	n, err := from(r)
	f.cur.moved(n)
	if src != nil {
		src.cur.moved(n)
	}
	return n, err
}

func copyThrough(w io.Writer, r io.Reader) (int64, error) {
	buf := copyBuf.Get().(*[32 << 10]byte)
	defer copyBuf.Put(buf)
	return io.CopyBuffer(w, r, buf[:])
}

// source is a File without WriteTo, so that io.Copy does not come back to it,
// whose Read gives io.EOF together with the last bytes.
type source struct {
	noWriteTo
	*File
}

type noWriteTo struct{}

func (noWriteTo) WriteTo(io.Writer) (int64, error) { panic("mmapfile: hidden method called") }

func (s source) Read(b []byte) (n int, err error) {
	f := s.File
	if !f.lockCursor() {
		return f.Read(b)
	}
	n, last, err := f.readCursor(b)
	f.cur.mu.Unlock()
	if last {
		err = io.EOF
	}
	return n, err
}

// sink is a File without ReadFrom.
type sink struct {
	noReadFrom
	*File
}

type noReadFrom struct{}

func (noReadFrom) ReadFrom(io.Reader) (int64, error) { panic("mmapfile: hidden method called") }
