package eventlog_test

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/eventlog"
)

// These are the rows of make events, which runs them round by round.

// volume is how much a pass appends.
type volume struct{ messages, size int }

var volumes = []volume{{10_000, 64}, {10_000, 1 << 10}, {10_000, 16 << 10}, {1 << 20, 1 << 10}}

func eachVolume(b *testing.B, fn func(b *testing.B, v volume)) {
	for _, v := range volumes {
		b.Run(fmt.Sprintf("messages=%d/size=%d", v.messages, v.size), func(b *testing.B) { fn(b, v) })
	}
}

// fileSize is how long the file becomes.
func (v volume) fileSize() int { return 24 + v.messages*(16+v.size) }

// message is not of zeros, which some layers know how to do without.
func (v volume) message() []byte {
	p := make([]byte, v.size)
	for i := range p {
		p[i] = byte(7*i + 1)
	}
	return p
}

// eventWay is one way to keep events. What open returns stores all messages, from the beginning of
// the file on; the first time the file is fresh.
type eventWay struct {
	name string
	open func(b *testing.B, name string, v volume) (pass func(), done func())
}

var eventWays = []eventWay{
	{"standard", toFile(writeEach)},
	{"channel", toFile(writeReceived)},
	{"bufio", toFile(writeBuffered)},
	{"bare", openBare},
	{"eventlog", openLog(1)},
	{"eventlog-two", openLog(2)},
	{"limit", openLimit},
}

// BenchmarkEvents is a published table. Every way but the limit stores the same entries: a header of
// 16 bytes with the time and a checksum, and the message. The ways come last in a name, and so in
// time beside those that they are compared with.
func BenchmarkEvents(b *testing.B) {
	eachVolume(b, func(b *testing.B, v volume) {
		for _, w := range eventWays {
			if w.name != "limit" { // its memory has been touched before
				b.Run("pass=fresh/way="+w.name, func(b *testing.B) { w.fresh(b, v) })
			}
		}
		for _, w := range eventWays {
			b.Run("pass=later/way="+w.name, func(b *testing.B) { w.later(b, v) })
		}
	})
}

// fresh is the first pass over a new file, which has been opened before.
func (w eventWay) fresh(b *testing.B, v volume) {
	b.SetBytes(int64(v.messages * v.size))
	for b.Loop() {
		b.StopTimer()
		name, remove := benchName(b)
		pass, done := w.open(b, name, v)
		b.StartTimer()
		pass()
		b.StopTimer()
		done()
		remove()
		b.StartTimer()
	}
}

// later is a pass over what an earlier one has written.
func (w eventWay) later(b *testing.B, v volume) {
	b.SetBytes(int64(v.messages * v.size))
	name, remove := benchName(b)
	defer remove()
	pass, done := w.open(b, name, v)
	defer done()
	pass()
	for b.Loop() {
		pass()
	}
}

// benchName is that of a file which make events may choose the place of.
func benchName(b *testing.B) (name string, remove func()) {
	dir, err := os.MkdirTemp(os.Getenv("BENCH_DIR"), "events")
	must(b, err)
	return filepath.Join(dir, "log"), func() { os.RemoveAll(dir) }
}

// toFile is a way that writes to an os.File.
func toFile(write func(f *os.File, p []byte, n int) error) func(b *testing.B, name string, v volume) (pass, done func()) {
	return func(b *testing.B, name string, v volume) (pass, done func()) {
		f, err := os.Create(name)
		must(b, err)
		p := v.message()
		return func() {
			must(b, errOf(f.Seek(24, io.SeekStart)))
			must(b, write(f, p, v.messages))
		}, func() { f.Close() }
	}
}

// putHead stores the header of the entry of p.
func putHead(h, p []byte) {
	binary.LittleEndian.PutUint64(h, uint64(time.Now().UnixNano()))
	binary.LittleEndian.PutUint32(h[8:], uint32(len(p)))
	binary.LittleEndian.PutUint32(h[12:], crc32.ChecksumIEEE(p))
}

// writeEach makes one call of Write for each entry.
func writeEach(f *os.File, p []byte, n int) error {
	entry := make([]byte, 16+len(p))
	for range n {
		putHead(entry, p)
		copy(entry[16:], p)
		if _, err := f.Write(entry); err != nil {
			return err
		}
	}
	return nil
}

func writeBuffered(f *os.File, p []byte, n int) error {
	w := bufio.NewWriter(f)
	var h [16]byte
	for range n {
		putHead(h[:], p)
		w.Write(h[:])
		w.Write(p)
	}
	return w.Flush()
}

// writeReceived has one goroutine write, and do all else for a message, which a channel brings it.
func writeReceived(f *os.File, p []byte, n int) error {
	messages, result := make(chan []byte, 1024), make(chan error)
	go func() {
		w := bufio.NewWriter(f)
		var h [16]byte
		for p := range messages {
			putHead(h[:], p)
			w.Write(h[:])
			w.Write(p)
		}
		result <- w.Flush()
	}()
	for range n {
		messages <- p
	}
	close(messages)
	return <-result
}

