package ostest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"testing"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/filetest"
)

// maxWindows limits the windows of a test. Without mappings each one is a system call, which is
// slow on wasm.
var maxWindows = map[bool]int{true: 50, false: 10_000}[runtime.GOARCH == "wasm"]

// readChunks returns all windows of Chunks as one slice, and their sizes.
func readChunks(t testing.TB, f *mmapfile.File, size int) (all []byte, windows []int) {
	t.Helper()
	for c, err := range f.Chunks(size) {
		if err != nil {
			t.Fatal(err)
		}
		off, p := c.Offset, c.Data
		if off != int64(len(all)) {
			t.Fatalf("a window at %d follows %d bytes", off, len(all))
		}
		if cap(p) != len(p) {
			t.Fatalf("the window at %d has %d bytes, and capacity for %d", off, len(p), cap(p))
		}
		all = append(all, p...)
		windows = append(windows, len(p))
	}
	return all, windows
}

func TestChunks_Windows(t *testing.T) {
	t.Parallel()
	page := int(page)
	for _, size := range []int{0, 1, 7, page - 1, page, page + 1, 5*page + 17, 300_000} {
		for name, content := range map[string][]byte{"pattern": filetest.Pattern(size), "zeros": make([]byte, size)} {
			f := filetest.Open(t, filetest.Temp(t, content))
			for _, n := range []int{1, 3, page - 1, page, page + 1, 64 << 10, size, size + 1, 1 << 30, int(^uint(0) >> 1)} {
				if n < 1 || size/n > maxWindows {
					continue
				}
				all, windows := readChunks(t, f, n)
				if !bytes.Equal(all, content) {
					t.Fatalf("%d bytes of %s in windows of %d are not the file", size, name, n)
				}
				for i, got := range windows {
					if want := min(n, size-i*n); got != want {
						t.Fatalf("window %d of %d bytes of %s has %d, want %d", i, size, name, got, want)
					}
				}
			}
		}
	}
}

func TestChunks_BadSizePanics(t *testing.T) {
	t.Parallel()
	f := filetest.Open(t, filetest.Temp(t, filetest.Pattern(10)))
	for _, n := range []int{0, -1, -1 << 31} {
		if filetest.Recovered(func() { f.Chunks(n) }) == nil {
			t.Errorf("Chunks(%d) did not panic", n)
		}
	}
}

// A file that cannot be read yields the error of ReadAt, once, and no window.
func TestChunks_UnreadableFile(t *testing.T) {
	t.Parallel()
	closed := filetest.Open(t, filetest.Temp(t, filetest.Pattern(100)))
	closed.Bytes()
	closed.Close()
	dir := filetest.OpenReadOnly(t, filetest.Dir(t))
	defer dir.Close()
	private := mustOpenPrivate(t, filetest.Temp(t, filetest.Pattern(100)))
	private.Close()
	for what, f := range map[string]*mmapfile.File{
		"nil": nil, "closed": closed, "a directory": dir, "write-only": filetest.OpenFile(t, filetest.Temp(t, filetest.Pattern(100)), os.O_WRONLY), "private and closed": private,
	} {
		want := os.ErrInvalid
		if f != nil {
			_, want = f.ReadAt(make([]byte, 10), 0)
		}
		errs := 0
		for c, err := range f.Chunks(10) {
			errs++
			if err == nil || filetest.ErrorText(err, "") != filetest.ErrorText(want, "") || c.Data != nil || c.Offset != 0 {
				t.Errorf("%s: %d bytes at %d, %v, want %v", what, len(c.Data), c.Offset, err, want)
			}
		}
		if errs != 1 {
			t.Errorf("%s: %d errors", what, errs)
		}
	}
	for c, err := range filetest.Open(t, filetest.Temp(t, nil)).Chunks(10) {
		t.Errorf("an empty file: %v, %v", c, err)
	}
}

