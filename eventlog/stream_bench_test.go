package eventlog_test

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"go.dw1.io/mmapfile/eventlog"
)

var streamEvents = flag.Int64("eventlog.events", 1_000_000, "number of events in the stream of BenchmarkStream")

// BenchmarkStream opens a stream, and gets random events, whose pages are in memory.
func BenchmarkStream(b *testing.B) {
	for _, size := range []int{100, 1024} {
		b.Run(fmt.Sprint("size=", size), func(b *testing.B) {
			dir := newDir(b)
			s := openStream(b, dir, eventlog.StreamOptions{})
			batch := make([][]byte, 100)
			for i := range batch {
				batch[i] = bytes.Repeat([]byte{byte(i + 1)}, size)
			}
			for s.Next() < *streamEvents {
				if _, err := s.AppendBatch(batch...); err != nil {
					b.Fatal(err)
				}
			}
			closeStream(b, s)
			b.Run("Open", func(b *testing.B) {
				for b.Loop() {
					s := openStream(b, dir, eventlog.StreamOptions{})
					b.StopTimer()
					closeStream(b, s)
					b.StartTimer()
				}
			})
			b.Run("FirstGet", func(b *testing.B) { // makes the index of a segment
				for b.Loop() {
					r := openStreamReader(b, dir)
					if _, err := r.Get(0); err != nil {
						b.Fatal(err)
					}
					r.Close()
				}
			})
			s = openStream(b, dir, eventlog.StreamOptions{})
			r := openStreamReader(b, dir)
			for what, get := range map[string]func(int64) (eventlog.Event, error){"Get": s.Get, "Reader.Get": r.Get} {
				b.Run(what+"/hot", func(b *testing.B) { // a thousand events all over the stream
					one := func(i int64) {
						if _, err := get(i % 1000 * (*streamEvents / 1000)); err != nil {
							b.Fatal(err)
						}
					}
					for i := range int64(1000) {
						one(i)
					}
					for i := int64(0); b.Loop(); i++ {
						one(i)
					}
				})
				b.Run(what, func(b *testing.B) {
					before := heap()
					for seq := int64(0); seq < *streamEvents; seq++ {
						if _, err := get(seq); err != nil {
							b.Fatal(err)
						}
					}
					b.ReportMetric(float64(heap()-before)/float64(*streamEvents), "heap-B/event")
					rnd := rand.New(rand.NewPCG(1, 2))
					b.ReportAllocs()
					for b.Loop() {
						if _, err := get(rnd.Int64N(*streamEvents)); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
			b.Run("Events", func(b *testing.B) {
				b.SetBytes(*streamEvents * int64(size))
				for b.Loop() {
					for _, err := range s.Events(0) {
						if err != nil {
							b.Fatal(err)
						}
					}
				}
			})
			closeStream(b, s)
		})
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// BenchmarkStreamAppend appends to a stream and to a log.
func BenchmarkStreamAppend(b *testing.B) {
	p := make([]byte, 1024)
	for _, what := range []string{"Log", "Stream"} {
		b.Run(what, func(b *testing.B) {
			dir := newDir(b)
			b.SetBytes(int64(len(p)))
			if what == "Log" {
				l := open(b, dir+"/log", eventlog.Options{MaxSize: 4 << 30})
				for b.Loop() {
					l.Append(p)
				}
				return
			}
			s := openStream(b, dir, eventlog.StreamOptions{})
			for b.Loop() {
				if _, err := s.Append(p); err != nil {
					b.Fatal(err)
				}
			}
			closeStream(b, s)
		})
	}
	for _, what := range []string{"Log", "Stream"} {
		b.Run("sync/"+what, func(b *testing.B) {
			dir := newDir(b)
			if what == "Log" {
				l := open(b, dir+"/log", eventlog.Options{})
				for b.Loop() {
					l.AppendSync(p)
				}
				return
			}
			s := openStream(b, dir, eventlog.StreamOptions{})
			for b.Loop() {
				if _, err := s.AppendSync(p); err != nil {
					b.Fatal(err)
				}
			}
			closeStream(b, s)
		})
	}
}
