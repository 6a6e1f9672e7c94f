package file

import (
	"sync/atomic"

	"go.dw1.io/mmapfile/internal/evictions"
	"go.dw1.io/mmapfile/internal/guard"
	"go.dw1.io/mmapfile/internal/pages"
	"go.dw1.io/mmapfile/internal/vm"
)

// prefaults counts the ranges that were prefaulted.
var prefaults atomic.Uint64

// SystemCalls is that of mmapfile.
type SystemCalls struct {
	First, Unseen, Unmapped, Seldom, Unpaid, Unproven, Slower, PastEnd, HandedOut, Storage, Unmappable uint64
}

func byReason(c pages.Counts) SystemCalls {
	return SystemCalls{
		First: c[pages.First], Unseen: c[pages.Unseen], Unmapped: c[pages.Unmapped], Seldom: c[pages.Seldom],
		Unpaid: c[pages.Unpaid], Unproven: c[pages.Unproven], Slower: c[pages.Slower], PastEnd: c[pages.PastEnd],
		HandedOut: c[pages.HandedOut], Storage: c[pages.Storage], Unmappable: c[pages.Unmappable],
	}
}

// SystemCalls is the method of mmapfile.File.
func (f *File) SystemCalls() SystemCalls { return byReason(f.pages.Calls(f.whyEarly())) }

// whyEarly returns why calls are not recorded, but for the first ones.
func (f *File) whyEarly() pages.Reason {
	if f.tracks() {
		return pages.Unpaid
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
		SystemCalls:   byReason(pages.SystemCalls()),
		Faults:        guard.Faults.Load(),
		MajorFaults:   evictions.Majors.Load(),
		Prefaults:     prefaults.Load(),
	}
}
