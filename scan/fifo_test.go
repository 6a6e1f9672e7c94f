//go:build unix && !aix && !illumos && !solaris

package scan_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/scan"
)

func TestScanner_FIFO(t *testing.T) {
	t.Parallel()
	name := filepath.Join(tempDir(t), "fifo")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := mmapfile.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString("text"); err != nil {
		t.Fatal(err)
	}
	if at, err := scan.Index(ctx, f, []byte("x")); at != -1 || !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("Index: %d, %v", at, err)
	}
	if n, err := scan.Count(ctx, f, []byte("x")); n != 0 || !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("Count: %d, %v", n, err)
	}
	p := make([]byte, 10)
	if n, err := f.Read(p); string(p[:n]) != "text" || err != nil {
		t.Errorf("%q, %v is left", p[:n], err)
	}
}
