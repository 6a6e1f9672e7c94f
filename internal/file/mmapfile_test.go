package file_test

import (
	"os"
	"testing"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/file"
	"go.dw1.io/mmapfile/internal/filetest"
	"go.dw1.io/mmapfile/internal/sys"
)

// Storage on which no file is mapped for calls is one for which the promise is needed.
func TestImmutable_Storage(t *testing.T) {
	t.Parallel()
	name := filetest.Temp(t, filetest.Pattern(100))
	for _, c := range []struct {
		kind                    sys.Storage
		write, reads, immutable bool
	}{
		{sys.StorageLocal, true, true, true},
		{sys.StorageOverlay, true, false, true},
		{sys.StorageRemote, false, false, true},
		{sys.StorageOnRequest, false, false, true},
		{sys.StorageMemory, true, true, true},
	} {
		if got := file.MapsOn(filetest.Open(t, name), c.kind, true); got != c.write {
			t.Errorf("kind %d, for writing: %v", c.kind, got)
		}
		if got := file.MapsOn(filetest.OpenFile(t, name, os.O_RDONLY), c.kind, false); got != c.reads {
			t.Errorf("kind %d, for reading: %v", c.kind, got)
		}
		f, err := mmapfile.Options{Immutable: true}.OpenFile(name, os.O_RDONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if got := file.MapsOn(f, c.kind, false); got != c.immutable {
			t.Errorf("kind %d, immutable: %v", c.kind, got)
		}
	}
}