// A file without a length is read to its end.
func TestChunks_FileWithoutLength(t *testing.T) {
	t.Parallel()
	name := "/proc/version" // which other tests do not change
	want, err := os.ReadFile(name)
	if err != nil {
		t.Skip("needs Linux: ", err)
	}
	f := filetest.OpenReadOnly(t, name)
	defer f.Close()
	got, windows := readChunks(t, f, 10)
	filetest.SameBytes(t, name, got, want)
	if wantWindows := (len(want) + 9) / 10; len(windows) != wantWindows {
		t.Errorf("%d windows of %d bytes, want %d", len(windows), len(want), wantWindows)
	}
}

// Close ends a walk with an error: the rest of the file was not seen.
func TestChunks_CloseMeanwhile(t *testing.T) {
	t.Parallel()
	for _, lazy := range []bool{false, true} {
		f := filetest.Open(t, filetest.Temp(t, filetest.Pattern(100_000)))
		if lazy {
			filetest.NeverMap(f)
		}
		windows, last := 0, error(nil)
		for _, err := range f.Chunks(1000) {
			if last = err; err != nil {
				continue
			}
			if windows++; windows == 3 {
				f.Close()
			}
		}
		if windows < 3 || windows > 4 || !errors.Is(last, os.ErrClosed) {
			t.Errorf("never mapped %v: %d windows, and then %v", lazy, windows, last)
		}
	}
}

func TestChunks_Break(t *testing.T) {
	t.Parallel()
	f := filetest.Open(t, filetest.Temp(t, filetest.Pattern(100_000)))
	chunks := f.Chunks(1000)
	for range 3 { // each loop begins at the start
		n := 0
		for c, err := range chunks {
			if err != nil {
				t.Fatal(err)
			}
			off := c.Offset
			if off != int64(n)*1000 {
				t.Fatalf("window %d at %d", n, off)
			}
			if n++; n == 7 {
				break
			}
		}
		if n != 7 {
			t.Fatalf("%d windows", n)
		}
	}
	for c, err := range f.Chunks(50_000) { // nested loops
		if err != nil {
			t.Fatal(err)
		}
		inner := 0
		for range f.Chunks(10_000) {
			inner++
		}
		if inner != 10 || len(c.Data) != 50_000 {
			t.Errorf("%d windows inside one of %d bytes", inner, len(c.Data))
		}
	}
	if filetest.PanicOnFault() {
		t.Error("SetPanicOnFault is on after the loop")
	}
}

func TestChunks_NoAllocation(t *testing.T) {
	f := filetest.OpenMapped(t, filetest.Temp(t, filetest.Pattern(1<<20)))
	if !filetest.CanMap {
		t.Skip("Bytes is a copy here")
	}
	sum := 0
	walk := func(size int) float64 {
		least := math.Inf(1)
		for range 5 { // what other goroutines allocate counts, too
			least = min(least, testing.AllocsPerRun(10, func() {
				for c, err := range f.Chunks(size) {
					if err != nil {
						t.Fatal(err)
					}
					p := c.Data
					sum += int(p[0])
				}
			}))
		}
		return least
	}
	if few, many := walk(1<<20), walk(256); many > few || many > 8 {
		t.Errorf("4096 windows: %v allocations, one: %v", many, few)
	}
}

