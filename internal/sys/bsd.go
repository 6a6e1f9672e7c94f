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

// StorageOf uses the flags of the mount, and the name of the file system.
func StorageOf(f *os.File, _ bool) Storage {
	s := StorageRemote
	Borrow(f, func(fd int) error {
		if m, err := mountOf(fd); err == nil {
			s = m.storage()
		}
		return nil
	})
	return s
}

// mount is what a system tells of the mount of a file.
type mount struct {
	local  bool
	sync   bool   // every write is durable when it returns
	fsType string // if the system tells it
}

func (m mount) storage() Storage {
	switch {
	case !m.local:
		return StorageRemote
	case m.sync:
		return StorageLocal | StorageSync | StorageNoWrites
	case m.fsType == "apfs", m.fsType == "zfs":
		// APFS needs space for each overwrite, and ZFS looks for it when it writes back: a mapped
		// write has no ENOSPC.
		return StorageLocal | StorageNoWrites
	}
	return StorageLocal
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
