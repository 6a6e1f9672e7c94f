//go:build !nommap

package file_test

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/file"
	"go.dw1.io/mmapfile/internal/filetest"
)

func init() { filetest.Children["short-writes"] = childShortWrites }

// A write that fails half-way makes the file longer, though WriteAt reports no bytes.
func TestLen_AfterFailedWriteAt(t *testing.T) {
	t.Parallel()
	name := filetest.Temp(t, filetest.Pattern(100))
	filetest.RunChild(t, filetest.ChildCommand(t, nil, "short-writes", name))
}

// childShortWrites writes past the limit of the process.
func childShortWrites(args []string) error {
	const limit = 500_000
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
		return err
	}
	f, err := mmapfile.Options{Flush: mmapfile.FlushPolicy{Bytes: 1 << 30}}.OpenFile(args[0], os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if n := f.Len(); n != 100 {
		return fmt.Errorf("Len is %d at first", n)
	}
	if _, err := f.WriteAt(make([]byte, limit), 200); !errors.Is(err, syscall.EFBIG) {
		return fmt.Errorf("a write past the limit: %v", err)
	}
	if n := f.Len(); n != limit {
		return fmt.Errorf("Len is %d, the file has %d bytes", n, limit)
	}
	if n := file.Pending(f); n < limit-200 {
		return fmt.Errorf("%d bytes are pending, %d were written", n, limit-200)
	}
	return nil
}