func TestChunks_ResizedMeanwhile(t *testing.T) {
	t.Parallel()
	page := int(page)
	for _, fill := range []string{"pattern", "zeros"} {
		for _, size := range []int{4 * page, 4*page + 100} {
			for _, window := range []int{100, page, page + 1, size} {
				if size/window > maxWindows {
					continue
				}
				for _, end := range []int{0, page, page + 50, 3*page + 7, 8 * page, 8*page + 1} {
					for _, by := range []string{"File", "another handle"} {
						what := fmt.Sprintf("%d bytes of %s, windows of %d, truncated or grown to %d by %s", size, fill, window, end, by)
						if end < size && by != "File" && runtime.GOOS == "windows" && filetest.CanMap {
							continue // Windows refuses to truncate a mapped file
						}
						content := filetest.Pattern(size)
						if fill == "zeros" {
							clear(content)
						}
						name := filetest.Temp(t, content)
						f := filetest.Open(t, name)
						f.Bytes()
						total, last := 0, 0
						for c, err := range f.Chunks(window) {
							if err != nil {
								t.Fatal(err)
							}
							off, p := c.Offset, c.Data
							if off == 0 {
								resize := func(n int64) error { return os.Truncate(name, n) }
								if by == "File" {
									resize = f.Truncate
								}
								if err := resize(int64(end)); err != nil {
									t.Fatal(what, err)
								}
							}
							total, last = int(off)+len(p), int(off)
						}
						want := max(end, window) // the loop has the first window already
						if window == size {
							want = max(end, size)
						}
						if total != want {
							t.Errorf("%s: the windows end at %d, want %d; the last one begins at %d", what, total, want, last)
						}
						f.Close()
					}
				}
			}
		}
	}
}

func TestChunks_FaultInBody(t *testing.T) {
	t.Parallel()
	if !filetest.MapsUnasked {
		t.Skip("nothing faults here: Bytes is a copy, or the file cannot be truncated")
	}
	name := filetest.Temp(t, filetest.Pattern(8*int(page)))
	f := filetest.Open(t, name)
	r := filetest.Recovered(func() {
		for c, err := range f.Chunks(int(4 * page)) {
			if err != nil {
				t.Fatal(err)
			}
			p := c.Data
			if err := os.Truncate(name, page); err != nil {
				t.Fatal(err)
			}
			filetest.LoadBytes(p[2*page:])
		}
	})
	if _, ok := r.(runtime.Error); !ok {
		t.Errorf("recovered %v", r)
	}
	if filetest.PanicOnFault() {
		t.Error("SetPanicOnFault is on after the panic")
	}
	if r := filetest.Recovered(func() {
		for range f.Chunks(100) {
			panic(errors.ErrUnsupported)
		}
	}); r != errors.ErrUnsupported {
		t.Errorf("the panic of the body is %v", r)
	}
}

func TestChunks_WritesReachFile(t *testing.T) {
	t.Parallel()
	content := filetest.Pattern(100_000)
	name := filetest.Temp(t, content)
	f := filetest.Open(t, name)
	for c, err := range f.Chunks(1000) {
		if err != nil {
			t.Fatal(err)
		}
		off, p := c.Offset, c.Data
		p[0] = byte(off / 1000)
		content[off] = byte(off / 1000)
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	filetest.SameBytes(t, "the file", filetest.Read(t, name), content)
	kept := [][]byte{}
	for c, err := range f.Chunks(30_000) {
		if err != nil {
			t.Fatal(err)
		}
		p := c.Data
		kept = append(kept, p)
	}
	if _, err := f.WriteAt(filetest.Pattern(200_000), 100_000); err != nil { // grow
		t.Fatal(err)
	}
	if got, _ := readChunks(t, f, 70_000); len(got) != 300_000 {
		t.Errorf("after growth the windows have %d bytes", len(got))
	}
	filetest.SameBytes(t, "windows kept across growth", bytes.Join(kept, nil), content)
}

func TestChunks_WriteAtMeanwhile(t *testing.T) {
	t.Parallel()
	f := filetest.Open(t, filetest.Temp(t, make([]byte, 50_000)))
	for c, err := range f.Chunks(1000) {
		if err != nil {
			t.Fatal(err)
		}
		off, p := c.Offset, c.Data
		want := byte(0)
		if off > 0 {
			want = byte(off / 1000)
		}
		if filetest.CanMap && p[999] != want {
			t.Fatalf("the window at %d has %d", off, p[999])
		}
		if off+2000 <= 50_000 {
			if _, err := f.WriteAt(bytes.Repeat([]byte{byte(off/1000) + 1}, 1000), off+1000); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	all, _ := readChunks(t, f, 1000)
	got, err := io.ReadAll(f)
	if err != nil || !bytes.Equal(all, got) {
		t.Errorf("Chunks and Read differ: %v", err)
	}
}
