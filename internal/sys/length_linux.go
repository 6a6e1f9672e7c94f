//go:build !android

package sys

import (
	"os"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// lengthQuestion asks for a length without an allocation.
type lengthQuestion struct {
	st   unix.Statx_t
	path byte // which is empty
	err  unix.Errno
	ask  func(fd uintptr)
}

var lengthQuestions = sync.Pool{New: func() any {
	q := new(lengthQuestion)
	q.ask = func(fd uintptr) {
		_, _, q.err = unix.Syscall6(unix.SYS_STATX, fd, uintptr(unsafe.Pointer(&q.path)), unix.AT_EMPTY_PATH,
			unix.STATX_TYPE|unix.STATX_SIZE, uintptr(unsafe.Pointer(&q.st)), 0)
	}
	return q
}}

// Length returns the length of f if it is a regular file. It asks for no times: once they were asked for, the next write of
// any process gives the file new ones (multigrain timestamps, Linux 6.13), which took 1.5 µs on ext4 where others take 0.65.
func Length(f *os.File) (size int64, regular bool, err error) {
	q := lengthQuestions.Get().(*lengthQuestion)
	defer lengthQuestions.Put(q)
	if raw, err := f.SyscallConn(); err != nil || raw.Control(q.ask) != nil || q.err != 0 { // before Linux 4.11, or forbidden
		return lengthOf(f)
	}
	return int64(q.st.Size), q.st.Mode&unix.S_IFMT == unix.S_IFREG, nil
}
