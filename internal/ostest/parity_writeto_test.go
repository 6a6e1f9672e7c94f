package ostest

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"

	"go.dw1.io/mmapfile/internal/filetest"
)

// The sequences of WriteTo: to Writers with a fast path, and to those that fail or use the file.

// A writeToSink makes a Writer for WriteTo on f, and a function that shows what it got.
type writeToSink struct {
	name    string
	shrinks bool // another handle truncates the file
	make    func(r *run, f filetest.File, rest int64) (w io.Writer, got func() string)
}

// bufferSink returns a sink for the Buffer that fn makes for rest bytes.
func bufferSink(fn func(rest int) *bytes.Buffer) func(*run, filetest.File, int64) (io.Writer, func() string) {
	return func(_ *run, _ filetest.File, rest int64) (io.Writer, func() string) {
		b := fn(int(max(rest, 0)))
		return b, func() string {
			if b == nil {
				return "nil"
			}
			// UnreadByte reports whether the last call was a read.
			return fmt.Sprint(filetest.Show(b.Bytes()), " ", b.UnreadByte())
		}
	}
}

// bufioSink returns a sink for a bufio.Writer of that size, with content. Its Writer takes
// left bytes.
func bufioSink(size, left int, short, readerFrom bool) func(*run, filetest.File, int64) (io.Writer, func() string) {
	return func(*run, filetest.File, int64) (io.Writer, func() string) {
		to := &limitedWriter{left: left, short: short}
		var under io.Writer = onlyWriter{to}
		if readerFrom {
			under = &to.Buffer
		}
		w := bufio.NewWriterSize(under, size)
		w.WriteString("before")
		return w, func() string {
			s := fmt.Sprint(filetest.Show(to.Bytes()), " buffered ", w.Buffered(), " ", w.Flush())
			return s + " " + filetest.Show(to.Bytes())
		}
	}
}

// actingSink returns a sink for a Writer that calls act at the piece of that number.
func actingSink(piece int, act func(r *run, f filetest.File)) func(*run, filetest.File, int64) (io.Writer, func() string) {
	return func(r *run, f filetest.File, _ int64) (io.Writer, func() string) {
		var log bytes.Buffer
		calls := 0
		w := filetest.IOFunc(func(p []byte) (int, error) {
			log.WriteString(filetest.Show(p))
			if calls++; calls == piece {
				act(r, f)
			}
			if calls > 100 {
				return 0, filetest.ErrMidway // it writes to itself
			}
			return len(p), nil
		})
		return w, log.String
	}
}

