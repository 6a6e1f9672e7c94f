package mmapfile_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync/atomic"
	"testing"

	"go.dw1.io/mmapfile"
)

// ftOpenLoose opens name, maps it, and leaves it to the caller, and to the collector, what becomes of it.
func ftOpenLoose(t testing.TB, name string) *mmapfile.File {
	t.Helper()
	f, err := mmapfile.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	ftMap(t, f)
	return f
}

// The collector runs all the time, and no variable keeps the Files alive: only the calls inside them do.
func TestNoCleanupRunsUnderACallInFlight(t *testing.T) {
	if runtime.GOARCH == "wasm" {
		t.Skip("no cleanups without mappings, and collecting all the time takes minutes here")
	}
	const size = 1 << 20
	whole := ftPattern(size)
	name := ftTemp(t, whole)
	var stop atomic.Bool
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		for ftGoOn(&stop) {
			runtime.GC()
		}
	}()
	defer func() { <-gone }()
	defer stop.Store(true)
	b := make([]byte, size)
	for call, do := range map[string]func(f *mmapfile.File) error{
		"ReadAt": func(f *mmapfile.File) error {
			n, err := f.ReadAt(b, 0)
			if err == nil && (n != size || !bytes.Equal(b, whole)) {
				err = fmt.Errorf("%d bytes, or others", n)
			}
			return err
		},
		"Read": func(f *mmapfile.File) error {
			n, err := f.Read(b)
			if err == nil && (n != size || !bytes.Equal(b, whole)) {
				err = fmt.Errorf("%d bytes, or others", n)
			}
			return err
		},
		"WriteAt": func(f *mmapfile.File) error { _, err := f.WriteAt(whole, 0); return err },
		"Write":   func(f *mmapfile.File) error { _, err := f.Write(whole); return err },
		"WriteTo": func(f *mmapfile.File) error {
			var to bytes.Buffer
			_, err := f.WriteTo(&to)
			if err == nil && !bytes.Equal(to.Bytes(), whole) {
				err = fmt.Errorf("%d bytes, or others", to.Len())
			}
			return err
		},
		"ReadFrom": func(f *mmapfile.File) error { _, err := f.ReadFrom(bytes.NewReader(whole)); return err },
		"Truncate": func(f *mmapfile.File) error { return f.Truncate(size) },
		"Sync":     func(f *mmapfile.File) error { return f.Sync() },
		"View": func(f *mmapfile.File) error {
			return f.View(0, size, func(p []byte) error {
				runtime.GC() // f is not named any more
				if !bytes.Equal(p, whole) {
					return fmt.Errorf("other bytes")
				}
				return nil
			})
		},
	} {
		for range ftLess(24) {
			if err := do(ftOpenLoose(t, name)); err != nil {
				t.Errorf("%s: %v", call, err)
			}
		}
	}
}

func TestBytesStayValidAcrossGrowth(t *testing.T) {
	const size = 100_000
	whole := ftPattern(10 * size)
	name := ftTemp(t, whole[:size])
	f := ftOpenLoose(t, name)
	var slices [][]byte
	for end := size; end <= 10*size; end += size {
		if _, err := f.WriteAt(whole[end-size:end], int64(end-size)); err != nil {
			t.Fatal(err)
		}
		b := f.Bytes()
		if len(b) != end || cap(b) != end {
			t.Fatalf("Bytes has %d bytes, capacity %d, of a file of %d", len(b), cap(b), end)
		}
		slices = append(slices, b)
	}
	runtime.GC()
	for _, b := range slices {
		ftSame(t, "a slice from before", b, whole[:len(b)])
	}
	if mmapfile.CanMap {
		for _, b := range slices { // all of them are the file
			b[5]++
			var one [1]byte
			if _, err := f.ReadAt(one[:], 5); err != nil || one[0] != b[5] {
				t.Errorf("ReadAt gives %d, %v, for %d stored", one[0], err, b[5])
			}
		}
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

func TestReadsFarApartMapAFileOnceTheyComeBack(t *testing.T) {
	t.Parallel()
	if !mmapfile.MapsUnasked {
		t.Skip("nothing is mapped unasked")
	}
	const place, places = 256 << 10, 16 // farther from each other than one fault reaches
	f := ftOpen(t, ftTemp(t, make([]byte, places*place)))
	var b [64]byte
	after := 0
	for ; !mmapfile.Mapped(f) && after < 10_000; after++ {
		if _, err := f.ReadAt(b[:], int64(after%places*place)); err != nil {
			t.Fatal(err)
		}
	}
	if after < 60 || after > 100 {
		t.Errorf("mapped after %d reads at %d places", after, places)
	}
}

func TestSmallWritesInsideAFileAreMapped(t *testing.T) {
	t.Parallel()
	if !mmapfile.MapsUnasked {
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
			content := ftPattern(1 << 20)
			name := ftTemp(t, content)
			f := ftOpen(t, name)
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
			if got, want := mmapfile.Mapped(f), way.name != "WriteOfNew"; got != want { // its cursor stays in the kernel
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
