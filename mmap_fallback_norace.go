//go:build (nommap || !(unix || windows)) && !race

package mmapfile

import "bytes"

// These touch memory unseen by the race detector, see mmap_fallback_race.go.

func equalUnseen(a, b []byte) bool { return bytes.Equal(a, b) }

func copyUnseen(dst, src []byte) { copy(dst, src) }

func replaceUnseen(p *byte, old, new byte) {
	if *p == old {
		*p = new
	}
}
