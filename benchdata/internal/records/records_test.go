package records

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/edsrzf/mmap-go"
	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/benchdata/internal/benchtest"
)

// sizes is a selection of the published grid: of records by the million, and no more, since those
// that cost a system call each take their time.
type sizes struct {
	name             string
	file             int
	records, buffers []int // a buffer of 0 is none
}

var grid = []sizes{
	{"10MB", 10 * benchtest.MB, []int{10, 100, 2 * benchtest.KB}, []int{0, 100, benchtest.KB, 8 * benchtest.KB, 16 * benchtest.KB, 128 * benchtest.KB, benchtest.MB}},
	{"100MB", 100 * benchtest.MB, []int{2 * benchtest.KB}, []int{0, 8 * benchtest.KB, 128 * benchtest.KB, benchtest.MB}},
	{"1GB", 1024 * benchtest.MB, []int{2 * benchtest.KB}, []int{0, 8 * benchtest.KB}},
}

// bufferName is the size of a buffer, as it stands in the names of rows.
func bufferName(n int) string {
	if n == 0 {
		return "none"
	}
	return benchtest.SizeName(n)
}

// job is one cell of the grid.
type job struct {
	name   string // of the file
	size   int    // of the file
	record []byte
	n      int // records
	buffer int
}

// BenchmarkRecords fills files with records.
func BenchmarkRecords(b *testing.B) {
	for _, s := range grid {
		for _, pass := range []string{"fresh", "later"} {
			for _, record := range s.records {
				for _, buffer := range s.buffers {
					if buffer > 0 && buffer < record {
						continue // it collects nothing
					}
					j := job{size: s.file, record: content(record), n: s.file / record, buffer: buffer}
					row := fmt.Sprintf("file=%s/pass=%s/record=%s/buffer=%s", s.name, pass, benchtest.SizeName(record), bufferName(buffer))
					b.Run(row, func(b *testing.B) { j.eachWay(b, pass == "fresh") })
				}
			}
		}
	}
}

func (j job) eachWay(b *testing.B, fresh bool) {
	ways := []way{{"writeat", openFile(j.writeAt)}, {"bufio", openFile(j.bufio)}}
	if j.buffer == 0 {
		ways = append(ways, way{"map", openMap(false)})
	} else {
		ways = append(ways, way{"map/reading=corrected", openMap(false)}, way{"map/reading=asPublished", openMap(true)})
	}
	for _, w := range ways {
		b.Run("way="+w.name, func(b *testing.B) {
			j.name = filepath.Join(benchtest.TempDir(b), "file")
			j.run(b, w, fresh)
		})
	}
}

// passesBefore a later pass: what there is to learn and to fault in has been by then.
const passesBefore = 3

// run measures passes over fresh files, or over one that some have filled before.
func (j job) run(b *testing.B, w way, fresh bool) {
	pass, done := w.open(b, j)
	for range passesBefore {
		if fresh {
			break
		}
		if err := pass(); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if err := pass(); err != nil {
			b.Fatal(err)
		}
		if fresh {
			b.StopTimer()
			os.Remove(j.name) // first, for nothing of it to be written to the disk
			done()
			pass, done = w.open(b, j)
			b.StartTimer()
		}
	}
	done()
}

// content is not of zeros, which some layers know how to do without.
func content(n int) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(7*i + 1)
	}
	return p
}

// way is one way to write. What open returns writes all records, from the beginning of the file on.
type way struct {
	name string
	open func(b *testing.B, j job) (pass func() error, done func())
}

// openFile makes a file that has its whole length from the beginning, as a mapping needs it.
func openFile(passOver func(f *mmapfile.File) func() error) func(b *testing.B, j job) (pass func() error, done func()) {
	return func(b *testing.B, j job) (pass func() error, done func()) {
		f, err := mmapfile.OpenFile(j.name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600, int64(j.size))
		if err != nil {
			b.Fatal(err)
		}
		return passOver(f), func() { f.Close() }
	}
}

func (j job) writeAt(f *mmapfile.File) func() error {
	buf := make([]byte, 0, j.buffer)
	return func() error {
		buf, off := buf, int64(0)
		for range j.n {
			p := j.record
			if j.buffer > 0 {
				if len(buf)+len(p) <= cap(buf) {
					buf = append(buf, p...)
					continue
				}
				p = buf
			}
			if _, err := f.WriteAt(p, off); err != nil {
				return err
			}
			off += int64(len(p))
			if j.buffer > 0 {
				buf = append(buf[:0], j.record...)
			}
		}
		_, err := f.WriteAt(buf, off)
		return err
	}
}

// bufio is Write, buffered by a bufio.Writer.
func (j job) bufio(f *mmapfile.File) func() error {
	b := bufio.NewWriterSize(f, max(j.buffer, 1))
	var w io.Writer = b
	if j.buffer == 0 {
		w = f
	}
	return func() error {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return err
		}
		for range j.n {
			if _, err := w.Write(j.record); err != nil {
				return err
			}
		}
		return b.Flush()
	}
}

// openMap is a mapping, and no more.
func openMap(asPublished bool) func(b *testing.B, j job) (pass func() error, done func()) {
	return func(b *testing.B, j job) (pass func() error, done func()) {
		f, err := os.OpenFile(j.name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
		if err != nil {
			b.Fatal(err)
		}
		defer f.Close()
		if err := f.Truncate(int64(j.size)); err != nil {
			b.Fatal(err)
		}
		mem, err := mmap.Map(f, mmap.RDWR, 0)
		if err != nil {
			b.Fatal(err)
		}
		buf := make([]byte, 0, j.buffer)
		return func() error {
			if j.buffer == 0 {
				copyEach(mem, j.record, j.n)
			} else {
				copyBuffered(mem, j.record, j.n, buf, asPublished)
			}
			return nil
		}, func() { mem.Unmap() }
	}
}

func copyEach(mem, record []byte, n int) {
	at := 0
	for range n {
		copy(mem[at:], record)
		at += len(record)
	}
}

// copyBuffered returns how far it came.
func copyBuffered(mem, record []byte, n int, buf []byte, asPublished bool) (at int) {
	flush := func() {
		copy(mem[at:], buf)
		if asPublished {
			at += len(record)
		} else {
			at += len(buf)
		}
		buf = buf[:0]
	}
	for range n {
		if len(buf)+len(record) > cap(buf) {
			flush()
		}
		buf = append(buf, record...)
	}
	flush()
	return at
}

func TestReadingsOfTheBufferedLoop(t *testing.T) {
	record, n := []byte("0123456789"), 100
	mem := make([]byte, n*len(record))
	if at := copyBuffered(mem, record, n, make([]byte, 0, 64), false); at != len(mem) || !slices.Equal(mem, slices.Repeat(record, n)) {
		t.Errorf("corrected, it fills %d bytes of %d", at, len(mem))
	}
	if at := copyBuffered(mem, record, n, make([]byte, 0, 64), true); at != (n+5)/6*len(record) {
		t.Errorf("as published, it goes to %d, and not by a record for every buffer", at)
	}
}
