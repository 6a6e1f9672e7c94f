//go:build unix

package ostest

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/filetest"
)

func TestReadAt_EmptyFileGrows(t *testing.T) {
	t.Parallel()
	for _, by := range []string{"AnotherHandle", "Itself"} {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			name := filetest.Temp(t, nil)
			f := filetest.Open(t, name)
			if b := f.Bytes(); len(b) != 0 || filetest.Mapped(f) {
				t.Errorf("an empty file returned %d bytes, mapped %v", len(b), filetest.Mapped(f))
			}
			if n, err := f.ReadAt(make([]byte, 1), 0); n != 0 || err != io.EOF {
				t.Errorf("ReadAt of an empty file: %d, %v", n, err)
			}
			var w io.WriterAt = f
			if by == "AnotherHandle" {
				other, err := os.OpenFile(name, os.O_WRONLY, 0)
				if err != nil {
					t.Fatal(err)
				}
				defer other.Close()
				w = other
			}
			want := filetest.Pattern(50_000)
			got := make([]byte, len(want))
			for size := 0; size < len(want); size += 777 {
				end := min(size+777, len(want))
				if _, err := w.WriteAt(want[size:end], int64(size)); err != nil {
					t.Fatal(err)
				}
				if n, err := f.ReadAt(got, 0); n != end || end < len(got) && err != io.EOF {
					t.Fatalf("ReadAt of a file of %d bytes: %d, %v", end, n, err)
				}
				filetest.SameBytes(t, "ReadAt", got[:end], want[:end])
				b := make([]byte, 1000)
				n, err := f.Read(b) // the cursor follows the end
				if err != nil || !bytes.Equal(b[:n], want[size:end]) {
					t.Fatalf("Read of what was added: %d, %v", n, err)
				}
				if n, err := f.Read(b); n != 0 || err != io.EOF {
					t.Fatalf("Read at the end: %d, %v", n, err)
				}
				if end > 20_000 {
					filetest.Map(t, f)
				}
			}
		})
	}
}

func TestFile_Unmappable(t *testing.T) {
	t.Parallel()
	t.Run("Directory", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		for _, n := range []string{"a", "b", "c"} {
			filetest.Write(t, filepath.Join(dir, n), nil)
		}
		f, err := mmapfile.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		wantUnmappable(t, f)
		for range 40 { // enough reads to map a file
			if _, err := f.ReadAt(make([]byte, 10), 0); err == nil || err == io.EOF {
				t.Fatalf("ReadAt of a directory: %v", err)
			}
		}
		names, err := f.Readdirnames(-1)
		if slices.Sort(names); err != nil || !slices.Equal(names, []string{"a", "b", "c"}) {
			t.Errorf("Readdirnames: %v, %v", names, err)
		}
	})
	t.Run("Pipe", func(t *testing.T) {
		t.Parallel()
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		f, err := mmapfile.New(r)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		g, err := mmapfile.New(w)
		if err != nil {
			t.Fatal(err)
		}
		want := filetest.Pattern(300_000)
		wantUnmappable(t, f)
		wantUnmappable(t, g)
		sent := make(chan error, 1)
		go func() {
			_, err := g.ReadFrom(bytes.NewReader(want))
			sent <- errors.Join(err, g.Close())
		}()
		got, err := io.ReadAll(f)
		if err != nil {
			t.Error(err)
		}
		filetest.SameBytes(t, "the pipe's bytes", got, want)
		if err := <-sent; err != nil {
			t.Error(err)
		}
	})
	t.Run("Proc", func(t *testing.T) {
		t.Parallel()
		if runtime.GOOS != "linux" {
			t.Skip("no /proc like Linux's")
		}
		const name = "/proc/self/mountinfo" // more than one call's worth, and Stat says 0
		f, err := mmapfile.Open(name)
		if err != nil {
			t.Skip(err)
		}
		defer f.Close()
		wantUnmappable(t, f)
		got, err := io.ReadAll(f)
		if err != nil || !bytes.Contains(got, []byte(" / ")) {
			t.Errorf("%d bytes, %v", len(got), err)
		}
	})
	t.Run("Device", func(t *testing.T) {
		t.Parallel()
		f, err := mmapfile.OpenFile("/dev/zero", os.O_RDWR, 0)
		if err != nil {
			t.Skip(err)
		}
		defer f.Close()
		wantUnmappable(t, f)
		for range 40 {
			b := []byte("not zero")
			if n, err := f.Read(b); n != len(b) || err != nil || b[0] != 0 {
				t.Fatalf("Read of /dev/zero: %d, %v, %q", n, err, b)
			}
			if n, err := f.Write(b); n != len(b) || err != nil {
				t.Fatalf("Write to /dev/zero: %d, %v", n, err)
			}
		}
	})
}

// wantUnmappable checks that f, which cannot be mapped, exposes no memory.
func wantUnmappable(t *testing.T, f *mmapfile.File) {
	t.Helper()
	if b := f.Bytes(); b != nil {
		t.Errorf("Bytes has %d bytes", len(b))
	}
	called := false
	if err := f.View(0, 1, func([]byte) error { called = true; return nil }); err == nil || called {
		t.Errorf("View: %v, called: %v", err, called)
	}
	if filetest.Mapped(f) {
		t.Error("it is mapped")
	}
}

// What a device has been given is no length.
func TestLen_Device(t *testing.T) {
	t.Parallel()
	f, err := mmapfile.OpenFile("/dev/null", os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	for i := range 100 {
		if _, err := f.Write([]byte("gone")); err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt([]byte("gone"), int64(100*i)); err != nil {
			t.Fatal(err)
		}
		if n := f.Len(); n != 0 {
			t.Fatalf("Len is %d after %d writes", n, i+1)
		}
	}
	if err := f.Close(); err != nil || f.Len() != 0 {
		t.Errorf("Len is %d after Close, %v", f.Len(), err)
	}
}
