package eventlog

import (
	"io/fs"
	"math"
	"os"
	"sync/atomic"

	"go.dw1.io/mmapfile/internal/eventfile"
	"go.dw1.io/mmapfile/internal/logdisk"
)

// segment is one file of a stream. It is opened for reading at the first use.
type segment struct {
	first int64 // number of its first event
	l     *segmentList
	index eventfile.Index

	start   atomic.Int64 // StartTimestamp, or 0 if it was not read yet
	durable atomic.Int64 // offset before which a StreamReader knows that events are durable

	bytes atomic.Int64 // length of the file in a Stream, unless it is the active one

	// mu guards what follows. It is taken before the mu of logFile, and after that of segmentList.
	mu      logdisk.Mutex
	file    atomic.Pointer[segmentFile] // nil if it is not open
	refs    int                         // iterators that use it
	removed bool                        // it is closed when no iterator uses it
}

// segmentFile is a segment that is open for reading.
type segmentFile struct {
	logFile
	mem atomic.Pointer[[]byte] // the file's memory, nil if it is not mapped: finding it costs a system call
}

func (s *segment) name() string { return eventfile.SegmentName(s.l.dir, s.first) }

// acquire opens the segment if need be, and keeps it open until release.
func (s *segment) acquire() (*segmentFile, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, err := s.open()
	if err == nil {
		s.refs++
	}
	return f, err
}

func (s *segment) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refs--; s.refs == 0 && s.removed {
		s.shut()
	}
}

// open returns the open file. It is called with mu held.
func (s *segment) open() (*segmentFile, error) {
	if f := s.file.Load(); f != nil {
		return f, nil
	}
	switch {
	case s.l.closed.Load():
		return nil, s.l.fail("open", os.ErrClosed)
	case s.removed:
		return nil, s.l.fail("open", fs.ErrNotExist)
	}
	f, err := eventfile.Open(s.name(), os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	if err := s.l.here(); err != nil {
		f.Close()
		return nil, err
	}
	file := &segmentFile{logFile: logFile{f: f}}
	s.file.Store(file)
	s.l.opened.Add(1)
	return file, nil
}

// shut closes the file. It is called with mu held. It waits for reads, not for the bodies
// of loops.
func (s *segment) shut() {
	if f := s.file.Swap(nil); f != nil {
		f.close()
		s.l.opened.Add(-1)
	}
}

// shutIdle closes the file if no iterator uses it.
func (s *segment) shutIdle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refs == 0 {
		s.shut()
	}
}

// drop closes the segment for good. If an iterator uses it, the last release closes it.
func (s *segment) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.removed = true
	if s.refs == 0 {
		s.shut()
	}
}

// memory returns the file's bytes up to end at least, or nil if they are not mapped.
func (f *segmentFile) memory(end int64) []byte {
	if mem := f.mem.Load(); mem != nil && int64(len(*mem)) >= end {
		return *mem
	}
	mem := f.f.Memory()
	if int64(len(mem)) < end {
		return nil
	}
	f.mem.Store(&mem)
	return mem
}

// source returns a source of the events before end.
func (f *segmentFile) source(end int64) eventfile.Source {
	mem := f.memory(end)
	return eventfile.Source{File: f.f, Mem: mem, Limit: end}
}

// end returns WriteOffset.
func (f *segmentFile) end() (int64, error) {
	src := eventfile.Source{File: f.f, Word: logdisk.Word(f.memory(eventfile.HeaderSize))}
	return src.End()
}

// find returns the place of event seq, and makes src a source of the events. It is called
// by whileOpen.
func (s *segment) find(f *segmentFile, src *eventfile.Source, seq int64) (p eventfile.Place, err error) {
	end, err := f.end()
	if err != nil {
		return eventfile.Place{}, s.damage(0, 0, err)
	}
	*src = f.source(end)
	i := seq - s.first
	if p = s.index.Look(i); i >= p.N {
		err := s.extend(f, src)
		if p = s.index.Look(i); i >= p.N { // else an error is of a later event
			return p, err
		}
	}
	if p, err = s.index.Walk(src, i, p); err != nil {
		err = s.damage(p.I, p.Off, err)
	}
	return p, err
}

// extend adds all events to the index, or those before damage. If the segment is not the last, their number must be
// the one that the name of the next segment says.
func (s *segment) extend(f *segmentFile, src *eventfile.Source) error {
	for {
		// This comes before the end, since the writer fills a segment before it begins the next.
		next := s.l.following(s.first)
		end, err := f.end()
		if err != nil {
			return s.damage(0, 0, err)
		}
		*src = f.source(end)
		want := int64(eventfile.Unknown)
		if next >= 0 {
			want = next - s.first
		}
		err = s.index.Extend(src, end, want)
		if next >= 0 {
			s.l.thinIndexes()
		}
		if err == nil || s.l.following(s.first) == next { // else TruncateBack has run meanwhile
			p := s.index.Look(math.MaxInt64)
			if err == eventfile.ErrGap {
				p = eventfile.Place{}
			}
			return s.damage(p.N, p.Off, err)
		}
	}
}

// locate returns the offset of event number seq, or the end if there is no such event, and
// the number after the last event that is known. With an error, that is the number of the event
// that is damaged. It is called by whileOpen.
func (s *segment) locate(f *segmentFile, seq int64) (off, next int64, err error) {
	var src eventfile.Source
	p, err := s.find(f, &src, seq)
	return p.Off, s.first + p.N, err
}

// read calls fn with the open file, as whileOpen does.
func (s *segment) read(fn func(f *segmentFile) error) error {
	f, err := s.acquire()
	if err != nil {
		return err
	}
	defer s.release()
	if err := f.whileOpen("read", func() error { return fn(f) }); err != nil {
		return f.fail("read", err)
	}
	return nil
}

// next returns the number after the last event, or after the last before damage.
func (s *segment) next() (next int64, err error) {
	err = s.read(func(f *segmentFile) (err error) {
		_, next, err = s.locate(f, math.MaxInt64)
		return err
	})
	return next, err
}

// offsetOf returns the offset of event number seq, or the end if it is the next of the segment. It
// verifies the event before, if that is one of the segment: its size says where seq begins.
func (s *segment) offsetOf(seq int64) (off int64, err error) {
	err = s.read(func(f *segmentFile) error {
		var src eventfile.Source
		p, err := s.find(f, &src, seq)
		if off = p.Off; err == nil && s.first+p.N < seq {
			return damagedEvent(s.first+p.N, off, eventfile.ErrGap)
		}
		if err != nil || seq == s.first {
			return err
		}
		prev, err := s.find(f, &src, seq-1)
		if err == nil {
			src.Limit = off
			_, _, err = src.Event(prev.Off, off, true)
		}
		return s.damage(seq-1-s.first, prev.Off, err)
	})
	return off, err
}

// started returns StartTimestamp.
func (s *segment) started() (int64, error) {
	if start := s.start.Load(); start != 0 {
		return start, nil
	}
	start := int64(0)
	err := s.read(func(f *segmentFile) (err error) {
		src := eventfile.Source{File: f.f}
		start, err = src.Start()
		return err
	})
	if err == nil {
		s.start.Store(start)
	}
	return start, err
}

// damage returns err, in a CorruptError if it says that the event at off is not whole. It is
// the event after the first n of the segment.
func (s *segment) damage(n, off int64, err error) error {
	if eventfile.NotWhole(err) || err == eventfile.ErrHeader || err == eventfile.ErrGap {
		return damagedEvent(s.first+n, off, err)
	}
	return err
}
