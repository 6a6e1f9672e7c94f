package ostest

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing/iotest"

	"go.dw1.io/mmapfile/internal/filetest"
)

// The copies between all readers and writers, of which at least one is the file under test.

// onlyReader and onlyWriter hide every other method.
type onlyReader struct{ io.Reader }

type onlyWriter struct{ io.Writer }

// embedsFile has every method of its file, and is of another type.
type embedsFile struct{ filetest.File }

// limitedWriter takes left bytes. Then it fails, or returns a short count if short.
type limitedWriter struct {
	bytes.Buffer
	left  int
	short bool
}

func (w *limitedWriter) Write(p []byte) (int, error) {
	n := min(len(p), w.left)
	w.left -= n
	w.Buffer.Write(p[:n])
	if n < len(p) && !w.short {
		return n, filetest.ErrMidway
	}
	return n, nil
}

func (w *limitedWriter) ReadFrom() {} // not an io.ReaderFrom: the embedded one is hidden

// liar reports one byte more than it was given.
type liar struct{}

func (liar) Write(p []byte) (int, error) { return len(p) + 1, nil }

// A copySource makes a reader.
type copySource struct {
	name string
	ours bool // reads the file under test
	make func(r *run, f filetest.File, o *os.File, data []byte) io.Reader
}

var copySources = []copySource{
	{"File", true, func(r *run, f filetest.File, o *os.File, data []byte) io.Reader { return f }},
	{"File without WriterTo", true, func(r *run, f filetest.File, o *os.File, data []byte) io.Reader { return onlyReader{f} }},
	{"embedded File", true, func(r *run, f filetest.File, o *os.File, data []byte) io.Reader { return embedsFile{f} }},
	{"limited File", true, func(r *run, f filetest.File, o *os.File, data []byte) io.Reader { return io.LimitReader(f, 1000) }},
	{"section of File", true, func(r *run, f filetest.File, o *os.File, data []byte) io.Reader {
		return io.NewSectionReader(f, 3, 900)
	}},
	{"buffered File", true, func(r *run, f filetest.File, o *os.File, data []byte) io.Reader { return bufio.NewReader(f) }},
	{"limited limited File", true, func(r *run, f filetest.File, o *os.File, data []byte) io.Reader {
		return io.LimitReader(io.LimitReader(f, 1000), 900)
	}},
	{"os.File", false, func(r *run, f filetest.File, o *os.File, data []byte) io.Reader { return o }},
	{"limited os.File", false, func(r *run, f filetest.File, o *os.File, data []byte) io.Reader { return io.LimitReader(o, 1000) }},
	{"bytes.Reader", false, func(r *run, f filetest.File, o *os.File, data []byte) io.Reader { return bytes.NewReader(data) }},
	{"plain reader", false, func(r *run, f filetest.File, o *os.File, data []byte) io.Reader {
		return onlyReader{bytes.NewReader(data)}
	}},
	{"byte by byte", false, func(r *run, f filetest.File, o *os.File, data []byte) io.Reader {
		return iotest.OneByteReader(bytes.NewReader(data[:min(len(data), 200)]))
	}},
	{"EOF with the data", false, func(r *run, f filetest.File, o *os.File, data []byte) io.Reader {
		return iotest.DataErrReader(bytes.NewReader(data))
	}},
	{"failing reader", false, func(r *run, f filetest.File, o *os.File, data []byte) io.Reader {
		return io.MultiReader(bytes.NewReader(data[:len(data)/3]), iotest.ErrReader(filetest.ErrMidway))
	}},
	{"panicking reader", false, func(r *run, f filetest.File, o *os.File, data []byte) io.Reader {
		return io.MultiReader(bytes.NewReader(data[:len(data)/3]), panicReader{})
	}},
}

type panicReader struct{}

func (panicReader) Read([]byte) (int, error) { panic("the reader's own panic") }

type panicWriter struct{}

func (panicWriter) Write([]byte) (int, error) { panic("the writer's own panic") }

type copySink struct {
	name string
	ours bool
	make func(f filetest.File, o *os.File, b *limitedWriter) io.Writer
}

