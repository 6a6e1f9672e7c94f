package eventlog_test

import (
	"bytes"
	"os"
	"syscall"
	"testing"

	"go.dw1.io/mmapfile/eventlog"
)

// Repair must not fill the disk with the holes of a file.
func TestRepair_SavesNoHoles(t *testing.T) {
	t.Parallel()
	const size = 1 << 36
	name := newName(t)
	b, _ := logOf(t, "one", "two")
	b[24+16] ^= 1
	put(t, name, b)
	copy(b, header(size, 2))
	put(t, name, b)
	if err := os.Truncate(name, size); err != nil {
		t.Skip("no sparse files: ", err)
	}
	rec, err := eventlog.Repair(name)
	if err != nil || rec.Events != 0 || rec.SavedAs == "" {
		t.Fatalf("%+v, %v", rec, err)
	}
	fi, err := os.Stat(rec.SavedAs)
	if err != nil || fi.Size() != size-24 {
		t.Fatalf("%d bytes were saved, %v", fi.Size(), err)
	}
	if blocks := fi.Sys().(*syscall.Stat_t).Blocks; blocks*512 > 1<<20 {
		t.Errorf("the copy has %d blocks", blocks)
	}
	f, err := os.Open(rec.SavedAs)
	must(t, err)
	defer f.Close()
	kept := make([]byte, len(b)-24)
	if _, err := f.ReadAt(kept, 0); err != nil || !bytes.Equal(kept, b[24:]) {
		t.Errorf("something else was saved, %v", err)
	}
}
