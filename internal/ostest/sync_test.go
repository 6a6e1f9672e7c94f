package ostest

import (
	"os"
	"runtime"
	"testing"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/filetest"
)

func TestSyncRange_OpenFlags(t *testing.T) {
	t.Parallel()
	for _, flag := range []int{os.O_RDONLY, os.O_WRONLY, os.O_RDWR, os.O_RDWR | os.O_APPEND, os.O_RDWR | os.O_SYNC} {
		if runtime.GOOS == "js" && flag&os.O_SYNC != 0 {
			continue // js has no O_SYNC
		}
		name := filetest.Temp(t, filetest.Pattern(100_000))
		f, err := mmapfile.OpenFile(name, flag, 0)
		if err != nil {
			t.Fatal(err)
		}
		o, err := os.OpenFile(name, flag, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, mapped := range []bool{false, true} {
			if mapped {
				f.Bytes()
			}
			err := f.SyncRange(5000, 10)
			if want := o.Sync(); (err == nil) != (want == nil) { // Windows cannot sync a read-only handle
				t.Errorf("flag %#x, mapped %v: %v, os.File.Sync says %v", flag, mapped, err, want)
			}
		}
		o.Close()
		f.Close()
	}
}

func TestSync_BytesPastMovedEnd(t *testing.T) {
	t.Parallel()
	filetest.NeedForeignTruncate(t)
	name := filetest.Temp(t, filetest.Pattern(8192))
	f := filetest.Open(t, name)
	b := f.Bytes()
	if b == nil {
		t.Fatal("Bytes is nil")
	}
	if filetest.CanMap {
		b[90]++ // the page of offset 5000 is gone after the truncation
	} else {
		b[5000]++
	}
	if err := os.Truncate(name, 100); err != nil {
		t.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		t.Error(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if got := filetest.Read(t, name); len(got) != 100 {
		t.Errorf("the file has %d bytes", len(got))
	}
}
