package ostest

import (
	"bytes"
	"io"
	"os"
	"runtime"
	"sync/atomic"
	"testing"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/filetest"
	"go.dw1.io/mmapfile/internal/pages"
)

func TestReadAt_FarApartIsMapped(t *testing.T) {
	filetest.NeedsGain(t)
	t.Parallel()
	if !filetest.MapsUnasked || pages.Eager {
		t.Skip("nothing is mapped unasked, or at once")
	}
	const place, places = 256 << 10, 16 // a fault maps less than place bytes
	f := filetest.Open(t, filetest.Temp(t, make([]byte, places*place)))
	var b [64]byte
	after := 0
	for ; !filetest.Mapped(f) && after < 10_000; after++ {
		if _, err := f.ReadAt(b[:], int64(after%places*place)); err != nil {
			t.Fatal(err)
		}
	}
	if after < 50 || after > 100 { // 31 are not recorded, and 16 are the first of their pages
		t.Errorf("mapped after %d reads at %d places", after, places)
	}
}

func TestWrite_SmallIsMapped(t *testing.T) {
	filetest.NeedsGain(t)
	t.Parallel()
	if !filetest.MapsUnasked {
		t.Skip("nothing is mapped unasked")
	}
	record := []byte("0123456789")
	for _, way := range []struct {
		name   string
		write  func(f *mmapfile.File, off int64) (int, error)
		cursor int64
	}{
		{"Write", func(f *mmapfile.File, _ int64) (int, error) { return f.Write(record) }, 10_000},
		{"WriteAt", func(f *mmapfile.File, off int64) (int, error) { return f.WriteAt(record, off) }, 0},
		{"WriteOfNew", func(f *mmapfile.File, _ int64) (int, error) { return f.Write(record) }, 10_000},
	} {
		t.Run(way.name, func(t *testing.T) {
			content := filetest.Pattern(1 << 20)
			name := filetest.Temp(t, content)
			f := filetest.Open(t, name)
			if way.name == "WriteOfNew" {
				inner, err := os.OpenFile(name, os.O_RDWR, 0)
				if err != nil {
					t.Fatal(err)
				}
				if f, err = mmapfile.New(inner); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { f.Close() })
			}
			for i := range int64(1000) {
				if n, err := way.write(f, 10*i); n != 10 || err != nil {
					t.Fatal(n, err)
				}
			}
			if got, want := filetest.Mapped(f), way.name != "WriteOfNew"; got != want { // the cursor of New stays in the kernel
				t.Errorf("mapped after a thousand small writes inside the file: %v, want %v", got, want)
			}
			copy(content, bytes.Repeat(record, 1000))
			if pos, err := f.Seek(0, io.SeekCurrent); pos != way.cursor || err != nil {
				t.Errorf("the cursor is at %d, %v", pos, err)
			}
			if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, content) {
				t.Errorf("the content differs: %v", err)
			}
		})
	}
}

// The collector runs all the time, and only the running calls keep the Files alive.
func TestFile_CleanupBesideCalls(t *testing.T) {
	if runtime.GOARCH == "wasm" {
		t.Skip("no cleanups without mappings, and collecting all the time takes minutes here")
	}
	whole := filetest.Pattern(1 << 20)
	name := filetest.Temp(t, whole)
	var stop atomic.Bool
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		for filetest.KeepGoing(&stop) {
			runtime.GC()
		}
	}()
	defer func() { <-gone }()
	defer stop.Store(true)
	for call, do := range fileCalls(whole) {
		for range filetest.Iterations(24) {
			if err := do(openUnclosed(t, name)); err != nil {
				t.Errorf("%s: %v", call, err)
			}
		}
	}
}

// openUnclosed opens and maps name. Only the caller, or the garbage collector, closes it.
func openUnclosed(t testing.TB, name string) *mmapfile.File {
	t.Helper()
	f, err := mmapfile.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	filetest.Map(t, f)
	return f
}
