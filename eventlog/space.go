package eventlog

import (
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"syscall"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/sys"
)

// space is the file of a Log or a Reader.
type space struct {
	f *mmapfile.File

	// mu is held for reading by who is inside the mapped memory, since not every
	// platform can keep a range from others once it is unmapped, and by Close.
	mu     sync.RWMutex
	closed bool
}

// fail is err as os would return it.
func (s *space) fail(op string, err error) error {
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		err = pe.Err
	}
	return &fs.PathError{Op: op, Path: s.f.Name(), Err: err}
}

// inside calls fn, which is our own code and calls nobody else's, while the
// file cannot be closed. A page fault in it is an error.
func (s *space) inside(op string, fn func() error) (err error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return s.fail(op, os.ErrClosed)
	}
	old := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(old)
		if r := recover(); r != nil {
			if !isFault(r, true) {
				panic(r)
			}
			err = s.fail(op, s.faultCause())
		}
	}()
	return fn()
}

// close closes the file once nobody is inside.
func (s *space) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return s.f.Close()
}

// truncate truncates the file once no one is inside: Windows unmaps it for that.
func (s *space) truncate(size int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.f.Truncate(size)
}

// isFault reports whether a panic is a page fault, which has an address. An emulator may
// give none (qemu-user): then a fault looks like a nil dereference, of which this package's
// own code has none.
func isFault(r any, own bool) bool {
	if _, ok := r.(interface{ Addr() uintptr }); ok {
		return true
	}
	e, ok := r.(runtime.Error)
	return ok && own && e.Error() == "runtime error: invalid memory address or nil pointer dereference"
}

// faultCause is why the memory of the file could not be touched: hardly ever
// for any other reason than that it was cut.
func (s *space) faultCause() error {
	var src = source{f: s.f}
	end, err := src.readEnd()
	if errors.Is(err, os.ErrClosed) {
		return os.ErrClosed
	}
	if size, serr := s.size(); err == nil && serr == nil && headerSize <= end && end <= size {
		return syscall.EIO
	}
	return io.ErrUnexpectedEOF
}

// size asks the file for its length.
func (s *space) size() (int64, error) {
	fi, err := s.f.Stat()
	if err != nil {
		return 0, err
	}
	return fi.Size(), nil
}

// source gives one goroutine the bytes of a log: in place where they are
// mapped, else as copies. It is used inside the space.
type source struct {
	f    *mmapfile.File
	word *uint64 // WriteOffset, where it is mapped
	mem  []byte  // the file from its start, as far as it is mapped

	from, known int64 // what of mem is in memory, so that touching it waits for no disk

	upto int64  // where to stop reading: what is behind may change
	keep bool   // what bytes returned stays in use
	buf  []byte // else read last
	base int64  // of buf
}

const (
	block     = 64 << 10
	ahead     = 512 << 10
	hugeEvent = 1 << 20 // of which a copy is made only once it is known to be whole
)

// end is the file's WriteOffset. All before it can be read after that.
func (s *source) end() (int64, error) {
	if s.word == nil {
		if !sys.Maps {
			return s.readEnd()
		}
		word, err := mmapfile.At[uint64](s.f, atWriteOffset)
		if err != nil {
			return s.readEnd()
		}
		s.word = word
	}
	return int64(littleWord(atomic.LoadUint64(s.word))), nil
}

// readEnd is end by a system call. A file that has no header yet is an empty log.
func (s *source) readEnd() (int64, error) {
	var b [8]byte
	switch n, err := s.f.ReadAt(b[:], atWriteOffset); {
	case n == len(b):
		return int64(le.Uint64(b[:])), nil
	case err == io.EOF && n == 0:
		return 0, nil
	case err == io.EOF:
		return 0, io.ErrUnexpectedEOF
	default:
		return 0, err
	}
}

// cover sees to it that the file is mapped up to end, where it can be.
func (s *source) cover(end int64) {
	if sys.Maps && end > int64(len(s.mem)) {
		if mem := s.f.Bytes(); len(mem) > len(s.mem) {
			s.mem = mem
		}
	}
}

// bytes returns n bytes at off. What the file does not hold is
// io.ErrUnexpectedEOF, and costs no memory.
func (s *source) bytes(off, n int64) ([]byte, error) {
	end := off + n
	if end <= int64(len(s.mem)) {
		if off < s.from || end > s.known {
			s.bring(off, end)
		}
		return s.mem[off:end:end], nil
	}
	if s.base <= off && end <= s.base+int64(len(s.buf)) {
		return s.buf[off-s.base : end-s.base : end-s.base], nil
	}
	if n > block { // ask before there is memory for it
		if err := s.reaches(end); err != nil {
			return nil, err
		}
		if n > math.MaxInt/2 {
			return nil, errors.ErrUnsupported
		}
	}
	if length := max(n, min(block, s.upto-off)); s.keep || int64(cap(s.buf)) < length {
		s.buf = make([]byte, length)
	} else {
		s.buf = s.buf[:length]
	}
	k, err := s.f.ReadAt(s.buf, off)
	s.buf, s.base = s.buf[:k], off
	if int64(k) >= n {
		return s.buf[:n:n], nil
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return nil, err
}

// bring has the bytes from off to end in memory, and some more, before they are
// touched: View reads them by system call, beside which other goroutines go on.
func (s *source) bring(off, end int64) {
	s.from, s.known = off, max(end, min(off+ahead, s.upto))
	s.f.View(off, s.known-off, func([]byte) error { return nil })
}

// reaches is io.ErrUnexpectedEOF where the file does not reach to end.
func (s *source) reaches(end int64) error {
	fi, err := s.f.Stat()
	if err == nil && fi.Size() < end {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// event returns the entry at off and, with check, its data, which it has
// verified. It has to end at limit or before.
func (s *source) event(off, limit int64, check bool) (e entry, data []byte, err error) {
	if limit-off < entrySize {
		return e, nil, errCut
	}
	b, err := s.bytes(off, entrySize)
	if err != nil {
		return e, nil, err
	}
	e = parseEntry(b)
	if e == (entry{}) { // a hole, which may go on for longer than anyone waits
		return e, nil, errChecksum
	}
	switch n := int64(e.size); {
	case n > limit-off-entrySize:
		return e, nil, errCut
	case !check:
		return e, nil, nil
	case n > hugeEvent && off+entrySize+n > int64(len(s.mem)):
		err := s.reaches(e.next(off))
		if err == nil {
			err = s.checkHuge(off, e)
		}
		if err != nil {
			return e, nil, err
		}
		if !s.keep {
			return e, nil, nil
		}
	}
	if data, err = s.bytes(off+entrySize, int64(e.size)); err != nil {
		return e, nil, err
	}
	if !e.holds(data) {
		return e, nil, errChecksum
	}
	return e, data, nil
}

// checkHuge verifies data in pieces.
func (s *source) checkHuge(off int64, e entry) error {
	piece := source{f: s.f, upto: e.next(off)}
	sum := newSum(e)
	for at, end := off+entrySize, e.next(off); at < end; {
		p, err := piece.bytes(at, min(block, end-at))
		if err != nil {
			return err
		}
		sum.add(p)
		at += int64(len(p))
	}
	if sum.sum != e.sum {
		return errChecksum
	}
	return nil
}
