//go:build unix

package live

import "syscall"

// nonblock is the flag by which opening a FIFO does not wait for a writer. A regular file on which
// another process holds a write lease gives EAGAIN, and is opened at a later look.
const nonblock = syscall.O_NONBLOCK
