package sys

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestLength_AsStat(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, "file")
	if err := os.WriteFile(name, make([]byte, 12345), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{name, dir, os.DevNull} {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		asStat(t, f)
		f.Close()
		if _, _, err := Length(f); !errors.Is(err, os.ErrClosed) {
			t.Errorf("%s is closed: %v", name, err)
		}
	}
}

// asStat tests that Length of f says what Stat does.
func asStat(t *testing.T, f *os.File) {
	t.Helper()
	fi, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	size, regular, err := Length(f)
	if regular != fi.Mode().IsRegular() || regular && size != fi.Size() || err != nil {
		t.Errorf("%s: %d, regular: %v, %v; want %d, %v", f.Name(), size, regular, err, fi.Size(), fi.Mode())
	}
}
