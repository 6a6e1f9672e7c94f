//go:build unix

package live

import "syscall"

// nonblock is the flag by which opening a FIFO does not wait for a writer. It changes nothing for a
// regular file.
const nonblock = syscall.O_NONBLOCK
