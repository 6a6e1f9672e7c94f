package file

import (
	"sync/atomic"

	"go.dw1.io/mmapfile/internal/evictions"
	"go.dw1.io/mmapfile/internal/guard"
	"go.dw1.io/mmapfile/internal/reason"
	"go.dw1.io/mmapfile/internal/vm"
)

// prefaults counts the ranges that were prefaulted.
var prefaults atomic.Uint64

// SystemCalls is that of mmapfile.
type SystemCalls struct {
	First, Unseen, Unmapped, Seldom, Unpaid, Unproven, Slower, PastEnd, HandedOut, Storage, Unmappable uint64
}

func byReason(c reason.Counts) SystemCalls {
	return SystemCalls{
		First: c[reason.First], Unseen: c[reason.Unseen], Unmapped: c[reason.Unmapped], Seldom: c[reason.Seldom],
		Unpaid: c[reason.Unpaid], Unproven: c[reason.Unproven], Slower: c[reason.Slower], PastEnd: c[reason.PastEnd],
		HandedOut: c[reason.HandedOut], Storage: c[reason.Storage], Unmappable: c[reason.Unmappable],
	}
}

// SystemCalls is the method of mmapfile.File.
func (f *File) SystemCalls() SystemCalls { return byReason(f.pages.Calls(f.whyEarly())) }

// whyEarly returns why calls are not recorded, but for the first ones, or None if pages is to tell.
func (f *File) whyEarly() reason.Reason {
	if f.tracks() {
		return reason.None
	}
	return f.whyRefused()
}

// Stats is that of mmapfile.
type Stats struct {
	MappedFiles, MappedBytes, ReservedBytes int64
	SystemCalls                             SystemCalls
	Faults, MajorFaults, Prefaults          uint64
}

// ReadStats is that of mmapfile.
func ReadStats() Stats {
	files, bytes, held := vm.Figures()
	return Stats{
		MappedFiles:   files,
		MappedBytes:   bytes,
		ReservedBytes: held,
		SystemCalls:   byReason(reason.OfProcess()),
		Faults:        guard.Faults.Load(),
		MajorFaults:   evictions.Majors.Load(),
		Prefaults:     prefaults.Load(),
	}
}
