package ostest

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/filetest"
)

func TestBytes_WholeFile(t *testing.T) {
	for _, n := range []int64{1, page - 1, page, page + 1, 3*page + 17, 200 << 10} {
		data := filetest.PatternWithZeros(n)
		path := filetest.Temp(t, data)
		for _, flag := range []int{os.O_RDONLY, os.O_RDWR} {
			f := filetest.OpenFile(t, path, flag)
			b := f.Bytes()
			if !bytes.Equal(b, data) || cap(b) != len(b) {
				t.Errorf("%d bytes: got %s, capacity %d", n, filetest.Show(b), cap(b))
			}
			runtime.KeepAlive(f)
		}
	}
}

func TestBytes_Nil(t *testing.T) {
	path := filetest.Temp(t, []byte("content"))
	closed := filetest.OpenFile(t, path, os.O_RDONLY)
	closed.Bytes()
	closed.Close()
	for name, f := range map[string]*mmapfile.File{
		"empty":     filetest.Open(t, filetest.Temp(t, nil)),
		"closed":    closed,
		"directory": filetest.OpenFile(t, filepath.Dir(path), os.O_RDONLY),
		"nil":       nil,
	} {
		if b := f.Bytes(); b != nil {
			t.Errorf("%s: %d bytes", name, len(b))
		}
	}
	if filetest.CanMap { // a copy in memory needs no right to read by mapping
		if b := filetest.OpenFile(t, path, os.O_WRONLY).Bytes(); b != nil {
			t.Errorf("write-only: %d bytes", len(b))
		}
	}
}

