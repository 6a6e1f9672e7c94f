package ostest

import (
	"os"
	"testing"
	"unsafe"

	"golang.org/x/sys/windows"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/filetest"
)

// Not parallel: the handles are those of the whole process.
func TestClose_Handles(t *testing.T) {
	count := func() (n uint32) {
		p := windows.NewLazySystemDLL("kernel32.dll").NewProc("GetProcessHandleCount")
		if ok, _, err := p.Call(uintptr(windows.CurrentProcess()), uintptr(unsafe.Pointer(&n))); ok == 0 {
			t.Skip("GetProcessHandleCount: ", err)
		}
		return n
	}
	whole := filetest.Pattern(200_000)
	name := filetest.Temp(t, whole)
	round := func() {
		f, err := mmapfile.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		if len(f.Bytes()) != len(whole) {
			t.Fatal("Bytes is nil")
		}
		if err := f.View(5, 100, func(p []byte) error { p[0]++; return nil }); err != nil {
			t.Error(err)
		}
		if err := f.Truncate(100_000); err != nil {
			t.Error(err)
		}
		if _, err := f.WriteAt(whole[100_000:], 100_000); err != nil {
			t.Error(err)
		}
		f.Bytes()
		if err := f.Sync(); err != nil {
			t.Error(err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		if err := os.Rename(name, name+"2"); err != nil { // refused while a handle is open
			t.Error(err)
		}
		if err := os.Rename(name+"2", name); err != nil {
			t.Error(err)
		}
	}
	for range 10 {
		round()
	}
	before := count()
	for range 200 {
		round()
	}
	if after := count(); after > before+10 { // threads of the runtime have some
		t.Errorf("%d handles before, %d after 200 rounds", before, after)
	}
}
