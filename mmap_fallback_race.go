//go:build (nommap || !(unix || windows)) && race

package mmapfile

// The race detector sees what copy and bytes.Equal touch. It
// does not see single bytes in a function that is marked so.

// equalUnseen is bytes.Equal for slices of the same length.
//
//go:norace
func equalUnseen(a, b []byte) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// copyUnseen is copy for slices of the same length.
//
//go:norace
func copyUnseen(dst, src []byte) {
	for i := range src {
		dst[i] = src[i]
	}
}

// replaceUnseen stores new where there is old.
//
//go:norace
func replaceUnseen(p *byte, old, new byte) {
	if *p == old {
		*p = new
	}
}
