package file

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"os"
	"runtime/debug"
	"slices"

	"go.dw1.io/mmapfile/internal/evictions"
	"go.dw1.io/mmapfile/internal/pages"
)

// Chunk is that of mmapfile.
type Chunk struct {
	Offset int64
	Data   []byte
}

// Chunks is the method of mmapfile.File.
func (f *File) Chunks(size int) iter.Seq2[Chunk, error] { return f.chunks(size, chunkCopyMax) }

// The most bytes of a window that is a copy. One that memory has no room for would end the process.
const (
	chunkCopyMax  = min(mapLimit/4, 1<<30)
	scarceCopyMax = 64 << 20 // if there was no address space for a mapping
)

func (f *File) chunks(size int, copyMax int64) iter.Seq2[Chunk, error] {
	if size < 1 {
		panic("mmapfile: Chunks with a size of less than 1")
	}
	return func(yield func(Chunk, error) bool) {
		if f == nil {
			yield(Chunk{}, os.ErrInvalid)
			return
		}
		w := walk{f: f, size: min(int64(size), math.MaxInt64/2), copyMax: copyMax, yield: yield}
		for w.on() {
		}
	}
}

// walk is one walk over a file.
type walk struct {
	f         *File
	size      int64
	copyMax   int64
	yield     func(Chunk, error) bool
	off       int64
	m         *mapping
	mem       []byte // if nothing is mapped: a copy of the file
	touching  bool   // a fault now comes from the walk, not from the loop's body
	gone      bool   // a page was gone: ask the file first
	prereadTo int64  // the file is in memory up to here,
	gen       uint32 // as of this gen of evictions
}

// on continues until the end, or until a page is gone. Then it reports true, and the next
// call asks the file first.
func (w *walk) on() (again bool) {
	w.f.innerClosed()
	defer w.caught(debug.SetPanicOnFault(true), &again)
	if m := w.f.m.Load(); m != nil && canMap && !closeNeedsLock && !m.copyOnWrite && w.off == 0 {
		w.m = m // the file need not be asked
		w.f.noteStores()
	}
	for {
		if w.m != nil && !w.gone && !w.windows(w.m.data) {
			return false
		}
		w.gone = false
		p, err := w.next()
		switch {
		case len(p) > 0 && !w.step(p):
			return false
		case err != nil:
			w.yield(Chunk{}, err)
			return false
		case len(p) == 0:
			return false
		}
	}
}

// windows continues in data while memory proves that the file has the whole next window (see proof.go).
func (w *walk) windows(data []byte) bool {
	f, size, yield := w.f, w.size, w.yield
	for off := w.off; ; {
		end := off + size
		bound := min(f.length.Known(), int64(len(data)))
		if end > bound || closeNeedsLock && f.m.Load() == nil {
			return true
		}
		w.preread(off, size)
		w.touching = true
		last := int(end - 1) // a store of the loop may be there, past a truncation: first look at the page after it
		has := f.hasPage(w.m, last) || f.pages.Known(end-1, 1) && f.has(w.m, last)
		if w.touching = false; !has {
			return true
		}
		w.off = end
		if !yield(Chunk{off, data[off:end:end]}, nil) {
			return false
		}
		off = end
	}
}

func (w *walk) step(p []byte) bool {
	off := w.off
	if w.m != nil {
		w.preread(off, int64(len(p)))
	}
	w.off += int64(len(p))
	return w.yield(Chunk{off, p}, nil)
}

// preread loads a window into memory, and for smaller ones what comes next.
func (w *walk) preread(off, n int64) {
	if off+n > w.prereadTo || w.gen != evictions.Generation() {
		n = max(n, pages.AheadBytes)
		w.gen, w.prereadTo = evictions.Generation(), off+n
		w.f.preread(w.m, off, n)
	}
}

// caught ends on after a fault. The next call asks the file what the missing page means.
func (w *walk) caught(old bool, again *bool) {
	debug.SetPanicOnFault(old)
	if w.touching {
		recover()
		w.touching = false
		w.gone, *again = true, true
	}
}

// next asks the file for its length, and returns the next window. At the end that is empty.
func (w *walk) next() ([]byte, error) {
	f := w.f
	size := f.visibleLen()
	n := min(w.size, size-w.off)
	if n <= 0 {
		if size >= 0 && w.m != nil {
			return nil, nil
		}
		return w.readRest()
	}
	end := w.off + n
	if !f.inPlace() {
		if int64(len(w.mem)) < end && size <= w.copyMax {
			w.mem = f.Bytes()
		}
	} else if m, err := f.mapForMemory(size, true); err == nil {
		f.noteStores()
		if w.mem = m.data; !m.copyOnWrite {
			w.m = m
		}
	} else {
		w.m, w.mem = nil, nil
		if errors.Is(err, errNoMemory) {
			w.copyMax = min(w.copyMax, scarceCopyMax)
		}
	}
	if end <= int64(len(w.mem)) {
		return w.mem[w.off:end:end], nil
	}
	if n > w.copyMax {
		return nil, w.tooLong()
	}
	p := make([]byte, n)
	k, err := f.ReadAt(p, w.off)
	if err == io.EOF {
		err = nil
	}
	return p[:k:k], err
}

// readRest reads the next window of a file whose length is 0 or not known. Those in /proc
// have more than that, and others give an error.
func (w *walk) readRest() ([]byte, error) {
	p, err := io.ReadAll(io.NewSectionReader(w.f, w.off, min(w.size, w.copyMax+1)))
	if int64(len(p)) > w.copyMax {
		return nil, w.tooLong()
	}
	return slices.Clip(p), err
}

// tooLong returns the error for a window that would be too large a copy.
func (w *walk) tooLong() error {
	return w.f.fail("chunks", fmt.Errorf("%w: the file is not mapped, and a window is larger than %d bytes", errors.ErrUnsupported, w.copyMax))
}
