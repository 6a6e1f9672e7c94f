//go:build race

// Package race accesses memory in ways that work under the race detector, or that it does
// not see.
package race

// Detector says whether the race detector is on. It makes atomic operations in C. A fault
// there is no panic that can be recovered, but ends the process.
const Detector = true

// LoadWord loads a word and discards its value. The compiler does not remove the load.
//
//go:noinline
//go:norace
func LoadWord(p *uint32) uint32 { return *p }

// The race detector sees what copy and bytes.Equal access. It does not see single bytes in
// a function marked norace.

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

// ReplaceUnseen stores new in *p if *p is old.
//
//go:norace
func ReplaceUnseen(p *byte, old, new byte) {
	if *p == old {
		*p = new
	}
}
