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

// A modified page keeps its bytes after a truncation in its middle, but no call shows them.
func TestPrivate_TruncatedInPage(t *testing.T) {
	t.Parallel()
	filetest.NeedForeignTruncate(t)
	name := filetest.Temp(t, filetest.Pattern(2*int(page)))
	f := mustOpenPrivate(t, name)
	if _, err := f.WriteAt(bytes.Repeat([]byte("X"), int(page)), 0); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(name, 100); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 500)
	if n, err := f.ReadAt(b, 200); n != 0 || err != io.EOF {
		t.Errorf("ReadAt past the new end: %d, %v", n, err)
	}
	if n, err := f.ReadAt(b, 0); n != 100 || err != io.EOF || b[0] != 'X' {
		t.Errorf("ReadAt across the new end: %d, %v", n, err)
	}
	if err := f.View(200, 50, func([]byte) error { return nil }); err != io.EOF {
		t.Errorf("View past the new end: %v", err)
	}
	if all, _ := readChunks(t, f, 64); len(all) != 100 {
		t.Errorf("Chunks returned %d bytes", len(all))
	}
	if n := f.Len(); n != 100 {
		t.Errorf("Len is %d", n)
	}
}

func TestPrivate_TruncatedByOther(t *testing.T) {
	t.Parallel()
	filetest.NeedForeignTruncate(t)
	if !mmapfile.CanMap {
		t.Skip("a copy does not notice a truncation")
	}
	page := int(page)
	for _, end := range []int{0, 1, page, page + 10} {
		name := filetest.Temp(t, filetest.Pattern(4*page))
		f := mustOpenPrivate(t, name)
		if _, err := f.WriteAt([]byte("own"), int64(3*page)); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(name, int64(end)); err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 4*page)
		n, err := f.ReadAt(b, 0)
		if n != end || err != io.EOF || !bytes.Equal(b[:n], filetest.Pattern(end)) {
			t.Errorf("truncated to %d: ReadAt returns %d, %v", end, n, err)
		}
		if n, err := f.WriteAt([]byte("x"), int64(2*page)); n != 0 || err == nil {
			t.Errorf("truncated to %d: WriteAt past the end: %d, %v", end, n, err)
		}
		if err := f.View(int64(2*page), 10, func(p []byte) error { filetest.LoadBytes(p); return nil }); err == nil {
			t.Errorf("truncated to %d: View past the end has no error", end)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		if runtime.GOOS == "linux" && len(filetest.Read(t, name)) != end {
			t.Errorf("the file has %d bytes, want %d", len(filetest.Read(t, name)), end)
		}
	}
}

// Another process truncates the file and extends it again, as in the doc of Options.Private.
func TestPrivate_TruncatedAndExtended(t *testing.T) {
	t.Parallel()
	filetest.NeedForeignTruncate(t)
	page := int(page)
	for _, end := range []int{0, 100, page, page + 10} {
		for _, look := range []bool{false, true} { // ReadAt while the file is short
			size := 3 * page
			name := filetest.Temp(t, filetest.Pattern(size))
			f := mustOpenPrivate(t, name)
			own := bytes.Repeat([]byte{0xff}, size)
			if _, err := f.WriteAt(own, 0); err != nil {
				t.Fatal(err)
			}
			if err := os.Truncate(name, int64(end)); err != nil {
				t.Fatal(err)
			}
			b := make([]byte, size)
			if look {
				if n, err := f.ReadAt(b, 0); n != end || err != io.EOF || !bytes.Equal(b[:n], own[:n]) {
					t.Errorf("truncated to %d: ReadAt returned %d, %v", end, n, err)
				}
			}
			if err := os.Truncate(name, int64(size)); err != nil {
				t.Fatal(err)
			}
			if n, err := f.ReadAt(b, 0); n != size || err != nil {
				t.Fatalf("extended again from %d: ReadAt returned %d, %v", end, n, err)
			}
			filetest.SameBytes(t, "what was never truncated", b[:end], own[:end])
			for i, c := range b[end:] {
				if c != 0 && c != 0xff {
					t.Fatalf("extended again from %d: byte %d is %d", end, end+i, c)
				}
			}
			if runtime.GOOS == "linux" && mmapfile.CanMap {
				kept := (end + page - 1) / page * page
				filetest.SameBytes(t, "the page of the end", b[:kept], own[:kept])
				filetest.SameBytes(t, "the pages after it", b[kept:], make([]byte, size-kept))
			}
			filetest.SameBytes(t, "Bytes", f.Bytes(), b)
		}
	}
}

func TestPrivate_FileGrows(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 100, int(page), 10_000} {
		name := filetest.Temp(t, filetest.Pattern(size))
		f := mustOpenPrivate(t, name)
		if size > 0 {
			if _, err := f.WriteAt([]byte{'X'}, 0); err != nil {
				t.Fatal(err)
			}
		}
		o, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := o.Write(bytes.Repeat([]byte("b"), 5000)); err != nil {
			t.Fatal(err)
		}
		o.Close()
		want := filetest.Pattern(size)
		if size > 0 {
			want[0] = 'X'
		}
		got, err := io.ReadAll(f)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes: reads %d, %v", size, len(got), err)
		}
		if end, err := f.Seek(0, io.SeekEnd); end != int64(size) || err != nil {
			t.Errorf("%d bytes: the end is at %d, %v", size, end, err)
		}
		if n, err := f.ReadAt(make([]byte, 10), int64(size)); n != 0 || err != io.EOF {
			t.Errorf("%d bytes: ReadAt at the end: %d, %v", size, n, err)
		}
		if n, err := f.WriteAt([]byte("x"), int64(size)); n != 0 || !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%d bytes: WriteAt at the end: %d, %v", size, n, err)
		}
		if b := f.Bytes(); len(b) != size || f.Len() != size {
			t.Errorf("%d bytes: Bytes %d, Len %d", size, len(b), f.Len())
		}
	}
}
