package file

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// os.File.Stat uses a handle that Close may have given to another file. Once Close has begun, a
// Stat that succeeds may be about that file.
func TestStat_BesideClose(t *testing.T) {
	t.Parallel()
	f, err := OpenFile(filepath.Join(TempDir(t), "file"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.inner.Close()
	f.mu.Lock()
	f.end() // as Close does before it closes the inner file
	f.mu.Unlock()
	if fi, err := f.Stat(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("%v, %v", fi, err)
	}
}
