package durable

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
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

// BenchmarkDurable is a published table: ns/op is the time for one event. The ways come last in a
// name, so that those that are compared follow each other.
func BenchmarkDurable(b *testing.B) {
	for _, c := range []struct{ goroutines, batch int }{{1, 1}, {16, 1}, {1, 16}} {
		for _, w := range ways {
			name := fmt.Sprintf("goroutines=%d/batch=%d/size=%d/way=%s", c.goroutines, c.batch, eventSize, w.name)
			b.Run(name, func(b *testing.B) {
				dir, err := os.MkdirTemp(os.Getenv("BENCH_DIR"), "durable")
				if err != nil {
					b.Fatal(err)
				}
				defer os.RemoveAll(dir)
				l, err := w.open(filepath.Join(dir, "log"))
				if err != nil {
					b.Fatal(err)
				}
				defer l.Close()
				appendAll(b, l, c.goroutines, c.batch)
			})
		}
	}
}

// appendAll appends b.N events. The first append is not counted, since it makes room for the next.
func appendAll(b *testing.B, l eventLog, goroutines, batch int) {
	events := make([][]byte, batch)
	for i := range events {
		events[i] = make([]byte, eventSize)
		for k := range events[i] {
			events[i][k] = byte(7*k + i + 1)
		}
	}
	if err := l.append(events); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(eventSize)
	b.ResetTimer()
	var next atomic.Int64
	var g sync.WaitGroup
	for range goroutines {
		g.Go(func() {
			for next.Add(int64(batch)) <= int64(b.N+batch-1) {
				if err := l.append(events); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	g.Wait()
	b.StopTimer()
}
