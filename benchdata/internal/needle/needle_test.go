package needle

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// search finds the first byte that is not zero as the measurement does.
func (w Way) search(path string, workers int) (off int64, err error) {
	if w.Open == nil {
		return w.Find(path, workers)
	}
	return opened(w.Open)(path, workers)
}

// testWays calls test with each way that reads the file.
func testWays(t *testing.T, test func(t *testing.T, w Way)) {
	for _, w := range Ways() {
		if w.Name == "memory" {
			continue // it has a needle of its own
		}
		t.Run(w.Name, func(t *testing.T) {
			if w.Missing != "" {
				t.Skip(w.Missing)
			}
			test(t, w)
		})
	}
}

// sizes are around those of words, blocks, pages, chunks and pieces.
var sizes = []int{0, 1, 7, 8, 9, 63, 64, 65, 255, 256, 257, 4095, 4096, 4097, 70001,
	chunk - 1, chunk, chunk + 1, chunk + 300, piece - 1, piece, piece + 77, 3*piece + 5}

func writeFile(t *testing.T, p []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, p, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestEachWayFindsTheFirstByteThatIsNotZero(t *testing.T) {
	testWays(t, func(t *testing.T, w Way) {
		for _, size := range sizes {
			p := make([]byte, size)
			path := writeFile(t, p)
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			check := func(want int) {
				t.Helper()
				for _, workers := range []int{1, 3} {
					if off, err := w.search(path, workers); off != int64(want) || err != nil {
						t.Errorf("%d bytes, %d workers: %d, %v; want %d", size, workers, off, err, want)
					}
				}
			}
			check(-1)
			// From the end on, so that there is always one after it that must not be found.
			for _, at := range []int{size - 1, size - 8, size - 65, size * 2 / 3, size / 2, 64, 9, 0} {
				if at < 0 || at >= size {
					continue
				}
				if _, err := f.WriteAt([]byte{1}, int64(at)); err != nil {
					t.Fatal(err)
				}
				p[at] = 1
				check(bytes.IndexByte(p, 1))
			}
		}
	})
}

func TestEachWayFindsTheNeedle(t *testing.T) {
	for _, size := range []int64{8, 9, 64, 4096 + 13, 2*piece + 1003} {
		path := filepath.Join(t.TempDir(), "file")
		if err := WriteFile(t.Context(), path, size); err != nil {
			t.Fatal(err)
		}
		fi, err := os.Stat(path)
		if err != nil || fi.Size() != size {
			t.Fatal(fi, err)
		}
		for _, w := range Ways() {
			if w.Missing != "" {
				continue
			}
			if off, err := w.search(path, 2); off != size-int64(WordSize) || err != nil {
				t.Errorf("%s, %d bytes: %d, %v", w.Name, size, off, err)
			}
		}
	}
}

func TestEachByteOfAWordCounts(t *testing.T) {
	for name, find := range map[string]index{
		"words": indexWords, "blocks": indexBlocks, "AVX2": indexAVX2, "SIMD": indexSIMD, "pieces": inPieces(indexAVX2),
	} {
		if name == "SIMD" && missingSIMD != "" {
			continue
		}
		for _, size := range []int{0, 5, 8, 64, 100, 256, 600, 1031} {
			p := make([]byte, size)
			for i := range p {
				p[i] = 0x80
				if got := find(p); got != i {
					t.Errorf("%s, %d bytes: %d, want %d", name, size, got, i)
				}
				p[i] = 0
			}
			if got := find(p); got != -1 {
				t.Errorf("%s, %d bytes of zero: %d", name, size, got)
			}
		}
	}
}

func TestNoFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none")
	for _, w := range Ways() {
		if w.Missing != "" {
			continue
		}
		if off, err := w.search(path, 2); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %d, %v", w.Name, off, err)
		}
	}
}

func TestWriteFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := WriteFile(t.Context(), path, int64(WordSize)-1); err == nil {
		t.Error("no error without room for the needle")
	}
	if err := WriteFile(t.Context(), path, 1<<20); err != nil {
		t.Error(err)
	}
	if err := WriteFile(t.Context(), path, 1<<20); !errors.Is(err, os.ErrExist) {
		t.Errorf("a file that is there already: %v", err)
	}
}

func TestEachWayCountsTheLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sources")
	if _, err := WriteSources(t.Context(), path, t.TempDir(), 1000); err == nil {
		t.Error("sources without any")
	}
	const size = 3*chunk + 77 // the files of this package several times over
	want, err := WriteSources(t.Context(), path, ".", size)
	if err != nil {
		t.Fatal(err)
	}
	p, err := os.ReadFile(path)
	if err != nil || len(p) != size || !bytes.HasPrefix(p, []byte("package needle\n")) {
		t.Fatalf("%d bytes, %v", len(p), err)
	}
	if n := bytes.Count(p, newline); int64(n) != want || n < 1000 {
		t.Errorf("%d lines, said to be %d", n, want)
	}
	for _, w := range LineWays() {
		if w.Missing != "" {
			continue
		}
		for _, workers := range []int{1, 3} {
			if n, err := w.search(path, workers); n != want || err != nil {
				t.Errorf("%s, %d workers: %d, %v; want %d", w.Name, workers, n, err, want)
			}
		}
	}
}
