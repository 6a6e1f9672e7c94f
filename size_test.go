package mmapfile_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"runtime"
	"testing"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/filetest"
)

func TestLen_OwnCalls(t *testing.T) {
	for _, early := range []bool{false, true} {
		path := filetest.Temp(t, filetest.PatternWithZeros(100))
		f := filetest.Open(t, path)
		if early {
			f.Bytes()
		}
		want := func(n int, after string) {
			t.Helper()
			if got := f.Len(); got != n {
				t.Errorf("early %v: Len is %d after %s, want %d", early, got, after, n)
			}
		}
		want(100, "opening")
		f.WriteAt([]byte("xyz"), 150)
		want(153, "WriteAt")
		f.Truncate(20)
		want(20, "Truncate")
		f.Seek(0, io.SeekEnd)
		f.WriteString("more")
		want(24, "WriteString")
		f.ReadFrom(bytes.NewReader(filetest.PatternWithZeros(3 * page)))
		want(24+int(3*page), "ReadFrom")
		f.Truncate(0)
		want(0, "Truncate to nothing")
		f.Close()

		f = filetest.OpenFile(t, path, os.O_RDWR|os.O_APPEND)
		f.WriteString("some")
		if early {
			f.Bytes()
		}
		want(4, "the first append")
		f.WriteString("more")
		want(8, "an append")
		src, err := os.Open(filetest.Temp(t, filetest.PatternWithZeros(50)))
		if err != nil {
			t.Fatal(err)
		}
		defer src.Close()
		f.ReadFrom(src)
		want(58, "an append of a file")
		g := filetest.Open(t, path)
		if early {
			g.Bytes()
		}
		g.Len()
		g.Seek(0, io.SeekEnd)
		src.Seek(0, io.SeekStart)
		io.Copy(g, src)
		if g.Len() != 108 {
			t.Errorf("early %v: Len is %d after a copy by the kernel, want 108", early, g.Len())
		}
	}
	var none *mmapfile.File
	if none.Len() != 0 || none.Bytes() != nil {
		t.Error("a nil File has a length or bytes")
	}
}

// What a call has asked before a truncation and learns after a write does not change Len.
func TestLen_AfterReadOfEnd(t *testing.T) {
	t.Parallel()
	for _, mapped := range []bool{false, true} {
		name := filetest.Temp(t, filetest.Pattern(100))
		f := filetest.Open(t, name)
		if mapped {
			mustMap(t, f)
		}
		if n := f.Len(); n != 100 {
			t.Fatal(n)
		}
		for _, size := range []int{200, 50, 300} { // by another program
			if err := os.WriteFile(name, filetest.Pattern(size), 0o600); err != nil {
				if mapped && runtime.GOOS == "windows" {
					t.Skip("this system protects a mapped file: ", err)
				}
				t.Fatal(err)
			}
			if n, err := f.ReadAt(make([]byte, 400), 0); n != size || err != io.EOF {
				t.Fatal(n, err)
			}
			if n := f.Len(); n != size {
				t.Errorf("mapped %v: Len is %d after a read that met the end at %d", mapped, n, size)
			}
		}
	}
}

// A write that ends late does not undo what Stat has learnt meanwhile.
func TestLen_LateWrite(t *testing.T) {
	t.Parallel()
	name := filetest.Temp(t, filetest.Pattern(100))
	f := filetest.Open(t, name)
	f.Len()
	mmapfile.RaiseLate(f, 200, func() {
		if err := os.Truncate(name, 50); err != nil {
			t.Fatal(err)
		}
		if fi, err := f.Stat(); err != nil || fi.Size() != 50 {
			t.Fatal(fi, err)
		}
	})
	if n := f.Len(); n != 50 {
		t.Errorf("Len is %d, want 50", n)
	}
}

// A write that began before a truncation, and is inside the file as it was then, extends it.
func TestLen_TruncatedDuringWrite(t *testing.T) {
	t.Parallel()
	f := filetest.Open(t, filetest.Temp(t, filetest.Pattern(1000)))
	if n := f.Len(); n != 1000 {
		t.Fatal(n)
	}
	if n, err := mmapfile.WriteLate(f, make([]byte, 100), 500, func() {
		if err := f.Truncate(100); err != nil {
			t.Error(err)
		}
	}); n != 100 || err != nil {
		t.Fatal(n, err)
	}
	if n := f.Len(); n != 600 {
		t.Errorf("Len is %d, want 600", n)
	}
}

// A write extends a file that another program has truncated. What a call has learnt before,
// and returns late, does not undo that.
func TestLen_LateAnswerAfterWrite(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]func(f *mmapfile.File) error{
		"Stat":   func(f *mmapfile.File) error { _, err := f.Stat(); return err },
		"ReadAt": func(f *mmapfile.File) error { _, err := f.ReadAt(make([]byte, 10), 0); return err },
	} {
		path := filetest.Temp(t, filetest.Pattern(1000))
		f := filetest.Open(t, path)
		if err := first(f); err != nil {
			t.Fatal(err)
		}
		f.Len()
		if err := os.Truncate(path, 100); err != nil {
			t.Fatal(err)
		}
		mmapfile.LearnLate(f, 100, func() {
			if _, err := f.WriteAt(make([]byte, 100), 100); err != nil {
				t.Error(err)
			}
		})
		if n := f.Len(); n != 200 {
			t.Errorf("%s: Len is %d, want 200", name, n)
		}
	}
}

