package eventlog_test

import (
	"errors"
	"os"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"go.dw1.io/mmapfile/eventlog"
)

func TestSync_FailureIsKept(t *testing.T) {
	l := open(t, newName(t), eventlog.Options{})
	add(t, l, "durable")
	if err := l.Sync(); err != nil {
		t.Fatal(err)
	}
	durable := l.Durable()
	add(t, l, "lost")
	// A pipe in place of the file: it cannot be synced.
	fd := eventlog.Fd(l)
	saved, err := unix.Dup(fd)
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Dup3(int(w.Fd()), fd, 0); err != nil {
		t.Fatal(err)
	}
	if err := l.Sync(); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("Sync of a pipe: %v", err)
	}
	if err := unix.Dup3(saved, fd, 0); err != nil {
		t.Fatal(err)
	}
	unix.Close(saved)
	r.Close()
	w.Close()
	// The system may have dropped what the flush was for.
	if err := l.Sync(); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("Sync again: %v", err)
	}
	if off, err := l.AppendSync([]byte("more")); !errors.Is(err, syscall.EINVAL) || off != durable+20 {
		t.Errorf("AppendSync: %d, %v", off, err)
	}
	if l.Durable() != durable {
		t.Errorf("durable up to %d, want %d", l.Durable(), durable)
	}
	if err := l.Close(); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("Close: %v", err)
	}
}
