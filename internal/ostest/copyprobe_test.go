package ostest

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"testing"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/filetest"
)

// probingWriter looks for the optional methods of its source that well-known Writers look for.
type probingWriter struct {
	got     bytes.Buffer
	methods []string // of the source
	found   string   // what it has found there
}

func (w *probingWriter) Write(p []byte) (int, error) { return w.got.Write(p) }

func (w *probingWriter) ReadFrom(r io.Reader) (int64, error) {
	w.methods = methods(r)
	if b, ok := r.(interface{ Bytes() []byte }); ok { // s2 of klauspost/compress, minlz
		w.found += fmt.Sprintf("Bytes: %d. ", len(b.Bytes()))
		n, err := w.got.Write(b.Bytes())
		return int64(n), err
	}
	if b, ok := r.(interface{ Len() int }); ok { // uploads, for the Content-Length
		w.found += fmt.Sprintf("Len: %d. ", b.Len())
	}
	if _, ok := r.(io.WriterTo); ok { // bufio
		w.found += "WriteTo. "
	}
	if s, ok := r.(io.Seeker); ok { // SDKs of object storage
		now, err := s.Seek(0, io.SeekCurrent)
		end, eerr := s.Seek(0, io.SeekEnd)
		_, serr := s.Seek(now, io.SeekStart)
		w.found += fmt.Sprintf("Seeker: %d to %d, %v %v %v. ", now, end, err, eerr, serr)
	}
	if s, ok := r.(interface{ Stat() (os.FileInfo, error) }); ok {
		fi, err := s.Stat()
		w.found += fmt.Sprintf("Stat: %d, %v. ", fi.Size(), err)
	}
	if a, ok := r.(io.ReaderAt); ok {
		b := make([]byte, 2)
		n, err := a.ReadAt(b, 1)
		w.found += fmt.Sprintf("ReadAt: %q %v. ", b[:n], err)
	}
	return w.got.ReadFrom(r)
}

// probingReader looks for the optional methods of its target.
type probingReader struct {
	io.Reader
	methods []string
}

func (r *probingReader) WriteTo(w io.Writer) (int64, error) {
	r.methods = methods(w)
	return io.Copy(struct{ io.Writer }{w}, r.Reader)
}

// methods returns the names of the exported methods of v.
func methods(v any) (names []string) {
	t := reflect.TypeOf(v)
	for i := range t.NumMethod() {
		names = append(names, t.Method(i).Name)
	}
	return names
}

// methodsOfOS returns those of *os.File without one.
func methodsOfOS(without string) []string {
	return slices.DeleteFunc(methods((*os.File)(nil)), func(name string) bool { return name == without })
}

// A foreign Writer finds in a File what it finds in an os.File, wherever the cursor is.
func TestCopy_ProbingWriter(t *testing.T) {
	t.Parallel()
	name := filetest.Temp(t, []byte("hidden and copied"))
	for _, copied := range []struct {
		what string
		do   func(w io.Writer, f filetest.File) (int64, error)
	}{
		{"io.Copy", func(w io.Writer, f filetest.File) (int64, error) { return io.Copy(w, f) }},
		{"WriteTo", func(w io.Writer, f filetest.File) (int64, error) { return f.WriteTo(w) }},
		{"io.CopyN", func(w io.Writer, f filetest.File) (int64, error) { return io.CopyN(w, f, 5) }},
	} {
		run := func(f filetest.File) string {
			var w probingWriter
			if _, err := f.Seek(6, io.SeekStart); err != nil {
				t.Fatal(err)
			}
			n, err := copied.do(&w, f)
			at, serr := f.Seek(0, io.SeekCurrent)
			if want := methodsOfOS("WriteTo"); copied.what != "io.CopyN" && !slices.Equal(w.methods, want) {
				t.Errorf("%s of %T: the Writer gets the methods\n%v, want\n%v", copied.what, f, w.methods, want)
			}
			return fmt.Sprintf("%q, %d bytes, %v, found %s; the cursor is at %d, %v", w.got.String(), n, err, w.found, at, serr)
		}
		o, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		want := run(o)
		o.Close()
		for what, f := range map[string]*mmapfile.File{
			"not mapped": filetest.Open(t, name), "mapped": filetest.OpenMapped(t, name), "private": mustOpenPrivate(t, name),
		} {
			if got := run(f); got != want {
				t.Errorf("%s of a File, %s:\n%s, os.File has\n%s", copied.what, what, got, want)
			}
		}
	}
}

// A foreign Reader finds in a File what it finds in an os.File, in ReadFrom. io.Copy gives it
// the File itself.
func TestCopy_ProbingReader(t *testing.T) {
	t.Parallel()
	name := filetest.Temp(t, []byte("hidden"))
	for what, f := range map[string]filetest.File{
		"not mapped": filetest.Open(t, name), "mapped": filetest.OpenMapped(t, name), "private": mustOpenPrivate(t, name),
	} {
		r := &probingReader{Reader: bytes.NewReader([]byte("copied"))}
		if n, err := f.ReadFrom(r); n != 6 || err != nil {
			t.Errorf("%s: %d, %v", what, n, err)
		}
		if !slices.Equal(r.methods, methodsOfOS("ReadFrom")) {
			t.Errorf("%s: the Reader gets the methods\n%v, want\n%v", what, r.methods, methodsOfOS("ReadFrom"))
		}
	}
}
