//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// killAll has the end of cmd's context also end the processes that cmd has started.
func killAll(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
