//go:build !race

// Package race touches memory in ways that the race detector stands, or does not see.
package race

import (
	"bytes"
	"sync/atomic"
)

// Detector says that the race detector is on.
const Detector = false

// LoadWord loads a word whose value is not used; the load is made all the same.
func LoadWord(p *uint32) uint32 { return atomic.LoadUint32(p) }

// These touch memory unseen by the race detector.

func EqualUnseen(a, b []byte) bool { return bytes.Equal(a, b) }

func CopyUnseen(dst, src []byte) { copy(dst, src) }

func ReplaceUnseen(p *byte, old, new byte) {
	if *p == old {
		*p = new
	}
}
