package ostest

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"strings"
	"testing"

	"go.dw1.io/mmapfile/internal/filetest"
	"go.dw1.io/mmapfile/internal/race"
)

func TestWriteTo_BufferWithRoomDoesNotAllocate(t *testing.T) {
	filetest.NeedsGain(t) // or long copies may be believed slower
	if race.Detector || !filetest.CanMap {
		t.Skip("the race detector allocates, and a Buffer grows with os.File")
	}
	for _, size := range []int{1, 100, 10_000, 3 << 20} {
		content := filetest.Pattern(size)
		f := filetest.OpenMapped(t, filetest.Temp(t, content))
		room := make([]byte, 0, size)
		var buf *bytes.Buffer
		allocs := testing.AllocsPerRun(20, func() {
			if _, err := f.Seek(0, io.SeekStart); err != nil {
				t.Fatal(err)
			}
			buf = bytes.NewBuffer(room)
			if n, err := f.WriteTo(buf); n != int64(size) || err != nil {
				t.Fatal(n, err)
			}
		})
		if allocs > 1 { // the Buffer itself
			t.Errorf("%d bytes: %v allocations", size, allocs)
		}
		filetest.SameBytes(t, "the buffer", buf.Bytes(), content)
	}
}

func TestWriteTo_BufferAndBuilderGrowOnce(t *testing.T) {
	filetest.NeedsGain(t)
	if race.Detector || !filetest.CanMap {
		t.Skip("the race detector allocates, and they grow often with os.File")
	}
	const size = 300_000
	f := filetest.OpenMapped(t, filetest.Temp(t, filetest.Pattern(size)))
	for name, fn := range map[string]func() io.Writer{
		"bytes.Buffer":    func() io.Writer { return new(bytes.Buffer) },
		"strings.Builder": func() io.Writer { return new(strings.Builder) },
	} {
		allocs := testing.AllocsPerRun(20, func() {
			if _, err := f.Seek(0, io.SeekStart); err != nil {
				t.Fatal(err)
			}
			if n, err := f.WriteTo(fn()); n != size || err != nil {
				t.Fatal(n, err)
			}
		})
		if allocs > 5 { // the Writer, its memory, and the buffer of io.CopyBuffer
			t.Errorf("%s: %v allocations", name, allocs)
		}
	}
}

// WriteTo allocates no more than that of an os.File, mapped or not.
func TestWriteTo_AllocatesNoMoreThanOSFile(t *testing.T) {
	if race.Detector {
		t.Skip("the race detector allocates")
	}
	for _, size := range []int{0, 64, 4096, 100_000} {
		content := filetest.Pattern(size)
		name := filetest.Temp(t, content)
		o, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer o.Close()
		for what, w := range map[string]interface {
			io.Writer
			io.ReaderFrom
		}{
			"bufio.Writer": bufio.NewWriter(io.Discard),
			"io.Discard": io.Discard.(interface {
				io.Writer
				io.ReaderFrom
			}),
		} {
			allocs := func(f filetest.File) float64 {
				return testing.AllocsPerRun(100, func() {
					if _, err := f.Seek(0, io.SeekStart); err != nil {
						t.Fatal(err)
					}
					if n, err := f.WriteTo(w); n != int64(size) || err != nil {
						t.Fatal(n, err)
					}
				})
			}
			want := allocs(o)
			f := filetest.Open(t, name)
			if got := allocs(f); got > want {
				t.Errorf("%s of %d bytes: %v allocations, %v with os.File", what, size, got, want)
			}
			if size > 0 {
				filetest.Map(t, f)
			}
			if got := allocs(f); got > want {
				t.Errorf("%s of %d bytes, mapped: %v allocations, %v with os.File", what, size, got, want)
			}
		}
	}
}

// WriteTo does not allocate memory for a stale length.
func TestWriteTo_BufferAfterTruncation(t *testing.T) {
	t.Parallel()
	name := filetest.Temp(t, filetest.Pattern(100))
	if err := os.Truncate(name, 1<<40); err != nil {
		t.Skip("no file of a terabyte here: ", err)
	}
	f := filetest.Open(t, name)
	for range 40 {
		if _, err := f.ReadAt(make([]byte, 10), 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Truncate(name, 100); err != nil {
		t.Fatal(err)
	}
	var buf bytes.Buffer
	if n, err := f.WriteTo(&buf); n != 100 || err != nil || !bytes.Equal(buf.Bytes(), filetest.Pattern(100)) {
		t.Errorf("WriteTo: %d, %v", n, err)
	}
}
