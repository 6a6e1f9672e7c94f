//go:build unix

package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// waitUnread returns once out is a pipe or socket that is not read any more, as
// that of `events follow FILE | head -1` is. A write would tell, but only with the next event.
func waitUnread(out *os.File) {
	fds := []unix.PollFd{{Fd: int32(out.Fd())}} // Poll always reports errors
	for fds[0].Revents&(unix.POLLERR|unix.POLLHUP|unix.POLLNVAL) == 0 {
		if _, err := unix.Poll(fds, -1); err != nil && err != unix.EINTR {
			select {}
		}
	}
}
