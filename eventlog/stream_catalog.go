package eventlog

import (
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"go.dw1.io/mmapfile/internal/eventfile"
	"go.dw1.io/mmapfile/internal/logdisk"
)

// catalog says which events a stream has, and in which segments they are.
type catalog interface {
	list() *segmentList

	// bounds returns the present bounds, and refresh has the list follow them.
	bounds() (eventfile.Bounds, error)
	refresh() (eventfile.Bounds, error)

	// newest is refresh, and the list has the last segment that there is.
	newest() (eventfile.Bounds, error)

	// durable returns the number before which events of a segment are durable, and the offset. An event at off is
	// asked for.
	durable(s *segment, off int64) (seq, end int64)

	// grown adds the segment that begins with event seq to the list if there is one by now.
	grown(seq int64) bool

	// relist has refresh list the segments again: the list may lack one, or have one that was removed since because
	// it could not begin. It reports false if the list is always that of the stream.
	relist() bool
}

// writerCatalog is the catalog of a Stream, which changes it with its segments.
type writerCatalog struct {
	segmentList
	state atomic.Pointer[eventfile.Bounds]
	next  atomic.Int64 // number of the next event
}

func (c *writerCatalog) bounds() (eventfile.Bounds, error)  { return *c.state.Load(), nil }
func (c *writerCatalog) refresh() (eventfile.Bounds, error) { return *c.state.Load(), nil }
func (c *writerCatalog) grown(seq int64) bool               { return c.has(seq) }
func (c *writerCatalog) relist() bool                       { return false }
func (c *writerCatalog) newest() (eventfile.Bounds, error)  { return *c.state.Load(), nil }

// stop is an end of events: the offset off in the segment that begins with event first.
type stop struct{ first, off int64 }

// stopOf returns where the events end now, and the bounds.
func stopOf(c catalog) (at stop, b eventfile.Bounds, err error) {
	for tries := 0; ; tries++ {
		b, err = c.newest()
		list := c.list().segments()
		if err != nil || len(list) == 0 {
			return at, b, err
		}
		last := list[len(list)-1]
		at.first = last.first
		err = last.read(func(f *segmentFile) (err error) { at.off, err = f.end(); return err })
		switch {
		case errors.Is(err, eventfile.ErrHeader), errors.Is(err, io.ErrUnexpectedEOF):
			return stop{last.first, math.MaxInt64}, b, nil // the loop meets the damage
		case !errors.Is(err, fs.ErrNotExist) || !again(tries):
			return at, b, err
		}
		c.relist()
	}
}

func (c *writerCatalog) tail() (int64, error) {
	return max(c.next.Load(), c.state.Load().First), nil // TruncateFront past the end may have begun
}

// readerCatalog is the catalog of a StreamReader, which follows the directory.
type readerCatalog struct {
	segmentList

	// The mu of segmentList guards these.
	listed eventfile.Bounds // the bounds that the list is of
	stale  bool             // the list may lack a segment
	meta   logdisk.File     // nil if it is not open
	words  [2]uint64        // generations of the slots of meta, when read was read
	read   eventfile.Bounds // the bounds read last
	word   [8]byte
}

func (c *readerCatalog) bounds() (eventfile.Bounds, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.readBounds()
}

// readBounds reads the bounds from meta. It is called with mu held.
func (c *readerCatalog) readBounds() (b eventfile.Bounds, err error) {
	if c.meta == nil {
		c.meta, err = eventfile.Open(filepath.Join(c.dir, eventfile.MetaName), os.O_RDONLY)
		if errors.Is(err, fs.ErrNotExist) {
			return eventfile.Bounds{}, nil // its writer has only just created the stream
		}
		if err != nil {
			return eventfile.Bounds{}, err
		}
		fi, err := c.meta.Stat()
		if err != nil {
			return eventfile.Bounds{}, err
		}
		c.metaHome.Store(&fi)
	}
	var words [2]uint64
	for slot := range words {
		n, err := c.meta.ReadAt(c.word[:], int64(slot)*eventfile.SlotSize)
		if err != nil && err != io.EOF {
			return eventfile.Bounds{}, err
		}
		clear(c.word[n:])
		words[slot] = le.Uint64(c.word[:])
	}
	if words == c.words && c.read.Generation > 0 && c.read.Generation == max(words[0], words[1]) {
		return c.read, nil
	}
	c.read, err = eventfile.ReadMeta(c.meta)
	c.words = words
	return c.read, metaError(err)
}

