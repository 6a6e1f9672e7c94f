package file

import "sync"

// storedPages are the pages of a private File that may have been stored to. Where reading a hole of
// the mapping would allocate memory for good (tmpfs), only they are read from memory.
type storedPages struct {
	mu   sync.Mutex
	bits []uint64 // a bit for each page, made with the first
}

// add adds the pages of n bytes at off of m. s may be nil.
func (s *storedPages) add(m *mapping, off, n int64) {
	if s == nil || n <= 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bits == nil {
		s.bits = make([]uint64, len(m.data)/pageSize/64+1)
	}
	for page := off / int64(pageSize); page <= (off+n-1)/int64(pageSize); page++ {
		s.bits[page/64] |= 1 << (page % 64)
	}
}

// has reports whether the page of the byte at off may have been stored to, and returns how far the
// same holds for the pages after it, end at most.
func (s *storedPages) has(off, end int64) (stored bool, to int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bits == nil {
		return false, end
	}
	has := func(page int64) bool { return s.bits[page/64]>>(page%64)&1 != 0 }
	page := off / int64(pageSize)
	stored = has(page)
	for page++; page*int64(pageSize) < end && has(page) == stored; {
		page++
	}
	return stored, min(page*int64(pageSize), end)
}
