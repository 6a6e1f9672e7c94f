//go:build race

package mmapfile

// The race detector makes atomic operations in C, where a fault is no panic that
// can be recovered, but the end of the process.
const raceDetector = true

// loadWord is a load that is made although nobody uses its value.
//
//go:noinline
//go:norace
func loadWord(p *uint32) uint32 { return *p }
