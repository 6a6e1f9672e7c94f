package logdisk_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"go.dw1.io/mmapfile/internal/logdisk"
)

func TestSyncDir_Errors(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "mmapfile-test-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir) // t.TempDir fails under wine
	if err := logdisk.SyncDir(dir); err != nil {
		t.Error(err)
	}
	if err := logdisk.SyncDir(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no directory: %v", err)
	}
	f, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	if err := logdisk.SyncNames(f); !errors.Is(err, os.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

// What has no fsync is no error: a pipe stands for the directory of such a file system.
func TestSyncNames_Unsupported(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Skip(err)
	}
	defer r.Close()
	defer w.Close()
	if err := logdisk.SyncNames(r); err != nil {
		t.Error(err)
	}
}
