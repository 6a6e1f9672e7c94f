//go:build unix && !openbsd && !nommap

package sys

import "golang.org/x/sys/unix"

// AddressSpace returns how many bytes of address space the process may have, or 0 if there
// is no limit.
func AddressSpace() int64 {
	var r unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_AS, &r) != nil || uint64(r.Cur) > 1<<62 {
		return 0
	}
	return max(int64(r.Cur), 1)
}