var copySinks = []copySink{
	{"File", true, func(f filetest.File, o *os.File, b *limitedWriter) io.Writer { return f }},
	{"File without ReaderFrom", true, func(f filetest.File, o *os.File, b *limitedWriter) io.Writer { return onlyWriter{f} }},
	{"embedded File", true, func(f filetest.File, o *os.File, b *limitedWriter) io.Writer { return embedsFile{f} }},
	{"os.File", false, func(f filetest.File, o *os.File, b *limitedWriter) io.Writer { return o }},
	{"bytes.Buffer", false, func(f filetest.File, o *os.File, b *limitedWriter) io.Writer { return &b.Buffer }},
	{"plain writer", false, func(f filetest.File, o *os.File, b *limitedWriter) io.Writer { return onlyWriter{&b.Buffer} }},
	{"failing writer", false, func(f filetest.File, o *os.File, b *limitedWriter) io.Writer { return onlyWriter{b} }},
	{"short writer", false, func(f filetest.File, o *os.File, b *limitedWriter) io.Writer { b.short = true; return onlyWriter{b} }},
	{"lying writer", false, func(f filetest.File, o *os.File, b *limitedWriter) io.Writer { return liar{} }},
	{"panicking writer", false, func(f filetest.File, o *os.File, b *limitedWriter) io.Writer { return panicWriter{} }},
}

// copyCalls are the ways to copy. Each returns its result for the log.
var copyCalls = []struct {
	name string
	do   func(r *run, dst io.Writer, src io.Reader, size int64) string
}{
	{"io.Copy", func(r *run, dst io.Writer, src io.Reader, size int64) string {
		n, err := io.Copy(dst, src)
		return r.did(n, err, nil)
	}},
	{"io.CopyBuffer", func(r *run, dst io.Writer, src io.Reader, size int64) string {
		n, err := io.CopyBuffer(dst, src, make([]byte, 77))
		return r.did(n, err, nil)
	}},
	{"CopyN -1", func(r *run, dst io.Writer, src io.Reader, size int64) string { return copyN(r, dst, src, -1) }},
	{"CopyN 0", func(r *run, dst io.Writer, src io.Reader, size int64) string { return copyN(r, dst, src, 0) }},
	{"CopyN some", func(r *run, dst io.Writer, src io.Reader, size int64) string { return copyN(r, dst, src, 517) }},
	{"CopyN all", func(r *run, dst io.Writer, src io.Reader, size int64) string { return copyN(r, dst, src, size) }},
	{"CopyN more", func(r *run, dst io.Writer, src io.Reader, size int64) string { return copyN(r, dst, src, size+9) }},
	{"ReadFrom", func(r *run, dst io.Writer, src io.Reader, size int64) string { return readFromOf(r, dst, src) }},
	{"ReadFrom limited -1", func(r *run, dst io.Writer, src io.Reader, size int64) string { return limited(r, dst, src, -1) }},
	{"ReadFrom limited 0", func(r *run, dst io.Writer, src io.Reader, size int64) string { return limited(r, dst, src, 0) }},
	{"ReadFrom limited some", func(r *run, dst io.Writer, src io.Reader, size int64) string { return limited(r, dst, src, 517) }},
	{"ReadFrom limited more", func(r *run, dst io.Writer, src io.Reader, size int64) string { return limited(r, dst, src, size+9) }},
	{"WriteTo", func(r *run, dst io.Writer, src io.Reader, size int64) string {
		w, ok := src.(io.WriterTo)
		if !ok {
			return "no WriterTo"
		}
		n, err := w.WriteTo(dst)
		return r.did(n, err, nil)
	}},
}

func copyN(r *run, dst io.Writer, src io.Reader, n int64) string {
	k, err := io.CopyN(dst, src, n)
	return r.did(k, err, nil)
}

func readFromOf(r *run, dst io.Writer, src io.Reader) string {
	d, ok := dst.(io.ReaderFrom)
	if !ok {
		return "no ReaderFrom"
	}
	n, err := d.ReadFrom(src)
	return r.did(n, err, nil)
}

// limited calls ReadFrom with a LimitedReader. The N that is left is a part of the result.
func limited(r *run, dst io.Writer, src io.Reader, n int64) string {
	lr := &io.LimitedReader{R: src, N: n}
	s := guarded(func() string { return readFromOf(r, dst, lr) })
	return fmt.Sprint(s, " N left ", lr.N)
}