func (c *readerCatalog) refresh() (eventfile.Bounds, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed.Load() {
		return eventfile.Bounds{}, c.fail("read", os.ErrClosed)
	}
	b, err := c.readBounds()
	if err == nil && (c.stale || b.Generation != c.listed.Generation || len(c.segments()) == 0) {
		err = c.follow(b)
		if err == nil && len(c.segments()) == 0 {
			b, err = c.readBounds() // TruncateFront may have raised First since, and removed the files
		}
	}
	return b, err
}

// follow makes the list that of the directory. It is called with mu held.
func (c *readerCatalog) follow(b eventfile.Bounds) error {
	firsts, err := eventfile.ListSegments(c.dir)
	if err == nil {
		err = c.here()
	}
	if err != nil {
		return c.fail("read", err)
	}
	old := c.segments()
	keep := b.Limit() // events before this one are those that were there
	switch n := b.Truncations - c.listed.Truncations; {
	case n == 1 || c.listed.Truncating && n == 0:
		keep = b.TruncatedTo
	case n != 0:
		keep = 0 // the calls before the last one are unknown
	}
	var list []*segment
	for i, first := range firsts {
		if first >= b.Limit() || i+1 < len(firsts) && firsts[i+1] <= b.First {
			continue
		}
		s := &segment{first: first, l: &c.segmentList}
		if k := position(old, first); k >= 0 && old[k].first == first && first < keep {
			s = old[k]
			s.index.Truncate(keep - first)
			s.durable.Store(0)
		}
		list = append(list, s)
	}
	c.all.Store(&list)
	c.listed, c.stale = b, false
	for _, s := range old {
		if k := position(list, s.first); k < 0 || list[k] != s {
			s.drop()
		}
	}
	return nil
}

func (c *readerCatalog) grown(seq int64) bool {
	if c.has(seq) {
		return true
	}
	if _, err := logdisk.Stat(eventfile.SegmentName(c.dir, seq)); err != nil {
		return false
	}
	c.relist()
	_, err := c.refresh()
	return err == nil && c.has(seq)
}

func (c *readerCatalog) relist() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stale = true
	return true
}

// newest finds the last segment by the number of events, if few were not counted yet, or has the directory listed.
func (c *readerCatalog) newest() (eventfile.Bounds, error) {
	list := c.segments()
	if n := len(list); n > 0 && list[n-1].index.Look(0).N > 0 {
		c.tail() // an error is one that the loop meets
	} else {
		c.relist()
	}
	return c.refresh()
}

// durable knows segments that have ended: those before the last two, and those that were closed, with all
// before them.
func (c *readerCatalog) durable(s *segment, off int64) (seq, end int64) {
	if end = s.durable.Load(); off >= end { // else it was durable before, and without bounds that have changed it stays
		end = c.findDurable(s)
		s.durable.Store(end)
	}
	return math.MaxInt64, end
}

// findDurable returns the offset before which events of a segment are durable.
func (c *readerCatalog) findDurable(s *segment) int64 {
	list := c.segments()
	i := position(list, s.first)
	if i < 0 || i+2 < len(list) { // removed: step sees other bounds
		return math.MaxInt64
	}
	for _, later := range list[i:] {
		var st eventfile.State
		err := later.read(func(f *segmentFile) (err error) { st, err = eventfile.StateOf(f.f); return err }) // of the file whose events are read
		if err != nil || !st.Closed || st.Empty() {
			continue
		}
		if later == s {
			return st.End
		}
		return math.MaxInt64
	}
	return 0
}

func (c *readerCatalog) tail() (int64, error) {
	for tries := 0; ; tries++ {
		b, err := c.refresh()
		if err != nil {
			return 0, err
		}
		list := c.segments()
		if len(list) == 0 {
			return b.First, nil
		}
		last := list[len(list)-1]
		next, err := last.next()
		if err == nil && next != last.first && c.grown(next) {
			tries = 0
			continue
		}
		if errors.Is(err, fs.ErrNotExist) && again(tries) {
			c.relist()
			continue
		}
		if next >= b.Limit() { // events that are being truncated may be damaged
			err = nil
		}
		if now, berr := c.bounds(); berr == nil && now.Generation == b.Generation && (err == nil || !again(tries)) {
			return max(min(next, b.Limit()), b.First), err
		}
	}
}

// gap reports whether there are events after seq, so that one with this number should be there. It
// has the segments listed again: the writer may have closed the segment since it was read, or
// created segments while the directory was listed.
func gap(c catalog, seq int64) bool {
	found := c.list().after(seq)
	if found {
		c.relist()
	}
	return found
}

// again waits a while, and reports whether to look again for a file or an event that should
// be there: the writer may be about to remove or to replace a segment. In all it waits for
// some 100 ms.
func again(tries int) bool {
	if tries > 10 {
		logdisk.Sleep(time.Millisecond)
	}
	return tries <= 100
}
