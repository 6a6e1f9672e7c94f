package mmapfile

import (
	"sync/atomic"

	"go.dw1.io/mmapfile/internal/guard"
	"go.dw1.io/mmapfile/internal/pages"
)

// stats has the figures of Stats that have no other source.
var stats struct {
	files            atomic.Int64
	calls, prefaults atomic.Uint64
}

// Stats are figures about all Files of the process, for a dashboard. Fields described with
// "now" are current values. The rest are totals since the process began.
type Stats struct {
	MappedFiles   int64 // Files that are mapped now
	MappedBytes   int64 // address space of their mappings now
	ReservedBytes int64 // address space that closed Files keep now, until they are collected

	// SystemCalls counts the reads and writes that went to the kernel because mapping did
	// not pay yet: the file is not mapped, was not read often enough there, or its record
	// of pages was discarded. An open File adds its calls in groups of 32. Files that
	// cannot be mapped do not count.
	SystemCalls uint64

	Faults      uint64 // page faults caught: truncation by another process, a full disk, a failing device
	MajorFaults uint64 // major page faults of the process while Files were mapped, if the system counts them
	Prefaults   uint64 // ranges that were prefaulted for mapped writes
}

// ReadStats fills in s. It takes no lock, so the figures are not of one moment.
func ReadStats(s *Stats) {
	held := reservedBytes.Load()
	*s = Stats{
		MappedFiles:   stats.files.Load(),
		MappedBytes:   max(rangeBytes.Load()-held, 0),
		ReservedBytes: held,
		SystemCalls:   stats.calls.Load(),
		Faults:        guard.Faults.Load(),
		MajorFaults:   pages.Majors.Load(),
		Prefaults:     stats.prefaults.Load(),
	}
}
