package logdisk_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.dw1.io/mmapfile/internal/logdisk"
)

// A handle that a virus scanner has for a moment excludes no call by name.
func TestDisk_ExcludedForMoment(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "mmapfile-test-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir) // t.TempDir fails under wine
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	if err := os.WriteFile(a, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	scan := func(name string) { // Go shares a file for reading and writing only
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(5*time.Millisecond, func() { f.Close() })
	}
	scan(a)
	if err := logdisk.Rename(a, b); err != nil {
		t.Error(err)
	}
	scan(b)
	if err := logdisk.Remove(b); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(b); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}
