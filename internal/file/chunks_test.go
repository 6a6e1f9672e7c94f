package file_test

import (
	"errors"
	"io/fs"
	"testing"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/file"
	"go.dw1.io/mmapfile/internal/filetest"
)

// A window that is a copy, and larger than memory may be, is an error.
func TestChunks_CopyTooLong(t *testing.T) {
	t.Parallel()
	const size, bound = 100_000, 10_000
	refused := func(what string, f *mmapfile.File, window int) {
		t.Helper()
		n := 0
		for c, err := range file.ChunksCopying(f, window, bound) {
			var pe *fs.PathError
			if n++; !errors.As(err, &pe) || !errors.Is(err, errors.ErrUnsupported) || pe.Op != "chunks" || pe.Path != f.Name() || c.Data != nil {
				t.Errorf("%s in windows of %d: %d bytes, %v", what, window, len(c.Data), err)
			}
		}
		if n != 1 {
			t.Errorf("%s in windows of %d: %d windows and errors", what, window, n)
		}
	}
	walked := func(what string, f *mmapfile.File, window, want int) {
		t.Helper()
		n := 0
		for c, err := range file.ChunksCopying(f, window, bound) {
			if n += len(c.Data); err != nil {
				t.Errorf("%s in windows of %d: %v", what, window, err)
			}
		}
		if want >= 0 && n != want || n == 0 {
			t.Errorf("%s in windows of %d: %d bytes, want %d", what, window, n, want)
		}
	}
	file := filetest.Open(t, filetest.Temp(t, filetest.Pattern(size)))
	for _, window := range []int{1, 100, bound, bound + 1, size, 1 << 30} {
		switch {
		case filetest.CanMap || window <= bound:
			walked("a file", file, window, size)
		default:
			refused("a file", file, window)
		}
	}
	for name, endless := range map[string]bool{"/dev/zero": true, "/proc/self/status": false} {
		f, err := mmapfile.Open(name)
		if err != nil {
			continue
		}
		if endless {
			refused(name, f, bound+1)
			refused(name, f, 1<<30)
		} else {
			walked(name, f, 1<<30, -1)
			walked(name, f, 100, -1)
		}
		f.Close()
	}
}
