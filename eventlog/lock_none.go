//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd || windows)

package eventlog

import "go.dw1.io/mmapfile"

// lock does nothing: there is no lock here that is a file's, not a process's
// (AIX, Solaris), or none at all (Plan 9, js, wasip1).
func lock(*mmapfile.File) error { return nil }

func unlock(*mmapfile.File) {}
