package mmapfile_test

import (
	"io"
	"runtime"
	"testing"

	"go.dw1.io/mmapfile"
)

// Not parallel: AllocsPerRun counts what the whole process allocates.
func TestHotPathsDoNotAllocate(t *testing.T) {
	if mmapfile.RaceDetector {
		t.Skip("the race detector allocates")
	}
	const size = 100_000
	content := ftPattern(size)
	f := ftOpen(t, ftTemp(t, content))
	ftMap(t, f)
	ftHeat(t, f, content)
	for range 40 { // the cursor has come to where it stays
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Read(make([]byte, 10)); err != nil {
			t.Fatal(err)
		}
	}
	b := make([]byte, 1000)
	check := func(n int, err error, wantN int, wantErr error) {
		if n != wantN || err != wantErr {
			t.Fatalf("%d, %v; want %d, %v", n, err, wantN, wantErr)
		}
	}
	seek := func(off int64, whence int) {
		if _, err := f.Seek(off, whence); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name   string
		mapped bool // only where files are mapped
		do     func()
	}{
		{"ReadAt", false, func() { n, err := f.ReadAt(b, 5000); check(n, err, len(b), nil) }},
		{"ReadAtEnd", false, func() { n, err := f.ReadAt(b, size-10); check(n, err, 10, io.EOF) }},
		{"ReadAtBehindTheEnd", false, func() { n, err := f.ReadAt(b, size); check(n, err, 0, io.EOF) }},
		{"Read", false, func() { seek(0, io.SeekStart); n, err := f.Read(b); check(n, err, len(b), nil) }},
		{"ReadEnd", false, func() { seek(size-10, io.SeekStart); n, err := f.Read(b); check(n, err, 10, nil) }},
		{"ReadBehindTheEnd", false, func() { seek(size, io.SeekStart); n, err := f.Read(b); check(n, err, 0, io.EOF) }},
		{"WriteAt", false, func() { n, err := f.WriteAt(b, 5000); check(n, err, len(b), nil) }},
		{"WriteAtLarge", false, func() { n, err := f.WriteAt(content, 0); check(n, err, size, nil) }},
		{"Write", false, func() { seek(7, io.SeekStart); n, err := f.Write(b); check(n, err, len(b), nil) }},
		{"WriteString", false, func() { seek(7, io.SeekStart); n, err := f.WriteString("a string"); check(n, err, 8, nil) }},
		{"WriteAtUpToTheEnd", true, func() { n, err := f.WriteAt(b[:10], size-10); check(n, err, 10, nil) }},
		{"SeekStart", false, func() { seek(100, io.SeekStart) }},
		{"SeekCurrent", false, func() { seek(0, io.SeekCurrent) }},
		{"SeekEnd", false, func() { seek(0, io.SeekEnd) }},
		{"Len", false, func() { check(f.Len(), nil, size, nil) }},
		{"Bytes", true, func() { check(len(f.Bytes()), nil, size, nil) }},
		{"View", true, func() {
			check(0, f.View(100, 5000, func(p []byte) error { ftTouch(p[:10]); return nil }), 0, nil)
		}},
		{"ViewOfAll", true, func() { check(0, f.View(0, size, func([]byte) error { return nil }), 0, nil) }},
	} {
		if (c.mapped || runtime.GOARCH == "wasm") && !mmapfile.CanMap {
			continue // os.File's own system calls allocate on js and wasip1
		}
		if n := testing.AllocsPerRun(200, c.do); n != 0 {
			t.Errorf("%s allocates %v times", c.name, n)
		}
	}
}
