//go:build !race

package mmapfile

import "sync/atomic"

const raceDetector = false

// loadWord is a load that is made although nobody uses its value.
func loadWord(p *uint32) uint32 { return atomic.LoadUint32(p) }
