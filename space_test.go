package mmapfile

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// Who needs address space for itself must not find it gone, least of all Go's own heap.
func TestBytesLeaveAddressSpaceToOthers(t *testing.T) {
	if !canMap || mapLimit > 1<<40 {
		t.Skip("there is enough of it")
	}
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(name, 300<<20); err != nil {
		t.Skip(err)
	}
	var open []*File
	defer func() {
		for _, f := range open {
			f.Close()
		}
		open = nil
		runtime.GC()
	}()
	mapped := 0
	for range 16 {
		f, err := Open(name)
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, f)
		if f.Bytes() != nil {
			mapped++
		}
	}
	if mapped == 0 || int64(mapped)*300<<20 > bytesAsked {
		t.Errorf("%d files of 300 MiB are mapped", mapped)
	}
	var b [1]byte
	if n, err := open[len(open)-1].ReadAt(b[:], 299<<20); n != 1 || err != nil {
		t.Errorf("a file that is not mapped: %d, %v", n, err)
	}
}
