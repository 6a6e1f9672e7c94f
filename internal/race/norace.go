//go:build !race

// Package race accesses memory in ways that work under the race detector, or that it does
// not see.
package race

import (
	"bytes"
	"sync/atomic"
)

// Detector says whether the race detector is on.
const Detector = false

// LoadWord loads a word and discards its value. The compiler does not remove the load.
func LoadWord(p *uint32) uint32 { return atomic.LoadUint32(p) }

// The race detector does not see these accesses.

func EqualUnseen(a, b []byte) bool { return bytes.Equal(a, b) }

func CopyUnseen(dst, src []byte) { copy(dst, src) }

func ReplaceUnseen(p *byte, old, new byte) {
	if *p == old {
		*p = new
	}
}
