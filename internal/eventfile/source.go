package eventfile

import (
	"errors"
	"io"
	"math"
	"sync/atomic"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/sys"
)

// Errors of events and files. NotWhole is true for the first two, and for io.ErrUnexpectedEOF.
var (
	ErrChecksum = errors.New("checksum does not match")
	ErrPastEnd  = errors.New("event goes past the end of the log")
	ErrHeader   = errors.New("not the header of a log")
	ErrGap      = errors.New("segment is missing, or has another number of events")
)

// NotWhole reports whether err says that an event is not whole.
func NotWhole(err error) bool {
	return err == ErrChecksum || err == ErrPastEnd || err == io.ErrUnexpectedEOF
}

// Source gives one goroutine the bytes of a log: in place if they are mapped, else as copies. The
// caller ensures that the file is not closed meanwhile, and that a fault is a panic.
type Source struct {
	File   *mmapfile.File
	Stored *sys.Stored // read in place of File, unless it is nil
	Word   *uint64     // WriteOffset, if it is mapped
	Mem    []byte      // the mapped part of the file, from its start
	Limit  int64       // end of what may be read, since later bytes may change
	Keep   bool        // what Bytes returns stays in use,
	Reuse  bool        // but only as long as the next event Holds
	cold   bool        // Map does nothing

	readFrom, readTo int64 // the range of Mem that is in memory: touching it waits for no disk

	buf  []byte // the last copy
	base int64  // its offset
}

const (
	block     = 64 << 10  // bytes that are copied at a time
	ahead     = 512 << 10 // bytes that are read ahead
	hugeEvent = 1 << 20   // verified before it is copied
)

// End returns the file's WriteOffset. Everything before it can be read after that.
func (s *Source) End() (int64, error) {
	if s.Word == nil {
		if !sys.Maps || s.Stored != nil {
			return s.ReadEnd()
		}
		word, err := mmapfile.At[uint64](s.File, AtWriteOffset)
		if err != nil {
			return s.ReadEnd()
		}
		s.Word = word
	}
	for word := atomic.LoadUint64(s.Word); ; {
		again := atomic.LoadUint64(s.Word)
		if again == word { // never half of one that is being written
			return int64(LittleWord(word)), nil
		}
		word = again
	}
}

