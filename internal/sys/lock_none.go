//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd || windows)

package sys

import "syscall"

// Lock does nothing. Locks here belong to a process and not to a file (AIX, Solaris), or do
// not exist (Plan 9, js, wasip1).
func Lock(syscall.Conn) error { return nil }

func Unlock(syscall.Conn) {}
