package sys

// eachData calls fn for all bytes from off to end. The system does not list the extents of a
// file.
func eachData(_ int, off, end int64, fn func(off, end int64) error) error { return fn(off, end) }
