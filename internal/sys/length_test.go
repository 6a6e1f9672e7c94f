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
	for _, c := range []struct {
		name    string
		regular bool
	}{{name, true}, {dir, false}, {os.DevNull, false}} {
		f, err := os.Open(c.name)
		if err != nil {
			t.Fatal(err)
		}
		fi, err := f.Stat()
		if err != nil {
			t.Fatal(err)
		}
		if size, regular, err := Length(f); regular != c.regular || regular && size != fi.Size() || err != nil {
			t.Errorf("%s: %d, regular: %v, %v; want %d, %v", c.name, size, regular, err, fi.Size(), c.regular)
		}
		f.Close()
		if _, _, err := Length(f); !errors.Is(err, os.ErrClosed) {
			t.Errorf("%s is closed: %v", c.name, err)
		}
	}
}
