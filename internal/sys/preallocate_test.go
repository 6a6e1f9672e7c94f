//go:build unix

package sys

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
)

// A file that was created for nothing is removed, unless it has content or is open elsewhere.
func TestAbandon_Created(t *testing.T) {
	for _, c := range []struct {
		name    string
		prepare func(path string) (other *os.File, err error)
		stays   bool
	}{
		{"empty", func(string) (*os.File, error) { return nil, nil }, false},
		{"written", func(path string) (*os.File, error) { return nil, os.WriteFile(path, []byte("record"), 0) }, true},
		{"open elsewhere", func(path string) (*os.File, error) { return os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0) }, runtime.GOOS == "linux"},
	} {
		syscall.ForkLock.RLock() // a child has all descriptors until its exec
		path := filepath.Join(t.TempDir(), "file")
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		other, err := c.prepare(path)
		if err != nil {
			t.Fatal(err)
		}
		abandon(f, path)
		syscall.ForkLock.RUnlock()
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) == c.stays {
			t.Errorf("%s: %v", c.name, err)
		}
		if other != nil {
			other.Close()
		}
	}
}
