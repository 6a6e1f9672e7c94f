//go:build (darwin || dragonfly || freebsd || netbsd || openbsd || solaris) && !nommap

package sys

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// Flags that only some of these systems have, from their fcntl.h.
var (
	flagDirect = map[string]int{
		"dragonfly": 0x10000, "freebsd": 0x10000, "netbsd": 0x80000, "solaris": 0x2000000, "illumos": 0x2000000,
	}[runtime.GOOS]
	flagDataSync = map[string]int{
		"darwin": 0x400000, "ios": 0x400000, "freebsd": 0x1000000, "netbsd": 0x10000, "openbsd": 0x80, "solaris": 0x40, "illumos": 0x40,
	}[runtime.GOOS]
)

// StorageOf uses the flags of the mount.
func StorageOf(f *os.File) Storage {
	kind := StorageRemote
	Borrow(f, func(fd int) error {
		if mountedLocally(fd) {
			kind = StorageLocal
		}
		return nil
	})
	return kind
}

// MarkModified sets f's times to now, which futimes(2) allows with the right to write the
// file. before is the modification time that the last write through the kernel has left. If
// the present one differs, and is not the change time, a program has set it, and it stands.
func MarkModified(f *os.File, before, _ int64) {
	Borrow(f, func(fd int) error {
		var st unix.Stat_t
		if unix.Fstat(fd, &st) == nil && (st.Mtim.Nano() == before || st.Mtim == st.Ctim) {
			return unix.Futimes(fd, nil)
		}
		return nil
	})
}
