package mmapfile

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
)

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
// as the file reaches: what was cut off stays so, as with a mapping.
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
