package eventlog

import (
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"syscall"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/eventfile"
	"go.dw1.io/mmapfile/internal/guard"
	"go.dw1.io/mmapfile/internal/sys"
)

var le = binary.LittleEndian

// space is the file of a Log or a Reader.
type space struct {
	f *mmapfile.File

	// mu is held for reading while a goroutine uses the mapped memory, since not every
	// platform can reserve the addresses once they are unmapped, and for writing by Close.
	mu    sync.RWMutex
	ended atomic.Bool // closed, or about to be: iterators yield no event any more
}

// fail returns err as os would.
func (s *space) fail(op string, err error) error {
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		err = pe.Err
	}
	return &fs.PathError{Op: op, Path: s.f.Name(), Err: err}
}

// inside calls fn while the file cannot be closed. fn calls no function of the caller's.
// A page fault in it is an error.
func (s *space) inside(op string, fn func() error) (err error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.ended.Load() {
		return s.fail(op, os.ErrClosed)
	}
	old := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(old)
		if r := recover(); r != nil {
			if !guard.IsFault(r, true) {
				panic(r)
			}
			err = s.fail(op, s.faultCause())
		}
	}()
	return fn()
}

// close closes the file once no goroutine uses its memory.
func (s *space) close() error {
	s.ended.Store(true)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.f.Close()
}

// truncate truncates the file once no goroutine uses its memory: Windows unmaps it for that.
func (s *space) truncate(size int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.f.Truncate(size)
}

// faultCause returns why the memory of the file could not be touched: nearly always because
// the file was truncated.
func (s *space) faultCause() error {
	src := source{f: s.f}
	end, err := src.readEnd()
	if errors.Is(err, os.ErrClosed) {
		return os.ErrClosed
	}
	if size, serr := s.size(); err == nil && serr == nil && eventfile.HeaderSize <= end && end <= size {
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

// source gives one goroutine the bytes of a log: in place if they are mapped, else as
// copies. It is used in functions that inside calls.
type source struct {
	f    *mmapfile.File
	word *uint64 // WriteOffset, if it is mapped
	mem  []byte  // the mapped part of the file, from its start

	readFrom, readTo int64 // the range of mem that is in memory: touching it waits for no disk

	upto int64  // end of what may be read, since later bytes may change
	keep bool   // what bytes returns stays in use
	buf  []byte // the last copy
	base int64  // its offset
}

const (
	block     = 64 << 10
	ahead     = 512 << 10
	hugeEvent = 1 << 20 // verified before it is copied
)

// end returns the file's WriteOffset. Everything before it can be read after that.
func (s *source) end() (int64, error) {
	if s.word == nil {
		if !sys.Maps {
			return s.readEnd()
		}
		word, err := mmapfile.At[uint64](s.f, eventfile.AtWriteOffset)
		if err != nil {
			return s.readEnd()
		}
		s.word = word
	}
	for word := atomic.LoadUint64(s.word); ; {
		again := atomic.LoadUint64(s.word)
		if again == word { // never half of one that is being written: see writesWords
			return int64(eventfile.LittleWord(word)), nil
		}
		word = again
	}
}

// readEnd is end by system call. A file without a header yet is an empty log.
func (s *source) readEnd() (int64, error) {
	var b [8]byte
	switch n, err := s.f.ReadAt(b[:], eventfile.AtWriteOffset); {
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

// cover maps the file up to end, if it can be mapped.
func (s *source) cover(end int64) {
	if sys.Maps && end > int64(len(s.mem)) {
		if mem := s.f.Bytes(); len(mem) > len(s.mem) {
			s.mem = mem
		}
	}
}

// bytes returns n bytes at off, or io.ErrUnexpectedEOF if the file ends before. Then it
// allocates nothing.
func (s *source) bytes(off, n int64) ([]byte, error) {
	end := off + n
	if end <= int64(len(s.mem)) {
		if off < s.readFrom || end > s.readTo {
			s.readAhead(off, end)
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

// bring reads the bytes from off to end into memory, and some more, before they are
// touched. View reads by system call, which does not stop other goroutines.
func (s *source) readAhead(off, end int64) {
	s.readFrom, s.readTo = off, max(end, min(off+ahead, s.upto))
	s.f.View(off, s.readTo-off, func([]byte) error { return nil })
}

// reaches returns io.ErrUnexpectedEOF if the file is shorter than end.
func (s *source) reaches(end int64) error {
	fi, err := s.f.Stat()
	if err == nil && fi.Size() < end {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// event returns the entry at off. With check it verifies the data, and returns them, too.
// The event must not end after limit.
func (s *source) event(off, limit int64, check bool) (e eventfile.Entry, data []byte, err error) {
	if limit-off < eventfile.EntrySize {
		return e, nil, errPastEnd
	}
	b, err := s.bytes(off, eventfile.EntrySize)
	if err != nil {
		return e, nil, err
	}
	e = eventfile.ParseEntry(b)
	if e == (eventfile.Entry{}) { // perhaps a hole, which may be huge
		return e, nil, errChecksum
	}
	switch n := int64(e.Size); {
	case n > limit-off-eventfile.EntrySize:
		return e, nil, errPastEnd
	case !check:
		return e, nil, nil
	case n > hugeEvent && off+eventfile.EntrySize+n > int64(len(s.mem)):
		err := s.reaches(e.Next(off))
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
	if data, err = s.bytes(off+eventfile.EntrySize, int64(e.Size)); err != nil {
		return e, nil, err
	}
	if !e.Matches(data) {
		return e, nil, errChecksum
	}
	return e, data, nil
}

// checkHuge verifies data in pieces.
func (s *source) checkHuge(off int64, e eventfile.Entry) error {
	piece := source{f: s.f, upto: e.Next(off)}
	sum := eventfile.NewSum(e)
	for at, end := off+eventfile.EntrySize, e.Next(off); at < end; {
		p, err := piece.bytes(at, min(block, end-at))
		if err != nil {
			return err
		}
		sum.Add(p)
		at += int64(len(p))
	}
	if sum.Sum != e.Sum {
		return errChecksum
	}
	return nil
}
