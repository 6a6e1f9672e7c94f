package mmapfile

import (
	"math"
	"sync"
	"testing"

	"go.dw1.io/mmapfile/internal/race"
)

// What the tests may know of a File's inside.

// CanMap says whether this build maps files: not under nommap, nor where there is no mmap.
const CanMap = canMap

// RaceDetector says that it is on: it slows down, and it allocates.
const RaceDetector = race.Detector

// MapsUnasked says whether calls alone make this build map a file, without Bytes or View, and
// whether others can truncate it nevertheless.
const MapsUnasked = canMap && !locked

// Mapped reports whether calls on f may be served from a mapping now.
func Mapped(f *File) bool { return f.m.Load() != nil }

// Most tests are of calls that use the mapping, so these find all pages ready as soon as
// there is one, but those of lazyFiles, and forget nothing because of major faults of
// other tests.
func init() {
	neverEvict()
	testMapped = func(f *file) {
		if _, lazy := lazyFiles.Load(f); !lazy {
			makeReady(f, 0)
		}
	}
}

var lazyFiles sync.Map // of *file

func neverEvict() { evictions.last.Store(math.MaxInt64) }

// evictNow lets evictions come until the end of the test.
func evictNow(t *testing.T) {
	t.Cleanup(neverEvict)
	evictions.last.Store(math.MinInt64 / 2)
}

// makeReady has calls on f use its mapping from off on.
func makeReady(f *file, off int64) {
	if m := f.m.Load(); !f.private && m != nil && m.limit > 0 && !split {
		if n := min(int64(len(m.data)), 1<<30) - off; n > 0 {
			f.pages.notePrefaulted(off, n)
		}
	}
}

// MakeReady has calls on f use its mapping, if it has one.
func MakeReady(f *File) { makeReady(f.file, 0) }

// NeverMap makes calls on f go to the inner file, as where nothing can be mapped.
func NeverMap(f *File) { f.never.Store(true) }

// Pending is how many bytes f's FlushPolicy has not flushed.
func Pending(f *File) int64 { return f.flusher.pending.Load() }

// OnFlush has fn called at each flush of f's policy; its error is that of the flush.
func OnFlush(f *File, fn func() error) {
	f.flusher.mu.Lock()
	defer f.flusher.mu.Unlock()
	f.flusher.data = func(f *file) error {
		if err := fn(); err != nil {
			return err
		}
		return f.syncData()
	}
}

// Stored reports whether f's period of mapped writes has had one.
func Stored(f *File) bool { return f.dirty.Load() == stored }

// PeriodOver reports whether f's period of mapped writes has ended, and no timer is left of it.
func PeriodOver(f *File) bool {
	f.ending.Lock()
	defer f.ending.Unlock()
	return f.due.Load() == 0 && f.dirty.Load() == clean
}