// A copy by the kernel that meets an end which another program has moved shows that end.
func TestLen_AfterKernelCopy(t *testing.T) {
	t.Parallel()
	for _, size := range []int64{200, 50, 0} {
		for _, limit := range []int64{0, 150} {
			path := filetest.Temp(t, filetest.Pattern(100))
			f := filetest.Open(t, path)
			if n := f.Len(); n != 100 {
				t.Fatal(n)
			}
			if err := os.Truncate(path, size); err != nil {
				t.Fatal(err)
			}
			dst, err := os.Create(filetest.Temp(t, nil))
			if err != nil {
				t.Fatal(err)
			}
			defer dst.Close()
			want := size
			if limit == 0 {
				_, err = io.Copy(dst, f)
			} else {
				want = min(size, limit)
				g := filetest.Open(t, filetest.Temp(t, nil))
				_, err = g.ReadFrom(&io.LimitedReader{R: f, N: limit})
			}
			if err != nil {
				t.Fatal(err)
			}
			if n := f.Len(); int64(n) != size {
				t.Errorf("Len is %d after a copy of %d bytes, want %d", n, want, size)
			}
		}
	}
}

func TestLen_LateAnswer(t *testing.T) {
	t.Parallel()
	const size = 10_000
	name := filetest.Temp(t, filetest.Pattern(size))
	f := filetest.Open(t, name)
	for _, foreign := range []bool{false, true} {
		for _, answer := range []int64{size, size / 2, size / 3} {
			mmapfile.LearnLate(f, answer, func() {
				truncate := f.Truncate
				if foreign {
					truncate = func(size int64) error { return os.Truncate(name, size) }
				}
				_, err := f.WriteAt(make([]byte, size), 0)
				err = errors.Join(err, truncate(size/2))
				if fi, serr := f.Stat(); serr != nil || fi.Size() != size/2 {
					t.Fatalf("Stat: %v, %v", fi, serr)
				}
				if _, werr := f.WriteAt(make([]byte, size/2), size/2); err != nil || werr != nil {
					t.Fatal(err, werr)
				}
			})
			if n := f.Len(); n != size {
				t.Errorf("foreign %v: Len is %d after the answer %d, want %d", foreign, n, answer, size)
			}
		}
	}
}

// Len is the size of the file, whether the write or the truncation came last.
func TestLen_WriteBesideTruncate(t *testing.T) {
	filetest.NeedThreads(t)
	t.Parallel()
	for _, mapped := range []bool{false, true} {
		name := filetest.Temp(t, filetest.Pattern(10_000))
		f := filetest.Open(t, name)
		if mapped {
			mustMap(t, f)
		}
		for round := range filetest.Iterations(4000) {
			size := int64(1000 + round%1000)
			filetest.Together(t, 3, func(i int) error {
				switch i {
				case 0:
					_, err := f.WriteAt([]byte("beyond the end"), 5000+size)
					return err
				case 1:
					return f.Truncate(size)
				}
				_, err := f.ReadAt(make([]byte, 10_000), 0)
				if err == io.EOF {
					err = nil
				}
				return err
			})
			fi, err := f.Stat()
			if err != nil {
				t.Fatal(err)
			}
			if n := f.Len(); int64(n) != fi.Size() {
				t.Fatalf("round %d: Len is %d, the file's size %d", round, n, fi.Size())
			}
			want := filetest.Read(t, name)
			got := make([]byte, 10_000)
			n, err := f.ReadAt(got, 0)
			if n != len(want) || err != io.EOF {
				t.Fatalf("round %d: ReadAt returned %d, %v, of %d", round, n, err, len(want))
			}
			if filetest.SameBytes(t, "ReadAt", got[:n], want); t.Failed() {
				return
			}
		}
	}
}

// A program that gets the descriptor may change the length with it.
func TestLen_AfterHandOver(t *testing.T) {
	t.Parallel()
	for name, truncate := range map[string]func(f *mmapfile.File) error{
		"OS": func(f *mmapfile.File) error { return f.OS().Truncate(50) },
		"Fd": func(f *mmapfile.File) error { f.Fd(); return os.Truncate(f.Name(), 50) }, // ftruncate is not on each platform
		"SyscallConn": func(f *mmapfile.File) error {
			c, err := f.SyscallConn()
			if err != nil {
				return err
			}
			return errors.Join(c.Control(func(uintptr) { err = os.Truncate(f.Name(), 50) }), err)
		},
	} {
		f := filetest.Open(t, filetest.Temp(t, filetest.Pattern(100)))
		if n := f.Len(); n != 100 {
			t.Fatal(n)
		}
		if err := truncate(f); errors.Is(err, errors.ErrUnsupported) {
			continue // Plan 9
		} else if err != nil {
			t.Fatal(err)
		}
		if n := f.Len(); n != 50 {
			t.Errorf("%s: Len is %d, want 50", name, n)
		}
	}
}

// A write that ends late does not undo a truncation that came after its bytes.
func TestLen_TruncatedAfterWrite(t *testing.T) {
	t.Parallel()
	f := filetest.Open(t, filetest.Temp(t, filetest.Pattern(1000)))
	f.Len()
	mmapfile.RaiseLate(f, 600, func() {
		if err := f.Truncate(100); err != nil {
			t.Fatal(err)
		}
	})
	if n := f.Len(); n != 100 {
		t.Errorf("Len is %d, want 100", n)
	}
}
