package eventlog

import (
	"sync/atomic"
	"time"
)

// Stats are figures about all logs and streams that this process writes, for a dashboard. They
// are totals since the process began.
type Stats struct {
	// Appends counts events. An open log adds mapped appends 64 at a time, and the last of
	// them when it is closed.
	Appends uint64
	Bytes   uint64 // what these events take in the files: 16 bytes each, and the data

	Flushes   uint64 // flushes of logs; calls that share one count once
	FlushTime time.Duration

	// Stalls counts appends that waited for the file system: for space in the file, or for
	// the next segment of a stream. The waits for a flush or for another append do not count.
	Stalls    uint64
	StallTime time.Duration

	Recoveries     uint64 // logs that were damaged or not closed in order when they were opened or repaired
	TruncatedBytes uint64 // Recovery.TruncatedBytes of these
}

// ReadStats fills in s. It takes no lock, so the figures are not from one moment.
func ReadStats(s *Stats) {
	*s = Stats{
		Appends:        stats.appends.Load(),
		Bytes:          stats.bytes.Load(),
		Flushes:        stats.flushes.count.Load(),
		FlushTime:      time.Duration(stats.flushes.time.Load()),
		Stalls:         stats.stalls.count.Load(),
		StallTime:      time.Duration(stats.stalls.time.Load()),
		Recoveries:     stats.recoveries.Load(),
		TruncatedBytes: stats.truncated.Load(),
	}
}

var stats struct {
	appends, bytes, recoveries, truncated atomic.Uint64
	flushes, stalls                       waits
}

// waits counts waits and adds up their time.
type waits struct {
	count atomic.Uint64
	time  atomic.Int64
}

// since adds a wait that ends now.
func (w *waits) since(began time.Time) {
	w.time.Add(int64(time.Since(began)))
	w.count.Add(1)
}

// tallyEvery is the number of events that a log adds to Stats at a time. An atomic counter for
// each append would be one that all logs share.
const tallyEvery = 64

// tally is what a Log has added to Stats. The mu of the Log guards it.
type tally struct{ count, end int64 }

// tallyUp adds what was appended since the last call. It is called with mu held.
func (l *Log) tallyUp() {
	stats.appends.Add(uint64(l.count - l.tally.count))
	stats.bytes.Add(uint64(l.end - l.tally.end))
	l.tally = tally{l.count, l.end}
}
