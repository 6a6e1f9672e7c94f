// Package sink looks at what it is given.
package sink

import (
	"io"
	"os"
)

// Sink has a method that asserts.
type Sink struct{}

// Put asserts.
func (*Sink) Put(r io.Reader) bool { _, ok := r.(*os.File); return ok }
