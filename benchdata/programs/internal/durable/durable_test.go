package durable

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// eventSize is the number of bytes of data in an event.
const eventSize = 1 << 10

// eventLog is a log whose append returns once its events are durable.
type eventLog interface {
	append(events [][]byte) error
	Close() error
}

// ways are the logs that are compared. What a way needs to be safe for concurrent use is
// part of it.
var ways = []struct {
	name string
	open func(dir string) (eventLog, error)
}{
	{"bare", openBare},
	{"bufio", openBuffered},
	{"raft-wal", openRaft},
	{"tidwall", openTidwall},
	{"eventlog", openEvents},
}

// load is what a turn appends.
type load struct{ goroutines, batch, appends int }

var loads = []load{{1, 1, 1}, {16, 1, 160}, {1, 16, 1}}

// BenchmarkDurable is a published table: ns/op is the mean time for one event. The ways take turns
// of one append, or 160 of 16 goroutines, since the time of a flush changes within milliseconds
// and depends on what was written before.
func BenchmarkDurable(b *testing.B) {
	for _, c := range loads {
		b.Run(fmt.Sprintf("goroutines=%d/batch=%d/size=%d", c.goroutines, c.batch, eventSize), func(b *testing.B) {
			times := c.measure(b)
			for i, w := range ways {
				b.Run("way="+w.name, func(b *testing.B) { b.ReportMetric(float64(times[i].Nanoseconds()), "ns/op") })
			}
		})
	}
}

// measure returns the mean time for an event of each way.
func (c load) measure(b *testing.B) []time.Duration {
	dir, err := os.MkdirTemp(os.Getenv("BENCH_DIR"), "durable")
	if err != nil {
		b.Fatal(err)
	}
	defer os.RemoveAll(dir)
	logs, times := make([]eventLog, len(ways)), make([]time.Duration, len(ways))
	for i, w := range ways {
		if logs[i], err = w.open(filepath.Join(dir, w.name)); err != nil {
			b.Fatal(err)
		}
		defer logs[i].Close()
	}
	events := make([][]byte, c.batch)
	for i := range events {
		events[i] = make([]byte, eventSize)
		for k := range events[i] {
			events[i][k] = byte(7*k + i + 1)
		}
	}
	each, err := time.ParseDuration(flag.Lookup("test.benchtime").Value.String())
	if err != nil {
		b.Fatal(err)
	}
	turns := 0
	for end := time.Now().Add(each * time.Duration(len(ways))); turns < 10 || time.Now().Before(end); turns++ {
		for _, i := range rand.Perm(len(ways)) {
			began := time.Now()
			if err := c.turn(logs[i], events); err != nil {
				b.Fatal(err)
			}
			times[i] += time.Since(began)
		}
	}
	for i := range times {
		times[i] /= time.Duration(turns * c.appends * c.batch)
	}
	return times
}

// turn appends the events as often as c says.
func (c load) turn(l eventLog, events [][]byte) (err error) {
	if c.goroutines == 1 {
		return l.append(events)
	}
	var g sync.WaitGroup
	errs := make(chan error, c.goroutines)
	for range c.goroutines {
		g.Go(func() {
			for range c.appends / c.goroutines {
				if err := l.append(events); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	g.Wait()
	close(errs)
	return <-errs
}
