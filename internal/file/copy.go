package file

import (
	"bytes"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"

	"go.dw1.io/mmapfile/internal/pages"
)

//lint:file-ignore U1000 fields hide methods

// The kernel copies between files and to and from sockets (on Linux copy_file_range,
// sendfile, splice). The inner files do these copies, at the kernel's offset. All other
// copies go through Read and Write. A Writer of the caller must not be inside the mapping
// when it faults, and a Reader must not modify it. To a bytes.Buffer there is one copy, and
// one question for the end.

// WriteTo is the method of mmapfile.File.
func (f *File) WriteTo(w io.Writer) (n int64, err error) {
	if f.private() {
		return copyThrough(w, source{File: f}) // the kernel would copy the file
	}
	if dst, ok := fileOf(w); ok {
		switch {
		case !dst.kernelCopies(): // its Write does the work
			return copyThrough(w, source{File: f})
		case dst.variant != nil:
			return dst.copyFrom(f.inner, f)
		}
		return f.copyTo(dst.inner, dst)
	}
	end := false
	switch dst := w.(type) {
	case *os.File, syscall.Conn:
		return f.copyTo(w, nil)
	case *bytes.Buffer:
		if n, end = f.fill(dst); end {
			return n, nil
		}
	case *strings.Builder:
		if f.m.Load() != nil {
			w = &builder{dst, f}
		}
	}
	rest, err := copyThrough(w, source{File: f})
	return n + rest, err
}

// fileOf returns the File that v is, or is a face of.
func fileOf(v any) (*File, bool) {
	if f, ok := v.(*File); ok {
		return f, true
	}
	return Of(v)
}

// kernelCopies reports whether the kernel may copy to f and from f. It would copy the file,
// not what a private File shows.
func (f *File) kernelCopies() bool { return f != nil && !f.private() }

// fill reads what follows the cursor into the room of dst, if its pages are ready. Then
// Write, which is given that memory, copies nothing. end reports that it has read all.
func (f *File) fill(dst *bytes.Buffer) (n int64, end bool) {
	for range 2 {
		m := f.m.Load()
		if m == nil {
			break
		}
		room := dst.Available() // panics if dst is nil, so no lock may be held
		if !f.lockCursor() {
			break
		}
		off, size := f.cur.Pos(), f.length.Known()
		if size-off <= int64(room) {
			b := dst.AvailableBuffer()[:room]
			n, end, _ := f.loadEndLocked(m, b, off)
			f.cur.SetPos(f.cur.Pos() + int64(n))
			f.cur.Unlock()
			dst.Write(b[:n])
			return int64(n), end
		}
		f.cur.Unlock()
		rest := f.rest()
		if size > int64(m.usable) || f.pages.Draw(off, int(size-off), false) == pages.System {
			dst.Grow(rest + bytes.MinRead) // for its ReadFrom
			break
		}
		dst.Grow(rest)
	}
	return 0, false
}

// builder is a strings.Builder that grows once. It grows in Write, because there os.File
// detects that a Builder was copied.
type builder struct {
	*strings.Builder
	f *File // until then
}

func (b *builder) Write(p []byte) (int, error) {
	if b.f != nil {
		b.Grow(len(p) + b.f.rest())
		b.f = nil
	}
	return b.Builder.Write(p)
}

// rest returns the number of bytes after the cursor, or 0 if that is not known. A stale
// length may be too much for memory, so rest asks before it returns a large one.
func (f *File) rest() int {
	if f.m.Load() == nil || !f.lockCursor() {
		return 0
	}
	defer f.cur.Unlock()
	size := f.length.Known()
	if size-f.cur.Pos() > restUnasked {
		size, _ = f.seekEnd()
	}
	if rest := size - f.cur.Pos(); 0 < rest && rest <= maxInt/4 {
		return int(rest)
	}
	return 0
}

// restUnasked is the number of bytes up to which rest does not ask: to copy more takes 100 times as
// long as the question.
const restUnasked = 1 << 20

// copyTo makes the inner file write to w. dst is the File that has w as its inner file, if
// any.
func (f *File) copyTo(w io.Writer, dst *File) (int64, error) {
	return kernelCopy(f, dst, nil, func() (int64, error) { return f.inner.WriteTo(w) })
}

// ReadFrom is the method of mmapfile.File.
func (f *File) ReadFrom(r io.Reader) (n int64, err error) {
	if f.private() {
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
	if src, ok := fileOf(src); ok {
		if !src.kernelCopies() { // its Read does the work
			return copyThrough(sink{File: f}, r)
		}
		if limited == nil {
			return f.copyFrom(src.inner, src)
		}
		l := io.LimitedReader{R: src.inner, N: limited.N}
		n, err = f.copyFrom(&l, src)
		limited.N = l.N
		return n, err
	}
	switch src.(type) {
	case *os.File, syscall.Conn:
		return f.copyFrom(r, nil)
	}
	return copyThrough(sink{File: f}, r)
}

// copyFrom makes the inner file read from r. src is the File that has r as its inner file,
// if any.
func (f *File) copyFrom(r io.Reader, src *File) (int64, error) {
	limit, _ := r.(*io.LimitedReader)
	return kernelCopy(src, f, limit, func() (int64, error) {
		if f.variant != nil {
			return f.copyFlushed(r)
		}
		return f.inner.ReadFrom(r)
	})
}

// copyBuf holds buffers of the size that io.Copy allocates anew for each copy. The size is
// the same because it is visible in the cursor if a Writer fails, or seeks the file. Pieces
// of 64 to 256 KiB were no faster (100 KiB to 10 MiB, three rounds).
var copyBuf = sync.Pool{New: func() any { return new([32 << 10]byte) }}

func copyThrough(w io.Writer, r io.Reader) (int64, error) {
	buf := copyBuf.Get().(*[32 << 10]byte)
	defer copyBuf.Put(buf)
	return io.CopyBuffer(w, r, buf[:])
}

// source is a File as a Reader of a foreign Writer: with the methods of os.File, but no
// WriteTo, so that io.Copy does not come back to it. It asks for the end as often as os.File,
// because a Writer of the caller may move it in its last Write.
type source struct {
	noWriteTo
	notOfOS
	*File
}

// sink is a File as a Writer of a foreign Reader: with the methods of os.File, but no ReadFrom.
type sink struct {
	noReadFrom
	notOfOS
	*File
}

// A field hides the method of the same name that is embedded beside it.

type (
	noWriteTo  struct{ WriteTo none }
	noReadFrom struct{ ReadFrom none }
)

// notOfOS hides what os.File does not have. Some Writers look for Bytes or Len in a Reader, as
// bytes.Buffer has them, and take them for what is left to read. s2 of klauspost/compress does.
type notOfOS struct {
	Advise, Bytes, Chunks, Guard, Len, LockMemory, OS, Resident, SyncRange, SystemCalls, UnlockMemory, View none
}

type none struct{}
