// Package copies keeps copies of a file, for memory of it where files cannot be mapped.
//
// Invariant: a byte of a copy is the file's, as of the last refresh, unless the caller has stored
// another. What the caller has stored, and nothing else, is written to the file.
package copies

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

// Copies are the copies of one file, each with the content that file and copy last shared. A byte
// that differs from that content was stored by the caller. It is written to the file before any
// call that could see it, and at Sync and Close. Until then it stays as it is.
//
// The race detector sees the copies. It must report what would be a race with a mapping: a
// store into memory concurrent with a ReadAt or WriteAt of those bytes. Accesses beyond the
// call's range (a flush, the calls at the cursor) are hidden from it. They take each byte
// as it is then, as the kernel does when it writes back a mapped page.
type Copies struct {
	file *os.File
	flag int // with which it was opened; negative if that is not known
	mu   sync.Mutex
	all  []fileCopy // a longer file needs a new one; the last is current
	now  []byte     // what writeRange found in a piece of one
}

type fileCopy struct{ data, was []byte }

// New returns the Copies of file, none so far. flag is what it was opened with.
func New(file *os.File, flag int) *Copies { return &Copies{file: file, flag: flag} }

// Bytes returns a copy of the size bytes of the file, or nil if it cannot be read. It is that of
// an earlier call if it is long enough.
func (c *Copies) Bytes(size int) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writeBack(0, -1) // what fails stays, and fails again at Sync and Close
	if i := len(c.all) - 1; i < 0 || len(c.all[i].data) < size {
		n := size
		if i >= 0 {
			n *= 2 // it grew: leave room for further growth
		}
		c.all = append(c.all, fileCopy{sys.AlignedBytes(n), make([]byte, n)})
	}
	if c.refresh() != nil {
		return nil
	}
	return c.all[len(c.all)-1].data[:size:size]
}

// WriteBack writes what was stored into n bytes at off, or into all if n is negative.
func (c *Copies) WriteBack(off int64, n int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.writeBack(off, n)
}

// Refresh updates the copies with b, which was written to the file at off, or with all of the file
// if b is nil.
func (c *Copies) Refresh(b []byte, off int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if b == nil {
		c.refresh()
		return
	}
	c.put(b, off, replaceSeen)
}

// refresh is Refresh with all of the file. Called with mu held.
func (c *Copies) refresh() error {
	if len(c.all) == 0 {
		return nil
	}
	var buf [32 << 10]byte
	last := c.all[len(c.all)-1]
	for off := 0; off < len(last.was); off += len(buf) {
		part := buf[:min(len(buf), len(last.was)-off)]
		n, err := c.file.ReadAt(part, int64(off))
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
func (c *Copies) put(b []byte, off int64, replace func(p *byte, old, new byte)) {
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

// writeBack is WriteBack with mu held.
func (c *Copies) writeBack(off int64, n int) (err error) {
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
			if werr := c.writeRange(one, at, end); werr != nil {
				err = werr
				break
			}
		}
	}
	return err
}

// writeRange writes what differs between at and end. It reads the memory once: what is
// stored after that differs from it, and is written the next time.
func (c *Copies) writeRange(one fileCopy, at, end int) error {
	if c.now == nil {
		c.now = make([]byte, writeBackPiece)
	}
	now := c.now[:end-at]
	race.CopyUnseen(now, one.data[at:end])
	for a, b := range Changes(one.was[at:end], now) {
		if err := Write(c.file, c.flag, now[a:b], int64(at+a)); err != nil {
			return err
		}
		copy(one.was[at+a:], now[a:b]) // before put: what was stored meanwhile stays
		c.put(now[a:b], int64(at+a), race.ReplaceUnseen)
	}
	return nil
}

// Write writes b, which was stored into a copy at off, to file up to its end. What was truncated
// stays truncated, as with a mapping. flag is that of New.
func Write(file *os.File, flag int, b []byte, off int64) error {
	fi, err := file.Stat()
	if err != nil {
		return err
	}
	if off >= fi.Size() {
		return nil
	}
	b = b[:min(int64(len(b)), fi.Size()-off)]
	_, err = file.WriteAt(b, off)
	if pe := (*fs.PathError)(nil); err != nil && !errors.As(err, &pe) {
		err = writeApart(file.Name(), b, off, fi) // the file was opened with os.O_APPEND
	}
	if err != nil && flag >= 0 && flag&(os.O_WRONLY|os.O_RDWR) == 0 {
		return fs.ErrPermission // for any error of the system
	}
	return err
}

// writeApart writes b to the file that fi describes, through a descriptor of its own. One
// opened with os.O_APPEND cannot write in the middle.
func writeApart(name string, b []byte, off int64, fi fs.FileInfo) error {
	again, err := os.OpenFile(name, os.O_WRONLY, 0)
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

// Changes yields the ranges in which a and b, of the same length, differ in every byte.
func Changes(a, b []byte) iter.Seq2[int, int] {
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
