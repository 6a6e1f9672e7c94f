//go:build race

// Package race touches memory in ways that the race detector stands, or does not see.
package race

// Detector says that the race detector is on. It makes atomic operations in C, where a fault
// is no panic that can be recovered, but the end of the process.
const Detector = true

// LoadWord loads a word whose value is not used; the load is made all the same.
//
//go:noinline
//go:norace
func LoadWord(p *uint32) uint32 { return *p }

// It sees what copy and bytes.Equal touch. It does not see single bytes in a function that
// is marked so.

// EqualUnseen is bytes.Equal for slices of the same length.
//
//go:norace
func EqualUnseen(a, b []byte) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// CopyUnseen is copy for slices of the same length.
//
//go:norace
func CopyUnseen(dst, src []byte) {
	for i := range src {
		dst[i] = src[i]
	}
}

// ReplaceUnseen stores new where there is old.
//
//go:norace
func ReplaceUnseen(p *byte, old, new byte) {
	if *p == old {
		*p = new
	}
}