// openBare is the loop of the published design.
func openBare(b *testing.B, name string, v volume) (pass, done func()) {
	if !eventlog.Maps {
		b.Skip("nothing is mapped here")
	}
	mem, unmap := mapFile(b, name, v.fileSize())
	p := v.message()
	return func() { bareLoop(mem, p, v.messages) }, unmap
}

// openLog is this package, with so many goroutines that append.
func openLog(goroutines int) func(b *testing.B, name string, v volume) (pass, done func()) {
	return func(b *testing.B, name string, v volume) (pass, done func()) {
		l, err := eventlog.Open(name, eventlog.Options{})
		must(b, err)
		p, share := v.message(), v.messages/goroutines
		// The others run all the time: to wake one took 0.08 to 0.22 ms in a virtual
		// machine, where 10,000 × 64 bytes take hardly 1 ms.
		var passes, ended, failed atomic.Int32
		appends := func() {
			if err := appendEach(l, p, share); err != nil {
				b.Error(err)
				failed.Add(1)
			}
			ended.Add(1)
		}
		for range goroutines - 1 {
			go func() {
				for pass := int32(0); pass >= 0; {
					if now := passes.Load(); now == pass {
						runtime.Gosched()
					} else if pass = now; pass > 0 {
						appends()
					}
				}
			}()
		}
		return func() {
				eventlog.Rewind(l)
				ended.Store(0)
				passes.Add(1)
				appends()
				for ended.Load() < int32(goroutines) {
					runtime.Gosched()
				}
				if failed.Load() > 0 {
					b.FailNow()
				}
			}, func() {
				passes.Store(-1)
				os.Truncate(name, 0) // else Close makes it durable
				l.Close()
			}
	}
}

func appendEach(l *eventlog.Log, p []byte, n int) error {
	for range n {
		if _, err := l.Append(p); err != nil {
			return err
		}
	}
	return nil
}

// openLimit is what no way can do without, into memory that belongs to no file.
func openLimit(b *testing.B, _ string, v volume) (pass, done func()) {
	p, dst := v.message(), make([]byte, v.messages*v.size)
	return func() { limitLoop(dst, p, v.messages) }, func() {}
}

// bareLoop is the published design: stores into a mapping, and no more.
func bareLoop(mem, p []byte, n int) {
	off := 24
	le := binary.LittleEndian
	for i := range n {
		h := mem[off : off+16]
		le.PutUint64(h, uint64(time.Now().UnixNano()))
		le.PutUint32(h[8:], uint32(len(p)))
		le.PutUint32(h[12:], crc32.ChecksumIEEE(p))
		copy(mem[off+16:], p)
		off += 16 + len(p)
		le.PutUint64(mem, uint64(off))
		le.PutUint64(mem[8:], uint64(i+1))
	}
}

// limitLoop is the copy, the checksum and the clock, and nothing else.
func limitLoop(dst, p []byte, n int) {
	for i := range n {
		limitSink += uint32(time.Now().UnixNano())
		limitSink += crc32.ChecksumIEEE(p)
		copy(dst[i*len(p):][:len(p)], p)
	}
}

var limitSink uint32 // so that nothing is left out

// BenchmarkEventsRead reads back what is in memory, verified; crc32 does that alone with the same
// pages of the file.
func BenchmarkEventsRead(b *testing.B) {
	eachVolume(b, func(b *testing.B, v volume) {
		name, remove := benchName(b)
		defer remove()
		pass, done := openLog(1)(b, name, v)
		pass()
		defer done()
		b.Run("way=eventlog", func(b *testing.B) { readLog(b, name, v) })
		b.Run("way=crc32", func(b *testing.B) { readSums(b, name, v) })
	})
}

func readLog(b *testing.B, name string, v volume) {
	r, err := eventlog.OpenReader(name)
	must(b, err)
	defer r.Close()
	b.SetBytes(int64(v.messages * v.size))
	for b.Loop() {
		n := 0
		for _, err := range r.Events(0) {
			must(b, err)
			n++
		}
		if n != v.messages {
			b.Fatalf("%d events, want %d", n, v.messages)
		}
	}
}

func readSums(b *testing.B, name string, v volume) {
	f, err := mmapfile.Open(name)
	must(b, err)
	defer f.Close()
	mem := f.Bytes()
	if len(mem) < v.fileSize() {
		b.Skip("nothing is mapped here")
	}
	want := crc32.ChecksumIEEE(v.message())
	b.SetBytes(int64(v.messages * v.size))
	for b.Loop() {
		for at := 24 + 16; at < v.fileSize(); at += 16 + v.size {
			if crc32.ChecksumIEEE(mem[at:][:v.size]) != want {
				b.Fatal("wrong data")
			}
		}
	}
}
