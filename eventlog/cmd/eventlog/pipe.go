//go:build !plan9

package main

import (
	"errors"
	"io"
	"os/signal"
	"runtime"
	"syscall"
)

// brokenPipe reports whether err is that of an output that is not read any more. On Windows
// that is ERROR_BROKEN_PIPE or ERROR_NO_DATA.
func brokenPipe(err error) bool {
	code := syscall.Errno(0)
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) ||
		runtime.GOOS == "windows" && errors.As(err, &code) && (code == 109 || code == 232)
}

// ignorePipe has a write to a broken pipe return an error: SIGPIPE, which is 13 on all systems
// that have it, would end the program.
func ignorePipe() { signal.Ignore(syscall.Signal(13)) }
