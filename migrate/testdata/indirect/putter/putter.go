// Package putter has an interface.
package putter

import "io"

// Putter is what a Sink is.
type Putter interface{ Put(r io.Reader) bool }
