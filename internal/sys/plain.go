package sys

import "sync/atomic"

// PlainPath is a name in a directory, to be opened if no link is on the way.
type PlainPath struct {
	Dir, Local, Full string       // the directory; the name as the system writes it; both
	Linked           *atomic.Bool // a hint, shared by all names: Dir itself has a link in it
}
