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

// load is what a turn appends, and where.
type load struct {
	goroutines, batch, appends int

	beside bool   // another file of the file system is written meanwhile
	dir    string // the variable of the environment that names the directory
}

var loads = []load{
	{goroutines: 1, batch: 1, appends: 1, dir: "BENCH_DIR"},
	{goroutines: 16, batch: 1, appends: 160, dir: "BENCH_DIR"},
	{goroutines: 1, batch: 16, appends: 1, dir: "BENCH_DIR"},
	{goroutines: 1, batch: 1, appends: 1, dir: "BENCH_DIR", beside: true},
	{goroutines: 1, batch: 1, appends: 1, dir: xfsDir},
	{goroutines: 1, batch: 1, appends: 1, dir: xfsDir, beside: true},
}

// xfsDir is the variable of the environment for a directory on xfs. Without it the rows of xfs are left out.
const xfsDir = "BENCH_XFS"

// name is the row.
func (c load) name() string {
	name := fmt.Sprintf("goroutines=%d/batch=%d/size=%d", c.goroutines, c.batch, eventSize)
	if c.dir == xfsDir {
		name += "/fs=xfs"
	}
	if c.beside {
		name += "/beside=writer"
	}
	return name
}

// BenchmarkDurable is a published table: ns/op is the mean time for one event. The ways take turns
// of one append, or 160 of 16 goroutines, since the time of a flush changes within milliseconds
// and depends on what was written before.
func BenchmarkDurable(b *testing.B) {
	for _, c := range loads {
		if c.dir == xfsDir && os.Getenv(xfsDir) == "" {
			continue
		}
		b.Run(c.name(), func(b *testing.B) {
			times := c.measure(b)
			for i, w := range ways {
				b.Run("way="+w.name, func(b *testing.B) { b.ReportMetric(float64(times[i].Nanoseconds()), "ns/op") })
			}
		})
	}
}

// measure returns the mean time for an event of each way.
func (c load) measure(b *testing.B) []time.Duration {
	dir, err := os.MkdirTemp(os.Getenv(c.dir), "durable")
	if err != nil {
		b.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if c.beside {
		defer writeBeside(b, filepath.Join(dir, "other"))()
	}
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

// writeBeside writes 64 KiB to another file every millisecond, and flushes nothing, until the function that it returns is
// called.
func writeBeside(b *testing.B, name string) (stop func()) {
	f, err := os.Create(name)
	if err != nil {
		b.Fatal(err)
	}
	done, ended := make(chan struct{}), make(chan error)
	go func() {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		block := make([]byte, 64<<10)
		for n := int64(0); ; n++ {
			select {
			case <-done:
				ended <- f.Close()
				return
			case <-tick.C:
				if n%1024 == 0 { // 64 MiB
					err = f.Truncate(0)
				}
				if _, werr := f.WriteAt(block, n%1024*int64(len(block))); err != nil || werr != nil {
					b.Error(err, werr)
				}
			}
		}
	}()
	return func() {
		close(done)
		if err := <-ended; err != nil {
			b.Error(err)
		}
	}
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
