package file

import (
	"bytes"
	"io"

	"go.dw1.io/mmapfile/internal/copies"
	"go.dw1.io/mmapfile/internal/vm"
)

// Memory and system calls must show the same bytes of a file. Most systems do that by
// themselves. OpenBSD needs system calls for it (see noUnifiedCache), and without mappings
// memory is a copy.

// copied reports whether Bytes has returned a copy, which is so only without mappings.
func (f *File) copied() bool { return !canMap && f.copies.Load() != nil }

// writeBack makes bytes stored into memory visible to system calls: n bytes at off, or all if
// n is negative. What fails is reported by Sync and Close, which try it again.
func (f *File) writeBack(off int64, n int) error {
	if canMap && !noUnifiedCache {
		return nil // system calls see what is stored; this much is inlined
	}
	return f.writeBackStored(off, n)
}

func (f *File) writeBackStored(off int64, n int) error {
	if noUnifiedCache {
		return f.flush()
	}
	if c := f.copies.Load(); c != nil {
		return c.WriteBack(off, n)
	}
	return nil
}

// refresh makes bytes that a system call has written visible to loads: b at off, or all if b
// is nil.
func (f *File) refresh(b []byte, off int64) {
	if noUnifiedCache {
		if m := f.m.Load(); m != nil {
			vm.Memory.Refresh(m.data)
		}
	}
	if f.copied() {
		f.copies.Load().Refresh(b, off)
	}
}

// bytesCopy is Bytes without mappings.
func (f *File) bytesCopy() []byte {
	size, regular := f.stat()
	if !regular || size == 0 || size > maxInt/4 {
		return nil
	}
	if !f.copied() {
		f.copies.CompareAndSwap(nil, copies.New(f.inner, f.flag))
	}
	return f.copies.Load().Bytes(int(size))
}

// viewCopy is View on platforms without mappings. fn gets a copy. When it ends, in whatever
// way, the bytes that it changed are written to the file, and only those.
func (f *File) viewCopy(off int64, n int, fn func(p []byte) error) (err error) {
	p := make([]byte, n)
	if _, err := f.readInner(p, off, false); err == io.EOF {
		return err
	} else if err != nil {
		return f.fail("view", cause(err))
	}
	was := bytes.Clone(p)
	defer func() {
		for i, j := range copies.Changes(was, p) {
			if werr := copies.Write(f.inner, f.flag, p[i:j], off+int64(i)); werr != nil {
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

// flush does the part of Sync that the inner file's does not do: it writes back what was
// stored into memory.
func (f *File) flush() (err error) {
	if !canMap {
		return f.writeBack(0, -1)
	}
	f.lockMappings()
	defer f.unlockMappings()
	for m := f.m.Load(); m != nil; m = m.prev {
		n := int64(len(m.data))
		if mapsBeyondEnd {
			n = min(n, f.length.Known())
		}
		if m.writable && n > 0 {
			if e := vm.Memory.Flush(m.data[:n]); err == nil {
				err = e
			}
		}
		if !closeNeedsLock { // on Windows each view is flushed separately
			break
		}
	}
	return err
}