// ReadEnd is End by system call. A file without a header yet is an empty log.
func (s *Source) ReadEnd() (int64, error) {
	var b [8]byte
	switch n, err := s.readAt(b[:], AtWriteOffset); {
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

// Map maps the file up to end, if it can be mapped.
func (s *Source) Map(end int64) {
	if sys.Maps && s.Stored == nil && !s.cold && end > int64(len(s.Mem)) {
		if mem := s.File.Bytes(); len(mem) > len(s.Mem) {
			s.Mem = mem
		}
	}
}

// MapIfHot is Map for a pass over the file, unless less than 7/8 of it are in memory. What is read once is
// read faster by system call: in a control group of half the memory, a mapped pass takes 1.9 of the time.
func (s *Source) MapIfHot(end int64) {
	n, err := s.File.Resident(0, end)
	s.cold = err == nil && n < end-end/8
	s.Map(end)
}

// Holds reports whether the event at off can be had without a change of what Bytes has returned.
func (s *Source) Holds(off int64) bool {
	if s.Keep && !s.Reuse || off < int64(len(s.Mem)) {
		return true
	}
	end := s.base + int64(len(s.buf))
	return s.base <= off && off+EntrySize <= end && ParseEntry(s.buf[off-s.base:]).Next(off) <= end
}

// Bytes returns n bytes at off, or io.ErrUnexpectedEOF if the file ends before. Then it
// allocates nothing.
func (s *Source) Bytes(off, n int64) ([]byte, error) {
	end := off + n
	if end <= int64(len(s.Mem)) {
		if off < s.readFrom || end > s.readTo {
			s.readAhead(off, end)
		}
		return s.Mem[off:end:end], nil
	}
	if s.base <= off && end <= s.base+int64(len(s.buf)) {
		return s.buf[off-s.base : end-s.base : end-s.base], nil
	}
	if n > block { // ask before there is memory for it
		if err := s.Reaches(end); err != nil {
			return nil, err
		}
		if n > math.MaxInt/2 {
			return nil, errors.ErrUnsupported
		}
	}
	if length := max(n, min(block, s.Limit-off)); s.Keep && !s.Reuse || int64(cap(s.buf)) < length {
		s.buf = make([]byte, length)
	} else {
		s.buf = s.buf[:length]
	}
	k, err := s.readAt(s.buf, off)
	s.buf, s.base = s.buf[:k], off
	if int64(k) >= n {
		return s.buf[:n:n], nil
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return nil, err
}

func (s *Source) readAt(p []byte, off int64) (int, error) {
	if s.Stored != nil {
		return s.Stored.ReadAt(p, off)
	}
	return s.File.ReadAt(p, off)
}

// readAhead reads the bytes from off to end into memory, and some more, before they are
// touched. View reads by system call, which does not stop other goroutines.
func (s *Source) readAhead(off, end int64) {
	s.readFrom, s.readTo = off, max(end, min(off+ahead, s.Limit))
	s.File.View(off, s.readTo-off, func([]byte) error { return nil })
}

// Reaches returns io.ErrUnexpectedEOF if the file is shorter than end.
func (s *Source) Reaches(end int64) error {
	fi, err := s.File.Stat()
	if err == nil && fi.Size() < end {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// Event returns the entry at off. With check it verifies the data, and returns them, too.
// The event must not end after limit.
func (s *Source) Event(off, limit int64, check bool) (e Entry, data []byte, err error) {
	if limit-off < EntrySize {
		return e, nil, ErrPastEnd
	}
	b, err := s.Bytes(off, EntrySize)
	if err != nil {
		return e, nil, err
	}
	e = ParseEntry(b)
	if e == (Entry{}) { // perhaps a hole, which may be huge
		return e, nil, ErrChecksum
	}
	switch n := int64(e.Size); {
	case n > limit-off-EntrySize:
		return e, nil, ErrPastEnd
	case !check:
		return e, nil, nil
	case n > hugeEvent && off+EntrySize+n > int64(len(s.Mem)):
		err := s.Reaches(e.Next(off))
		if err == nil {
			err = s.checkHuge(off, e)
		}
		if err != nil {
			return e, nil, err
		}
		if !s.Keep {
			return e, nil, nil
		}
	}
	if data, err = s.Bytes(off+EntrySize, int64(e.Size)); err != nil {
		return e, nil, err
	}
	if !e.Matches(data) {
		return e, nil, ErrChecksum
	}
	return e, data, nil
}

// checkHuge verifies data in pieces.
func (s *Source) checkHuge(off int64, e Entry) error {
	piece := Source{File: s.File, Stored: s.Stored, Limit: e.Next(off)}
	sum := NewSum(e)
	for at, end := off+EntrySize, e.Next(off); at < end; {
		p, err := piece.Bytes(at, min(block, end-at))
		if err != nil {
			return err
		}
		sum.Add(p)
		at += int64(len(p))
	}
	if sum.Sum != e.Sum {
		return ErrChecksum
	}
	return nil
}

// CopyEvent returns the event at off with a copy of its data, and verifies the copy.
func (s *Source) CopyEvent(off, limit int64) (e Entry, data []byte, err error) {
	e, _, err = s.Event(off, limit, false)
	if err != nil {
		return e, nil, err
	}
	s.Limit = e.Next(off)
	if int64(e.Size) > block && s.Limit > int64(len(s.Mem)) {
		if err := s.Reaches(s.Limit); err != nil {
			return e, nil, err
		}
	}
	p, err := s.Bytes(off+EntrySize, int64(e.Size))
	if err != nil {
		return e, nil, err
	}
	data = make([]byte, len(p))
	copy(data, p)
	if !e.Matches(data) {
		return e, nil, ErrChecksum
	}
	return e, data, nil
}
