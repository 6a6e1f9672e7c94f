package eventfile

import (
	"errors"
	"hash/crc32"
	"io"
	"math"
	"sync/atomic"
	"unsafe"

	"go.dw1.io/mmapfile/internal/logdisk"
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
	File  logdisk.File
	Word  *uint64 // WriteOffset, if it is mapped
	Mem   []byte  // the mapped part of the file, from its start
	Limit int64   // end of what may be read, since later bytes may change
	Keep  bool    // what Bytes returns stays in use,
	Reuse bool    // but only as long as the next event Holds
	cold  bool    // Map does nothing

	readFrom, readTo int64 // the range of Mem that is in memory: touching it waits for no disk

	buf  []byte // the last copy
	base int64  // its offset
}

const (
	block     = 64 << 10  // bytes that are copied at a time
	ahead     = 512 << 10 // bytes that are read ahead
	hugeEvent = 1 << 20   // verified before it is copied
)

// End returns the file's WriteOffset, or that of an empty log if it has no header yet. Everything before it can be read
// after that.
func (s *Source) End() (int64, error) {
	switch end, err := s.word(AtWriteOffset); {
	case err != nil:
		return 0, err
	case end == 0:
		return HeaderSize, nil
	case end < HeaderSize:
		return 0, ErrHeader
	default:
		return end, nil
	}
}

// Start returns the file's StartTimestamp, or 0 if it has no header yet.
func (s *Source) Start() (int64, error) { return s.word(AtStart) }

// word returns a word of the header.
func (s *Source) word(at int64) (int64, error) {
	if s.Word == nil {
		s.Word = logdisk.Word(s.File.Memory())
	}
	if s.Word != nil {
		for word := atomic.LoadUint64(s.wordAt(at)); ; {
			again := atomic.LoadUint64(s.wordAt(at))
			if again == word { // never half of one that is being written
				return int64(LittleWord(word)), nil
			}
			word = again
		}
	}
	var b [8]byte
	n, err := s.File.ReadAt(b[:], at)
	if n == len(b) || err == io.EOF && n == 0 {
		return int64(le.Uint64(b[:])), nil
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return 0, err
}

func (s *Source) wordAt(at int64) *uint64 {
	return &(*[HeaderSize / 8]uint64)(unsafe.Pointer(s.Word))[at/8]
}

// StartWord is where StartTimestamp is, or nil if that is not mapped.
func (s *Source) StartWord() *uint64 {
	if s.Word == nil {
		return nil
	}
	return s.wordAt(AtStart)
}

// Map maps the file up to end, if it can be mapped.
func (s *Source) Map(end int64) {
	if !s.cold && end > int64(len(s.Mem)) {
		if mem := s.File.Memory(); len(mem) > len(s.Mem) {
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
	k, err := s.File.ReadAt(s.buf, off)
	s.buf, s.base = s.buf[:k], off
	if int64(k) >= n {
		return s.buf[:n:n], nil
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return nil, err
}

// readAhead reads the bytes from off to end into memory, and some more, before they are
// touched.
func (s *Source) readAhead(off, end int64) {
	s.readFrom, s.readTo = off, max(end, min(off+ahead, s.Limit))
	s.File.ReadAhead(off, s.readTo-off)
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
	piece := Source{File: s.File, Limit: e.Next(off)}
	sum := sumHead(e.Time, e.Size)
	for at, end := off+EntrySize, e.Next(off); at < end; {
		p, err := piece.Bytes(at, min(block, end-at))
		if err != nil {
			return err
		}
		sum = crc32.Update(sum, crc32.IEEETable, p)
		at += int64(len(p))
	}
	if sum != e.Sum {
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
