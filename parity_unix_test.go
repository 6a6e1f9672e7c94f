//go:build unix

package mmapfile_test

import (
	"fmt"
	"io"
	"syscall"
)

func init() {
	kernelOffset = func(fd uintptr) string {
		pos, err := syscall.Seek(int(fd), 0, io.SeekCurrent)
		return fmt.Sprint(pos, " ", err)
	}
}
