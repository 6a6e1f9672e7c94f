package eventlog

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/eventfile"
)

// Temporary files of a stream, which OpenStream removes.
const (
	spareName = "next.tmp" // the next segment
	skipName  = "skip.tmp" // a segment that TruncateFront or TruncateBack is about to start
)

// maxOpen is the number of segments that are open for reading at a time. Each takes a
// descriptor and a mapping. Opening one takes some 20 µs.
const maxOpen = 256

// catalog knows the segments of a stream. A Stream changes it with its segments. That of
// a StreamReader follows the directory.
type catalog struct {
	dir    string
	home   fs.FileInfo // of a Stream: the directory that it has open
	closed atomic.Bool
	state  atomic.Pointer[bounds] // of a Stream; nil in a StreamReader
	opened atomic.Int64           // number of open segments
	next   atomic.Int64           // of a Stream: number of the next event

	// mu guards changes of list, and what follows. It comes before the mu of segment.
	mu   sync.Mutex
	list atomic.Pointer[[]*segment] // ascending
	seen bounds                     // of which list is
	old  bool                       // list may lack a segment

	meta  *mmapfile.File // of a StreamReader
	words [2]uint64      // generations of its slots, for
	read  bounds         // the bounds read last
	word  [8]byte
}

// segments returns all segments, ascending.
func (c *catalog) segments() []*segment { return *c.list.Load() }

// here returns an error if the directory's name leads to another one than that which a Stream has
// open, or to none. A Stream asks that before it creates, opens or removes a file by name, so that
// nothing is acknowledged into a backup that was restored.
func (c *catalog) here() error {
	if c.home == nil {
		return nil
	}
	fi, err := os.Stat(c.dir)
	if err == nil && !os.SameFile(fi, c.home) {
		err = errReplaced
	}
	return err
}

func (c *catalog) fail(op string, err error) error {
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		return &fs.PathError{Op: op, Path: pe.Path, Err: pe.Err}
	}
	return &fs.PathError{Op: op, Path: c.dir, Err: err}
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

// add appends a segment to the list. A goroutine that has loaded the list sees no change: it is
// appended to in place, and made anew for any other change. It is called with mu held.
func (c *catalog) add(first int64) *segment {
	s := &segment{first: first, c: c}
	list := append(c.segments(), s)
	c.list.Store(&list)
	return s
}

// current returns the present bounds, and has the list follow them.
func (c *catalog) current() (bounds, error) {
	if b := c.state.Load(); b != nil {
		return *b, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	b, err := c.readBounds()
	if err == nil && (c.old || b.generation != c.seen.generation || len(c.segments()) == 0) {
		err = c.follow(b)
	}
	return b, err
}

// follow makes the list of a StreamReader that of the directory. It is called with mu held.
func (c *catalog) follow(b bounds) error {
	firsts, err := eventfile.ListSegments(c.dir)
	if err != nil {
		return c.fail("read", err)
	}
	old := c.segments()
	cut := b.limit()
	switch n := b.truncations - c.seen.truncations; {
	case n == 1 || c.seen.truncating && n == 0:
		cut = b.truncatedTo
	case n != 0:
		cut = 0 // the calls before the last one are unknown
	}
	var list []*segment
	for i, first := range firsts {
		if first >= b.limit() || i+1 < len(firsts) && firsts[i+1] <= b.first {
			continue
		}
		s := &segment{first: first, c: c}
		if k := position(old, first); k >= 0 && old[k].first == first && first < cut {
			s = old[k]
			s.index.truncate(cut - first)
		}
		list = append(list, s)
	}
	c.list.Store(&list)
	c.seen, c.old = b, false
	for _, s := range old {
		if k := position(list, s.first); k < 0 || list[k] != s {
			s.drop()
		}
	}
	return nil
}

// grown adds the segment that begins with event seq if there is one by now.
func (c *catalog) grown(seq int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := c.segments()
	if k := position(list, seq); k >= 0 && list[k].first == seq {
		return true
	}
	if c.state.Load() != nil || seq >= c.seen.limit() || len(list) > 0 && list[len(list)-1].first > seq {
		return false
	}
	if _, err := os.Stat(eventfile.SegmentName(c.dir, seq)); err != nil {
		return false
	}
	c.add(seq)
	return true
}

// relist has current list the directory again.
func (c *catalog) relist() {
	c.mu.Lock()
	c.old = true
	c.mu.Unlock()
}

// gap reports whether there are events after seq, so that one with this number should be
// there. It has current list the directory again: the writer may have closed the segment
// since it was read, or created segments while the directory was listed.
func (c *catalog) gap(seq int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := c.segments()
	found := len(list) > 0 && list[len(list)-1].first > seq
	c.old = found
	return found
}

// at returns the segment that has event seq or will have it. It is nil if there is none.
func (c *catalog) at(seq int64) *segment {
	list := c.segments()
	if i := position(list, seq); i >= 0 {
		return list[i]
	}
	return nil
}

// following returns the number of the first event of the segment after the one that begins
// with first, or -1 if there is none in the list.
func (c *catalog) following(first int64) int64 {
	list := c.segments()
	if i := position(list, first) + 1; i < len(list) {
		return list[i].first
	}
	return -1
}

// acquire opens a segment, and closes idle segments if more than maxOpen are open.
func (c *catalog) acquire(s *segment) (*segmentFile, error) {
	f, err := s.acquire()
	if err == nil && c.opened.Load() > maxOpen {
		for _, other := range c.segments() {
			if other != s {
				other.shutIdle()
			}
			if c.opened.Load() <= maxOpen/2 {
				break
			}
		}
	}
	return f, err
}

// tail returns the number after the last event. A StreamReader looks at the directory.
func (c *catalog) tail() (int64, error) {
	if b := c.state.Load(); b != nil {
		return max(c.next.Load(), b.first), nil // TruncateFront past the end may have begun
	}
	for tries := 0; ; tries++ {
		b, err := c.current()
		if err != nil {
			return 0, err
		}
		list := c.segments()
		if len(list) == 0 {
			return b.first, nil
		}
		last := list[len(list)-1]
		next, err := last.next()
		if err == nil && next != last.first && c.grown(next) {
			tries = 0
			continue
		}
		if next >= b.limit() { // events that are being truncated may be damaged
			err = nil
		}
		if now, berr := c.bounds(); berr == nil && now.generation == b.generation && (err == nil || !again(tries)) {
			return max(min(next, b.limit()), b.first), err
		}
	}
}

// again waits a while, and reports whether to look again for a file or an event that should
// be there: the writer may be about to remove or to replace a segment. In all it waits for
// some 100 ms.
func again(tries int) bool {
	if tries > 10 {
		time.Sleep(time.Millisecond)
	}
	return tries <= 100
}

// firstOf returns the number of the first event, given the bounds.
func (c *catalog) firstOf(b bounds) int64 {
	if list := c.segments(); len(list) > 0 {
		return max(b.first, list[0].first)
	}
	return b.first
}

// shutAll closes all segments.
func (c *catalog) shutAll() {
	c.closed.Store(true)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.segments() {
		s.mu.Lock()
		s.shut()
		s.mu.Unlock()
	}
}