func TestBytes_SharedWithCalls(t *testing.T) {
	data := filetest.PatternWithZeros(2 * page)
	path := filetest.Temp(t, data)
	f := filetest.Open(t, path)
	b := f.Bytes()
	if int64(len(b)) != 2*page {
		t.Fatalf("%d bytes", len(b))
	}
	f.WriteAt([]byte("written"), page-3)
	if got := string(b[page-3 : page+4]); got != "written" {
		t.Errorf("Bytes has %q after WriteAt", got)
	}
	// Growth keeps the slice valid and shared.
	f.WriteAt(filetest.PatternWithZeros(100*page), 2*page)
	f.WriteAt([]byte("after"), 10)
	if got := string(b[10:15]); got != "after" || int64(len(b)) != 2*page {
		t.Errorf("the old slice has %q after growth", got)
	}
	grown := f.Bytes()
	if int64(len(grown)) != 102*page || !bytes.Equal(grown[:2*page], b) {
		t.Errorf("Bytes after growth is %d long", len(grown))
	}
	copy(b[20:], "stored")
	if got := make([]byte, 6); true {
		if _, err := f.ReadAt(got, 20); err != nil || string(got) != "stored" {
			t.Errorf("ReadAt returns %q, %v after a write into Bytes", got, err)
		}
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	disk, _ := os.ReadFile(path)
	if string(disk[20:26]) != "stored" || string(disk[10:15]) != "after" {
		t.Errorf("after Sync the file has %q", disk[10:26])
	}
	copy(grown[101*page:], "last store")
	f.Close()
	disk, _ = os.ReadFile(path)
	if string(disk[101*page:101*page+10]) != "last store" {
		t.Errorf("after Close the file has %q", disk[101*page:101*page+10])
	}
}

func TestBytes_ValidAcrossGrowth(t *testing.T) {
	const size = 100_000
	whole := filetest.Pattern(10 * size)
	name := filetest.Temp(t, whole[:size])
	f := openUnclosed(t, name)
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
		filetest.SameBytes(t, "a slice from before", b, whole[:len(b)])
	}
	if filetest.CanMap {
		for _, b := range slices { // all of them share the file
			b[5]++
			var one [1]byte
			if _, err := f.ReadAt(one[:], 5); err != nil || one[0] != b[5] {
				t.Errorf("ReadAt returns %d, %v, and %d was written", one[0], err, b[5])
			}
		}
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

// Slices of Bytes stay valid up to the end of the truncated file, also on Windows, which must
// unmap the file for a truncation.
func TestBytes_OwnTruncation(t *testing.T) {
	t.Parallel()
	const size, half = 300_000, 150_001
	whole := filetest.Pattern(size)
	name := filetest.Temp(t, whole)
	f := filetest.Open(t, name)
	first := f.Bytes()
	if len(first) != size {
		t.Fatalf("Bytes returned %d bytes of %d", len(first), size)
	}
	if err := f.Truncate(half); err != nil {
		t.Fatal(err)
	}
	filetest.SameBytes(t, "what is left of the first slice", first[:half], whole[:half])
	second := f.Bytes()
	filetest.SameBytes(t, "Bytes after the truncation", second, whole[:half])
	filetest.SameBytes(t, "the file", filetest.Read(t, name), whole[:half])
	if _, err := f.WriteAt(whole[half:], half); err != nil {
		t.Fatal(err)
	}
	third := f.Bytes()
	filetest.SameBytes(t, "Bytes after the file grew again", third, whole)
	for i, b := range [][]byte{first[:half], second, third} {
		b[i] = 'A' + byte(i)
		if err := f.Sync(); err != nil {
			t.Error(err)
		}
		if got := filetest.Read(t, name); got[i] != b[i] {
			t.Errorf("a write into slice %d is not in the file", i)
		}
	}
	if err := f.Truncate(0); err != nil {
		t.Error(err)
	}
	if b := f.Bytes(); b != nil {
		t.Errorf("Bytes of an empty file has %d bytes", len(b))
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if err := os.Remove(name); err != nil {
		t.Errorf("the file cannot be removed after Close: %v", err)
	}
}

// A write into Bytes reaches the file, whatever calls come before Sync, also if Bytes is a copy.
func TestBytes_WritesSurviveCalls(t *testing.T) {
	t.Parallel()
	for _, flag := range []int{os.O_RDWR, os.O_RDWR | os.O_APPEND} {
		if runtime.GOOS == "windows" && filetest.CanMap && flag&os.O_APPEND != 0 {
			continue // a handle for appending can only be mapped for reading
		}
		for what, call := range map[string]func(f *mmapfile.File) error{
			"Write":       func(f *mmapfile.File) error { _, err := f.Write([]byte("more")); return err },
			"WriteString": func(f *mmapfile.File) error { _, err := f.WriteString("more"); return err },
			"Bytes":       func(f *mmapfile.File) error { f.Bytes(); return nil },
			"Truncate":    func(f *mmapfile.File) error { return f.Truncate(5000) },
			"Read":        func(f *mmapfile.File) error { _, err := f.Read(make([]byte, 10)); return err },
			"ReadAt":      func(f *mmapfile.File) error { _, err := f.ReadAt(make([]byte, 10), 40); return err },
			"ReadFrom":    func(f *mmapfile.File) error { _, err := f.ReadFrom(strings.NewReader("more")); return err },
			"Fd":          func(f *mmapfile.File) error { f.Fd(); return nil },
			"View": func(f *mmapfile.File) error {
				return f.View(0, 100, func(p []byte) error { p[60] = 'V'; return nil })
			},
		} {
			name := filetest.Temp(t, filetest.Pattern(10_000))
			f, err := mmapfile.OpenFile(name, flag, 0)
			if err != nil {
				t.Fatal(err)
			}
			b := f.Bytes()
			b[50] = 'B'
			if err := call(f); err != nil {
				t.Errorf("%s, flag %#x: %v", what, flag, err)
			}
			b[70] = 'C'
			if err := f.Sync(); err != nil {
				t.Errorf("%s, flag %#x: Sync: %v", what, flag, err)
			}
			if got := filetest.Read(t, name); got[50] != 'B' || got[70] != 'C' || what == "View" && got[60] != 'V' {
				t.Errorf("%s, flag %#x: the file has %q, %q, %q", what, flag, got[50], got[60], got[70])
			}
			b[90] = 'D'
			if err := f.Close(); err != nil {
				t.Errorf("%s, flag %#x: Close: %v", what, flag, err)
			}
			if got := filetest.Read(t, name); got[90] != 'D' {
				t.Errorf("%s, flag %#x: the file has %q after Close", what, flag, got[90])
			}
		}
	}
}

// What another handle writes between two bytes that were changed in memory stays.
func TestBytes_OtherWritesStay(t *testing.T) {
	t.Parallel()
	whole := filetest.Pattern(100_000)
	other := []byte("OTHER")
	check := func(t *testing.T, use func(f *mmapfile.File, theirs func())) {
		t.Helper()
		name := filetest.Temp(t, whole)
		f := filetest.Open(t, name)
		use(f, func() {
			o, err := os.OpenFile(name, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer o.Close()
			if _, err := o.WriteAt(other, 50); err != nil {
				t.Fatal(err)
			}
			if _, err := o.WriteAt(other, 50_000); err != nil {
				t.Fatal(err)
			}
		})
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		want := bytes.Clone(whole)
		copy(want[50:], other)
		copy(want[50_000:], other)
		want[10], want[99], want[99_999] = 'a', 'b', 'c'
		filetest.SameBytes(t, "the file", filetest.Read(t, name), want)
	}
	t.Run("View", func(t *testing.T) {
		check(t, func(f *mmapfile.File, theirs func()) {
			err := f.View(0, 100_000, func(p []byte) error {
				p[10], p[99], p[99_999] = 'a', 'b', 'c'
				theirs()
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	})
	t.Run("Bytes", func(t *testing.T) {
		check(t, func(f *mmapfile.File, theirs func()) {
			b := f.Bytes()
			b[10], b[99], b[99_999] = 'a', 'b', 'c'
			theirs()
			if err := f.Sync(); err != nil {
				t.Error(err)
			}
		})
	})
}

// Goroutines that only read Bytes have no data race.
func TestBytes_ConcurrentReads(t *testing.T) {
	t.Parallel()
	whole := filetest.Pattern(50_000)
	f := filetest.Open(t, filetest.Temp(t, whole))
	filetest.Together(t, 4, func(int) error {
		for range filetest.Iterations(80) {
			if !bytes.Equal(f.Bytes(), whole) {
				return errors.New("wrong bytes")
			}
		}
		return nil
	})
}
