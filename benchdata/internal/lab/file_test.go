package lab

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"go.dw1.io/mmapfile/benchdata/internal/benchtest"
)

// filePiece is the size of the writes by which files are made, io.Copy's. A file that was made by one large write is in large
// folios on Linux, and a small write by os.File to it takes more than twice as long then.
const filePiece = 32 * benchtest.KB

// TestMain says in the results what was asked for.
func TestMain(m *testing.M) {
	flag.Parse()
	if f := flag.Lookup("test.bench"); f.Value.String() != "" {
		fmt.Printf("piece: %s\n", benchtest.SizeName(filePiece))
		fmt.Printf("warm: at least %d rounds of %d calls (%d small ones), until the medians of two are within %.0f%%, for %v at most after %d calls\n",
			warmFrom, warmRound, warmMany, 100*(warmAgree-1), warmMost, warmLeast)
	}
	code := m.Run()
	for _, path := range readOnly {
		os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

// data makes a file of size bytes, all written, so that no implementation has a hole to fill.
func data(b *testing.B, size int) string {
	b.Helper()
	path := filepath.Join(benchtest.TempDir(b), "data")
	if err := writeBlocks(osFile, path, benchtest.Content(size), filePiece); err != nil {
		b.Fatal(err)
	}
	return path
}

// readOnly are the files that the rows share which only read.
var readOnly = map[int]string{}

// dataToRead is data for those: making 1 GiB for each of them takes longer than they do.
func dataToRead(b *testing.B, size int) string {
	b.Helper()
	if readOnly[size] == "" {
		dir, err := os.MkdirTemp(os.Getenv("BENCH_DIR"), "mmapfile-bench-")
		if err != nil {
			b.Fatal(err)
		}
		path := filepath.Join(dir, "data")
		readOnly[size] = path // to be removed, whatever comes
		if err := writeBlocks(osFile, path, benchtest.Content(size), filePiece); err != nil {
			b.Fatal(err)
		}
	}
	return readOnly[size]
}

// writeBlocks makes a new file of data, in writes of so many bytes.
func writeBlocks(im impl, path string, data []byte, block int) error {
	f, err := im.open(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, int64(len(data)))
	if err != nil {
		return err
	}
	w := f.(io.Writer)
	for len(data) > 0 {
		p := data[:min(block, len(data))]
		n, err := w.Write(p)
		if err := benchtest.Whole(n, err, len(p)); err != nil {
			return errors.Join(err, f.Close())
		}
		data = data[len(p):]
	}
	return f.Close()
}