// copyAll makes every copy between every pair, from and to several cursors.
func copyAll(r *run, size int64) {
	from, to := filepath.Join(r.dir, "from"), filepath.Join(r.dir, "to")
	data, _ := os.ReadFile(r.path)
	target := filetest.PatternWithZeros(600)
	for _, dflag := range []int{os.O_RDWR, os.O_WRONLY | os.O_APPEND} {
		os.WriteFile(from, data, 0o644)
		os.WriteFile(to, target, 0o644)
		src, dst := r.openFile(from, os.O_RDWR, 0), r.openFile(to, dflag, 0)
		osSrc, err := os.Open(from)
		if err != nil {
			r.t.Fatal(err)
		}
		osDst, err := os.OpenFile(to, dflag, 0)
		if err != nil {
			r.t.Fatal(err)
		}
		r.all = append(r.all, osSrc, osDst)
		for _, s := range copySources {
			for _, d := range copySinks {
				if !s.ours && !d.ours || dflag&os.O_APPEND != 0 && !d.ours && d.name != "os.File" {
					continue
				}
				for i, c := range copyCalls {
					starts := []int64{0, size / 2, size, size + 10}
					start := starts[i%4]
					if c.name == "io.Copy" || c.name == "ReadFrom" {
						start = 0
					}
					dst.Truncate(int64(len(target)))
					src.Seek(start, io.SeekStart)
					osSrc.Seek(start, io.SeekStart)
					dst.Seek(int64(i*100), io.SeekStart)
					osDst.Seek(int64(i*100), io.SeekStart)
					in := s.make(r, src, osSrc, data)
					b := &limitedWriter{left: 300}
					r.step(src, fmt.Sprintf("%s from %s at %d to %s at %d", c.name, s.name, start, d.name, i*100), func() string {
						return c.do(r, d.make(dst, osDst, b), in, size)
					})
					r.seek(src, 0, io.SeekCurrent)
					r.seek(dst, 0, io.SeekCurrent)
					r.note("buffer", filetest.Show(b.Bytes()))
					r.disk(to)
					r.step(nil, "what the source still gives", func() string {
						rest, err := io.ReadAll(onlyReader{io.LimitReader(in, 50)})
						return r.did(int64(len(rest)), err, rest)
					})
				}
			}
		}
		r.close(src)
		r.close(dst)
		r.disk(from)
	}
}

func init() {
	sequences = append(sequences,
		sequence{"copies", []content{threePage}, nil, allModes, false, func(r *run, _ filetest.File, size int64) { copyAll(r, size) }},
		sequence{"copies of nothing and of more than a buffer", []content{empty, bigZeros}, nil, quiet, false, func(r *run, _ filetest.File, size int64) { copyAll(r, size) }},
		sequence{"copies with all flags", few, allFlags, allModes, false, func(r *run, f filetest.File, size int64) {
			r.readFrom(f, "bytes", bytes.NewReader(filetest.PatternWithZeros(100)))
			r.writeTo(f)
			r.seek(f, size/2, io.SeekStart)
			r.writeTo(f)
			r.writeTo(f)
			r.seek(f, size+3, io.SeekStart)
			r.writeTo(f)
			r.readFrom(f, "more bytes", onlyReader{bytes.NewReader(filetest.PatternWithZeros(2 * page))})
			r.readFrom(f, "nothing", bytes.NewReader(nil))
			r.disk(r.path)
			for _, flag := range []int{os.O_RDONLY, os.O_WRONLY, os.O_RDWR} {
				g, err := os.OpenFile(filepath.Join(r.dir, "other"), flag|os.O_CREATE, 0o644)
				if err != nil {
					r.t.Fatal(err)
				}
				r.seek(f, 0, io.SeekStart)
				r.step(f, "Copy from os.File", func() string { n, err := io.CopyN(f, g, 10); return r.did(n, err, nil) })
				r.seek(f, 0, io.SeekStart)
				r.step(f, "Copy to os.File", func() string { n, err := io.Copy(g, f); return r.did(n, err, nil) })
				g.Close()
			}
		}},
		sequence{"copy of a file to itself", []content{empty, threePage, filled("20KB", filetest.PatternWithZeros(20<<10)), filled("200KB", filetest.PatternWithZeros(200<<10))}, []int{os.O_RDWR}, allModes, false, func(r *run, f filetest.File, size int64) {
			r.step(f, "Copy to itself", func() string { n, err := io.Copy(f, f); return r.did(n, err, nil) })
			r.disk(r.path)
			r.seek(f, 10, io.SeekStart)
			r.step(f, "CopyN to itself", func() string { n, err := io.CopyN(f, f, 100); return r.did(n, err, nil) })
			r.step(f, "ReadFrom itself, limited", func() string { return limited(r, f, f, 50) })
			r.disk(r.path)
			g := r.open(os.O_RDWR)
			r.seek(g, 1, io.SeekStart)
			r.step(f, "CopyN from a twin", func() string { n, err := io.CopyN(f, g, 500); return r.did(n, err, nil) })
			r.seek(g, 0, io.SeekCurrent)
			r.step(f, "CopyN to a twin", func() string { n, err := io.CopyN(g, f, 500); return r.did(n, err, nil) })
			r.seek(g, 0, io.SeekCurrent)
		}},
		sequence{"appending copies, many small", few, writers, quiet, false, func(r *run, f filetest.File, size int64) {
			r.seek(f, 0, io.SeekEnd)
			for i := range 100 {
				r.readFrom(f, "bytes", bytes.NewReader(filetest.PatternWithZeros(int64(i))))
				r.readFrom(f, "string", onlyReader{bytes.NewBufferString("plain")})
			}
			r.seek(f, size, io.SeekStart)
			r.writeTo(f)
		}},
	)
}
