package main

import (
	"errors"
	"io"
	"strings"
)

// brokenPipe reports whether err is that of an output that is not read any more: the system
// has no number for it.
func brokenPipe(err error) bool {
	return errors.Is(err, io.ErrClosedPipe) || err != nil && strings.Contains(err.Error(), "closed pipe")
}

// ignorePipe does nothing: a write to a broken pipe returns an error.
func ignorePipe() {}
