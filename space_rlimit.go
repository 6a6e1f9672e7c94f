//go:build unix && !openbsd && !nommap

package mmapfile

import "golang.org/x/sys/unix"

// addressSpace returns how many bytes of address space the process may have, or
// 0 where there is no limit.
func addressSpace() int64 {
	var r unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_AS, &r) != nil || uint64(r.Cur) > 1<<62 {
		return 0
	}
	return max(int64(r.Cur), 1)
}
