//go:build unix

package main

import (
	"os/signal"
	"syscall"
)

func init() {
	if !signal.Ignored(syscall.SIGHUP) { // nohup has it ignored
		signals = append(signals, syscall.SIGHUP)
	}
	signal.Ignore(syscall.SIGPIPE) // the write returns an error instead
}
