//go:build !unix

package regret

import "time"

// Missing says why nothing can be measured here, if nothing can.
const Missing = "the CPU time of a process is known on Unix alone"

func cpuTime() time.Duration { return 0 }
