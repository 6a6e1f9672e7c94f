package mmapfile

import "sync/atomic"

// Stats are figures about all Files of the process, for a dashboard. Those that are
// not said to be of now are totals since the process began.
type Stats struct {
	MappedFiles   int64 // Files that are mapped now
	MappedBytes   int64 // address space of their mappings now
	ReservedBytes int64 // address space now that closed Files keep until they are collected

	// SystemCalls are the reads and writes that went to the kernel because their pages
	// were not ready: the file is not mapped, or was not read there often enough, or
	// what was known has been forgotten. An open File counts them 128 at a time.
	SystemCalls uint64

	Faults      uint64 // page faults caught: truncation by another process, a full disk, a failing device
	MajorFaults uint64 // major page faults of the process while Files were mapped, if the system counts them
	Prefaults   uint64 // ranges that were prefaulted for mapped writes
}

// stats has what Stats has no other source for.
var stats struct {
	files                                 atomic.Int64
	calls, faults, majorFaults, prefaults atomic.Uint64
}

// ReadStats fills in s. It takes no lock, so that the figures are not of one moment.
func ReadStats(s *Stats) {
	held := reservedBytes.Load()
	*s = Stats{
		MappedFiles:   stats.files.Load(),
		MappedBytes:   max(rangeBytes.Load()-held, 0),
		ReservedBytes: held,
		SystemCalls:   stats.calls.Load(),
		Faults:        stats.faults.Load(),
		MajorFaults:   stats.majorFaults.Load(),
		Prefaults:     stats.prefaults.Load(),
	}
}
