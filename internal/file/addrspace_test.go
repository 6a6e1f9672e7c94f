package file_test

import (
	"os"
	"runtime"
	"testing"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/filetest"
	"go.dw1.io/mmapfile/internal/vm"
)

// Mappings leave address space to the program and to the heap of Go.
func TestBytes_LimitedAddressSpace(t *testing.T) {
	if !filetest.CanMap || vm.MapLimit > 1<<40 {
		t.Skip("there is enough of it")
	}
	name := filetest.Temp(t, nil)
	if err := os.Truncate(name, 300<<20); err != nil {
		t.Skip(err)
	}
	var open []*mmapfile.File
	defer func() {
		for _, f := range open {
			f.Close()
		}
		open = nil
		runtime.GC()
	}()
	mapped := 0
	for range 16 {
		f, err := mmapfile.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, f)
		if f.Bytes() != nil {
			mapped++
		}
	}
	if mapped == 0 || int64(mapped)*300<<20 > 4*min(vm.MapLimit, 1<<60) {
		t.Errorf("%d files of 300 MiB are mapped", mapped)
	}
	var b [1]byte
	if n, err := open[len(open)-1].ReadAt(b[:], 299<<20); n != 1 || err != nil {
		t.Errorf("a file that is not mapped: %d, %v", n, err)
	}
}
