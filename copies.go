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

	"go.dw1.io/mmapfile/internal/race"
	"go.dw1.io/mmapfile/internal/sys"
)

// copies holds what Bytes has returned: copies of the file, each with the content that file
// and copy last shared. A byte that differs from that content was stored by the caller. It
// is written to the file before any call that could see it, and at Sync and Close. Until
// then it stays as it is.
//
// The race detector sees the copies. It must report what would be a race with a mapping: a
// store into memory concurrent with a ReadAt or WriteAt of those bytes. Accesses beyond the
// call's range (a flush, the calls at the cursor) are hidden from it. They take each byte
// as it is then, as the kernel does when it writes back a mapped page.
type copies struct {
	mu  sync.Mutex
	all []fileCopy // a longer file needs a new one; the last is current
	now []byte     // what writeBackRange found in a piece of one
}

type fileCopy struct{ data, was []byte }

// bytesCopy is Bytes without mappings.
func (f *file) bytesCopy() []byte {
	size, regular := f.stat()
	if !regular || size == 0 || size > maxInt/4 {
		return nil
	}
	c := f.copies.Load()
	if c == nil {
		f.copies.CompareAndSwap(nil, new(copies))
		c = f.copies.Load()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writeBack(f, 0, -1) // what fails stays, and fails again at Sync and Close
	if i := len(c.all) - 1; i < 0 || len(c.all[i].data) < int(size) {
		n := int(size)
		if i >= 0 {
			n *= 2 // it grew: leave room for further growth
		}
		c.all = append(c.all, fileCopy{sys.AlignedBytes(n), make([]byte, n)})
	}
	if c.refresh(f.inner) != nil {
		return nil
	}
	return c.all[len(c.all)-1].data[:size:size]
}

// writeBackCopies is writeBack without mappings. It writes only the bytes that were stored:
// another process may have written the rest.
func (f *file) writeBackCopies(off int64, n int) error {
	c := f.copies.Load()
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.writeBack(f, off, n)
}

// refreshCopies is refresh without mappings.
func (f *file) refreshCopies(b []byte, off int64) {
	c := f.copies.Load()
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if b == nil {
		c.refresh(f.inner)
		return
	}
	c.put(b, off, replaceSeen)
}

// refresh updates the copies with the file's present content. Called with mu held.
func (c *copies) refresh(inner *os.File) error {
	if len(c.all) == 0 {
		return nil
	}
	var buf [32 << 10]byte
	last := c.all[len(c.all)-1]
	for off := 0; off < len(last.was); off += len(buf) {
		part := buf[:min(len(buf), len(last.was)-off)]
		n, err := inner.ReadAt(part, int64(off))
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		clear(part[n:]) // as the rest of a mapped page
		c.put(part, int64(off), race.ReplaceUnseen)
	}
	return nil
}

// put updates the copies with b, which is in the file at off, except for bytes that the
// caller has stored. It writes only what has changed, because another goroutine may be
// reading the copies. Called with mu held.
func (c *copies) put(b []byte, off int64, replace func(p *byte, old, new byte)) {
	for _, one := range c.all {
		if off >= int64(len(one.data)) {
			continue
		}
		data, was := one.data[off:], one.was[off:]
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

// replaceSeen stores new in *p if it is old. The race detector sees that as a write of the
// caller's.
func replaceSeen(p *byte, old, new byte) {
	if *p == old {
		*p = new
	}
}

// writeBackPiece is the number of bytes that are compared, and at most written, at a time.
const writeBackPiece = 64 << 10

// writeBack is writeBackCopies for f. Called with mu held.
func (c *copies) writeBack(f *file, off int64, n int) (err error) {
	same := race.EqualUnseen
	if n >= 0 {
		same = bytes.Equal
	}
	for _, one := range c.all {
		from, to := 0, len(one.data)
		if n >= 0 {
			from = int(min(max(off, 0), int64(to)))
			to = from + min(n, to-from)
		}
		for at := from; at < to; at += writeBackPiece {
			end := min(at+writeBackPiece, to)
			if same(one.was[at:end], one.data[at:end]) {
				continue
			}
			if werr := c.writeBackRange(f, one, at, end); werr != nil {
				err = werr
				break
			}
		}
	}
	return err
}

// writeBackRange writes what differs between at and end. It reads the memory once: what is
// stored after that differs from it, and is written the next time.
func (c *copies) writeBackRange(f *file, one fileCopy, at, end int) error {
	if c.now == nil {
		c.now = make([]byte, writeBackPiece)
	}
	now := c.now[:end-at]
	race.CopyUnseen(now, one.data[at:end])
	for a, b := range changes(one.was[at:end], now) {
		if err := f.writeStored(now[a:b], int64(at+a)); err != nil {
			return err
		}
		copy(one.was[at+a:], now[a:b])
		c.put(now[a:b], int64(at+a), race.ReplaceUnseen)
	}
	return nil
}

// writeStored writes b, which was stored into a copy of the file at off, up to the end of the
// file. What was truncated stays truncated, as with a mapping.
func (f *file) writeStored(b []byte, off int64) error {
	fi, err := f.inner.Stat()
	if err != nil {
		return err
	}
	if off >= fi.Size() {
		return nil
	}
	b = b[:min(int64(len(b)), fi.Size()-off)]
	_, err = f.inner.WriteAt(b, off)
	if pe := (*fs.PathError)(nil); err != nil && !errors.As(err, &pe) {
		err = f.writeApart(b, off, fi) // the file was opened with os.O_APPEND
	}
	if err != nil && f.flag >= 0 && f.flag&(os.O_WRONLY|os.O_RDWR) == 0 {
		return fs.ErrPermission // for any error of the system
	}
	return err
}

// writeApart writes b to the file that fi describes, through a descriptor of its own. One
// opened with os.O_APPEND cannot write in the middle.
func (f *file) writeApart(b []byte, off int64, fi fs.FileInfo) error {
	again, err := os.OpenFile(f.inner.Name(), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer again.Close()
	now, err := again.Stat()
	if err == nil && !os.SameFile(fi, now) {
		err = errors.ErrUnsupported // the file has been removed or renamed
	}
	if err == nil {
		_, err = again.WriteAt(b, off)
	}
	return err
}

// changes yields the ranges in which a and b, of the same length, differ in every byte.
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

// viewCopy is View on platforms without mappings. fn gets a copy. When it ends, in whatever
// way, the bytes that it changed are written to the file, and only those.
func (f *file) viewCopy(off int64, n int, fn func(p []byte) error) (err error) {
	p := make([]byte, n)
	if _, err := f.readInner(p, off); err == io.EOF {
		return err
	} else if err != nil {
		return f.fail("view", cause(err))
	}
	was := bytes.Clone(p)
	defer func() {
		for i, j := range changes(was, p) {
			if werr := f.writeStored(p[i:j], off+int64(i)); werr != nil {
				if err == nil {
					err = f.fail("view", cause(werr))
				}
				return
			}
			f.refresh(p[i:j], off+int64(i))
		}
	}()
	return fn(p)
}