var writeToSinks = []writeToSink{
	{"new Buffer", false, bufferSink(func(int) *bytes.Buffer { return new(bytes.Buffer) })},
	{"nil Buffer", false, bufferSink(func(int) *bytes.Buffer { return nil })},
	{"Buffer with exact room", false, bufferSink(func(rest int) *bytes.Buffer { return bytes.NewBuffer(make([]byte, 0, rest)) })},
	{"Buffer with more room", false, bufferSink(func(rest int) *bytes.Buffer { return bytes.NewBuffer(make([]byte, 0, 2*rest+1000)) })},
	{"Buffer with too little room", false, bufferSink(func(rest int) *bytes.Buffer { return bytes.NewBuffer(append(make([]byte, 0, rest/2+10), "before"...)) })},
	{"Buffer that was read", false, bufferSink(func(rest int) *bytes.Buffer {
		b := bytes.NewBuffer(append(make([]byte, 0, rest+4), "abcd"...))
		b.ReadByte()
		return b
	})},
	{"Buffer that was read to its end", false, bufferSink(func(rest int) *bytes.Buffer {
		b := bytes.NewBuffer(append(make([]byte, 0, rest), "a"...))
		b.ReadByte()
		return b
	})},
	{"bufio.Writer, 16 bytes", false, bufioSink(16, 1<<30, false, false)},
	{"bufio.Writer, 4 KiB", false, bufioSink(4096, 1<<30, false, false)},
	{"bufio.Writer, larger than the file", false, bufioSink(4<<20, 1<<30, false, false)},
	{"bufio.Writer, ReaderFrom", false, bufioSink(4096, 1<<30, false, true)},
	{"bufio.Writer that fails", false, bufioSink(4096, 5000, false, false)},
	{"bufio.Writer that is short", false, bufioSink(4096, 5000, true, false)},
	{"strings.Builder", false, func(*run, filetest.File, int64) (io.Writer, func() string) {
		b := new(strings.Builder)
		b.WriteString("before")
		return b, func() string { return filetest.Show([]byte(b.String())) }
	}},
	{"copied strings.Builder", false, func(*run, filetest.File, int64) (io.Writer, func() string) {
		var b strings.Builder
		b.WriteString("before")
		c := b
		return &c, c.String
	}},
	{"io.Discard", false, func(*run, filetest.File, int64) (io.Writer, func() string) {
		return io.Discard, func() string { return "" }
	}},
	{"failing Writer", false, func(*run, filetest.File, int64) (io.Writer, func() string) {
		b := &limitedWriter{left: 40_000}
		return onlyWriter{b}, func() string { return filetest.Show(b.Bytes()) }
	}},
	{"short Writer", false, func(*run, filetest.File, int64) (io.Writer, func() string) {
		b := &limitedWriter{left: 40_000, short: true}
		return onlyWriter{b}, func() string { return filetest.Show(b.Bytes()) }
	}},
	{"Writer that panics", false, func(*run, filetest.File, int64) (io.Writer, func() string) {
		return panicWriter{}, func() string { return "" }
	}},
	{"Writer that reads on", false, actingSink(1, func(r *run, f filetest.File) { r.read(f, 10) })},
	{"Writer that seeks", false, actingSink(1, func(r *run, f filetest.File) { r.seek(f, 100, io.SeekCurrent) })},
	{"Writer that appends", false, actingSink(1, func(r *run, f filetest.File) {
		if end, err := f.Seek(0, io.SeekCurrent); err == nil {
			r.writeAt(f, []byte("appended"), end)
		}
	})},
	{"Writer that truncates", false, actingSink(1, func(r *run, f filetest.File) { r.truncate(f, 100) })},
	{"Writer that closes", false, actingSink(1, func(r *run, f filetest.File) { r.close(f) })},
	{"Writer during which the file grows", false, actingSink(1, func(r *run, f filetest.File) {
		r.other("grow", func(o *os.File) error {
			end, _ := o.Seek(0, io.SeekEnd)
			_, err := o.WriteAt(filetest.PatternWithZeros(5000), end)
			return err
		})
	})},
	{"Writer during which the file shrinks", true, actingSink(1, func(r *run, f filetest.File) { r.otherTruncates(33_333) })},
}

func init() {
	contents := []content{threePage, empty, zeroTail, filled("100KB", filetest.PatternWithZeros(100_000)), filled("1MB+1", filetest.PatternWithZeros(1<<20+1))}
	for _, shrinks := range []bool{false, true} {
		// Another handle has changed the size before.
		moves := map[string]func(r *run, size int64){"": func(*run, int64) {}, "grown": func(r *run, size int64) { r.otherWrites([]byte("grown"), size+10) }}
		if shrinks {
			moves = map[string]func(r *run, size int64){
				"shrunk":         func(r *run, size int64) { r.otherTruncates(size * 2 / 3) },
				"shrunk in page": func(r *run, size int64) { r.otherTruncates(max(size-5, 0)) },
			}
		}
		for what, move := range moves {
			for _, s := range writeToSinks {
				do := func(r *run, _ filetest.File, size int64) {
					data, _ := os.ReadFile(r.path)
					for _, start := range []int64{0, size / 2, size, size + 10} {
						if err := os.WriteFile(r.path, data, 0o644); err != nil {
							r.t.Fatal(err)
						}
						f := r.open(os.O_RDWR)
						r.seek(f, start, io.SeekStart)
						move(r, size)
						w, got := s.make(r, f, size-start)
						r.step(f, fmt.Sprint("WriteTo a ", s.name, " from ", start), func() string {
							n, err := f.WriteTo(w)
							return r.did(n, err, nil)
						})
						r.note("it got", got())
						r.seek(f, 0, io.SeekCurrent)
						r.read(f, 10)
						r.close(f)
					}
				}
				name := strings.TrimSpace("copies by WriteTo to a " + s.name + " " + what)
				sequences = append(sequences, sequence{name, contents, nil, quiet, shrinks || s.shrinks, do})
			}
		}
	}
}
