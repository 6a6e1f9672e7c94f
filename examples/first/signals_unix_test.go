//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"
	"testing"
)

func TestMain_Hangup(t *testing.T) {
	if signal.Ignored(syscall.SIGHUP) {
		t.Skip("the tests run with nohup, and so does the program")
	}
	testSignal(t, syscall.SIGHUP)
}

// What reads its output may end first. Then the program fails, and still removes what it made.
func TestMain_BrokenPipe(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	dir := tempDir(t)
	cmd := program(t, dir)
	cmd.Stdout, cmd.Stderr = w, w
	err = cmd.Start()
	w.Close()
	r.Close()
	if err != nil {
		t.Skip("this program cannot be started: ", err)
	}
	if cmd.Wait(); cmd.ProcessState.ExitCode() != 1 {
		t.Error(cmd.ProcessState)
	}
	wantEmpty(t, dir)
}

func TestMain_StdoutFull(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	cmd := program(t, tempDir(t), smallFile(t, 1000))
	cmd.Stdout = full
	err = cmd.Run()
	if cmd.ProcessState == nil {
		t.Skip("this program cannot be started: ", err)
	}
	if cmd.ProcessState.ExitCode() != 1 {
		t.Error(cmd.ProcessState)
	}
}
