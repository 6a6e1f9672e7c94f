//go:build !nommap

package sys

import (
	"errors"
	"math"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ReadInOrder has nothing to do: the system reads ahead by default.
func ReadInOrder(*os.File, bool) error { return errors.ErrUnsupported }

// Prefetch starts to read n bytes of f at off into memory (F_RDADVISE in fcntl(2)).
func Prefetch(f *os.File, off, n int64) error {
	var arg unix.Fstore_t // has room for it, and a call that takes a pointer
	advisory := (*struct {
		off   int64
		count int32
	})(unsafe.Pointer(&arg)) // struct radvisory
	advisory.off, advisory.count = off, int32(min(n, math.MaxInt32))
	return Borrow(f, func(fd int) error { return unix.FcntlFstore(uintptr(fd), unix.F_RDADVISE, &arg) })
}
