//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd || windows)

package logdisk

import "syscall"

// lock does nothing. Locks here belong to a process and not to a file (AIX, Solaris), or do
// not exist (Plan 9, js, wasip1).
func lock(syscall.Conn) error { return nil }

func unlock(syscall.Conn) {}
