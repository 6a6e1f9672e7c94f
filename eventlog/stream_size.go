package eventlog

import "go.dw1.io/mmapfile/internal/eventfile"

// size returns the number of bytes that all segments use. It is called with mu held.
func (s *Stream) size() int64 { return s.inactive + s.active.end }

// resize notes how many bytes all segments but the active one have. It is called with mu held, when the list has changed.
func (s *Stream) resize() {
	s.inactive = 0
	for _, seg := range s.segments() {
		if seg != s.active.seg {
			s.inactive += seg.bytes.Load()
		}
	}
}

// full reports whether n bytes more make the stream larger than MaxSize. It is called with mu held.
func (s *Stream) full(n int64) bool {
	if s.o.MaxSize == 0 || n == 0 {
		return false
	}
	if s.leaves(n) || s.active.log == nil {
		n += eventfile.HeaderSize
	}
	return n > s.o.MaxSize-s.size()
}
