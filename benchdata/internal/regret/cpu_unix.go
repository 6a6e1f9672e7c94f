//go:build unix

package regret

import (
	"time"

	"golang.org/x/sys/unix"
)

// Missing says why nothing can be measured here, if nothing can.
const Missing = ""

// cpuTime returns the CPU time of the process.
func cpuTime() time.Duration {
	var usage unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
