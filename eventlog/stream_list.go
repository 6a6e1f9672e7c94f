package eventlog

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"sync/atomic"

	"go.dw1.io/mmapfile/internal/eventfile"
	"go.dw1.io/mmapfile/internal/logdisk"
)

// maxOpen is the number of segments that are open for reading at a time. Each takes a
// descriptor and a mapping. Opening one takes some 20 µs.
const maxOpen = 256

// segmentList is the list of the segments of a stream, which it opens for reading.
type segmentList struct {
	dir    string
	home   fs.FileInfo // the directory
	closed atomic.Bool
	opened atomic.Int64 // number of open segments

	metaHome atomic.Pointer[fs.FileInfo] // the file meta that a StreamReader has open

	mu  logdisk.Mutex              // guards changes of all; locked before the mu of segment
	all atomic.Pointer[[]*segment] // ascending

	thinning logdisk.Mutex // held by thinIndexes: two calls at once would each remove what one has to
}

func (l *segmentList) init(dir string) {
	l.dir = dir
	l.all.Store(new([]*segment))
}

// list returns l, for a catalog.
func (l *segmentList) list() *segmentList { return l }

// segments returns all segments, ascending.
func (l *segmentList) segments() []*segment { return *l.all.Load() }

// oldest returns the first segment, or nil if there is none.
func (l *segmentList) oldest() *segment {
	if list := l.segments(); len(list) > 0 {
		return list[0]
	}
	return nil
}

// here returns an error if the directory's name leads to another directory than home, or to none.
// A Stream asks that before it creates, opens or removes a file by name, so that nothing is
// acknowledged into a backup that was restored. A StreamReader, which keeps no directory
// open, compares meta, too.
func (l *segmentList) here() error {
	same, err := logdisk.Same(l.dir, l.home)
	if meta := l.metaHome.Load(); same && meta != nil {
		same, err = logdisk.Same(filepath.Join(l.dir, eventfile.MetaName), *meta)
	}
	if err == nil && !same {
		err = errReplaced
	}
	return err
}

func (l *segmentList) fail(op string, err error) error {
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		return &fs.PathError{Op: op, Path: pe.Path, Err: pe.Err}
	}
	return &fs.PathError{Op: op, Path: l.dir, Err: err}
}

// position returns the index of the segment that has event seq if any has, or -1.
func position(list []*segment, seq int64) int {
	i, found := slices.BinarySearchFunc(list, seq, func(s *segment, seq int64) int {
		switch {
		case s.first < seq:
			return -1
		case s.first > seq:
			return 1
		}
		return 0
	})
	if !found {
		i--
	}
	return i
}

// has reports whether a segment in the list begins with event seq.
func (l *segmentList) has(seq int64) bool {
	s := l.at(seq)
	return s != nil && s.first == seq
}

// at returns the segment that has event seq or will have it. It is nil if there is none.
func (l *segmentList) at(seq int64) *segment {
	list := l.segments()
	if i := position(list, seq); i >= 0 {
		return list[i]
	}
	return nil
}

// nextFrom returns the number of the event after those of segment i of a list, of which the last ends before number end.
func nextFrom(list []*segment, i int, end int64) int64 {
	if i+1 < len(list) {
		return list[i+1].first
	}
	return end
}

// following returns the number of the first event of the segment after the one that begins
// with first, or -1 if there is none in the list.
func (l *segmentList) following(first int64) int64 {
	list := l.segments()
	if i := position(list, first) + 1; i < len(list) {
		return list[i].first
	}
	return -1
}

// after reports whether there are events after seq, so that one with this number should be there.
func (l *segmentList) after(seq int64) bool {
	list := l.segments()
	return len(list) > 0 && list[len(list)-1].first > seq
}

// firstOf returns the number of the first event, given the bounds.
func (l *segmentList) firstOf(b eventfile.Bounds) int64 {
	if list := l.segments(); len(list) > 0 {
		return max(b.First, list[0].first)
	}
	return b.First
}

// add appends a segment to the list. A goroutine that has loaded the list sees no change: it is
// appended to in place, and made anew for any other change. It is called with mu held.
func (l *segmentList) add(first int64) *segment {
	s := &segment{first: first, l: l}
	list := append(l.segments(), s)
	l.all.Store(&list)
	return s
}

// thinIndexes bounds the memory of the indexes, but for the last.
func (l *segmentList) thinIndexes() {
	l.thinning.Lock()
	defer l.thinning.Unlock()
	list := l.segments()
	indexes := make([]*eventfile.Index, 0, len(list))
	for _, s := range list[:max(len(list)-1, 0)] {
		indexes = append(indexes, &s.index)
	}
	eventfile.Thin(indexes, maxPoints)
}

var maxPoints = eventfile.MaxPoints // a variable for tests

// replace replaces the list.
func (l *segmentList) replace(list []*segment) {
	l.mu.Lock()
	defer l.mu.Unlock()
	list = slices.Clone(list)
	l.all.Store(&list)
}

// acquire opens a segment, and closes idle segments if more than maxOpen are open.
func (l *segmentList) acquire(s *segment) (*segmentFile, error) {
	f, err := s.acquire()
	if err == nil && l.opened.Load() > maxOpen {
		for _, other := range l.segments() {
			if other != s {
				other.shutIdle()
			}
			if l.opened.Load() <= maxOpen/2 {
				break
			}
		}
	}
	return f, err
}

// shutAll closes all segments.
func (l *segmentList) shutAll() {
	l.closed.Store(true)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.segments() {
		s.mu.Lock()
		s.shut()
		s.mu.Unlock()
	}
}
