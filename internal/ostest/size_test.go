package ostest

import (
	"bytes"
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
			if got := f.Len(); got != int64(n) {
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

func TestLen_AfterReadOfEnd(t *testing.T) {
	t.Parallel()
	for _, mapped := range []bool{false, true} {
		name := filetest.Temp(t, filetest.Pattern(100))
		f := filetest.Open(t, name)
		if mapped {
			filetest.Map(t, f)
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
			if n := f.Len(); n != int64(size) {
				t.Errorf("mapped %v: Len is %d after a read that met the end at %d", mapped, n, size)
			}
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

// Len is the size of the file, whether the write or the truncation came last.
func TestLen_WriteBesideTruncate(t *testing.T) {
	filetest.NeedThreads(t)
	t.Parallel()
	for _, mapped := range []bool{false, true} {
		name := filetest.Temp(t, filetest.Pattern(10_000))
		f := filetest.Open(t, name)
		if mapped {
			filetest.Map(t, f)
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

// A File is no buffer to those who look for Len and Bytes, as decoders and HTTP clients do.
func TestLen_NoBuffer(t *testing.T) {
	t.Parallel()
	var f any = filetest.Open(t, filetest.Temp(t, filetest.Pattern(10)))
	if _, ok := f.(interface{ Len() int }); ok {
		t.Error("a File has the Len of a bytes.Buffer")
	}
}
