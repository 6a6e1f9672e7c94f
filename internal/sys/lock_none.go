//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd || windows)

package sys

import "syscall"

// Lock does nothing: there is no lock here that is a file's, not a process's
// (AIX, Solaris), or none at all (Plan 9, js, wasip1).
func Lock(syscall.Conn) error { return nil }

func Unlock(syscall.Conn) {}
