package eventlog

import "go.dw1.io/mmapfile/internal/eventfile"

// inactiveBytes is the number of bytes of all segments but the active one. It is known anew when the
// list changes: an append would take longer, the more segments there are.
type inactiveBytes struct {
	n      int64
	list   *[]*segment
	active *active
}

// size returns the number of bytes that all segments use. It is called with mu held.
func (s *Stream) size() int64 {
	o, list := &s.inactive, s.all.Load()
	if o.list != list || o.active != s.active {
		*o = inactiveBytes{0, list, s.active}
		for _, seg := range *list {
			if seg != s.active.seg {
				o.n += seg.bytes.Load()
			}
		}
	}
	return o.n + s.active.end
}

// full reports whether n bytes more make the stream larger than MaxSize. It is called with mu held.
func (s *Stream) full(n int64) bool {
	if s.o.MaxSize == 0 || n == 0 {
		return false
	}
	if s.leaves(n) {
		n += eventfile.HeaderSize
	}
	return n > s.o.MaxSize-s.size()
}
