package eventlog_test

import (
	"encoding/binary"
	"errors"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"go.dw1.io/mmapfile/eventlog"
)

func TestSync_FailureIsKept(t *testing.T) {
	l := open(t, newName(t), eventlog.Options{})
	add(t, l, "durable")
	must(t, l.Sync())
	durable := l.Durable()
	add(t, l, "lost")
	// A pipe in place of the file: it cannot be synced.
	fd := eventlog.Fd(l)
	saved, err := unix.Dup(fd)
	must(t, err)
	r, w, err := os.Pipe()
	must(t, err)
	must(t, unix.Dup3(int(w.Fd()), fd, 0))
	wantError(t, l.Sync(), syscall.EINVAL, "Sync of a pipe")
	must(t, unix.Dup3(saved, fd, 0))
	unix.Close(saved)
	r.Close()
	w.Close()
	// The system may have dropped what the flush was for.
	wantError(t, l.Sync(), syscall.EINVAL, "Sync again")
	if off, err := l.AppendSync([]byte("more")); !errors.Is(err, syscall.EINVAL) || off != durable+20 {
		t.Errorf("AppendSync: %d, %v", off, err)
	}
	if l.Durable() != durable {
		t.Errorf("durable up to %d, want %d", l.Durable(), durable)
	}
	wantError(t, l.Close(), syscall.EINVAL, "Close")
}

// What the writer has appended is durable whatever another program has stored in the header.
func TestSync_OverwrittenHeader(t *testing.T) {
	t.Parallel()
	for _, end := range []uint64{0, 24, 30, 1 << 40} {
		name := newName(t)
		l := open(t, name, eventlog.Options{})
		add(t, l, "durable")
		must(t, l.Sync())
		for range 20 { // some by system call, the others mapped
			add(t, l, "event")
			f, err := os.OpenFile(name, os.O_WRONLY, 0)
			must(t, err)
			must(t, errOf(f.WriteAt(binary.LittleEndian.AppendUint64(nil, end), 0)))
			f.Close()
			if err := l.Sync(); err != nil || l.Durable() != l.Size() {
				t.Fatalf("WriteOffset %d: durable up to %d of %d, %v", end, l.Durable(), l.Size(), err)
			}
		}
		data := []string{"durable"}
		for range 20 {
			data = append(data, "event")
		}
		add(t, l, "last")
		want(t, l.Events(0), append(data, "last")...)
	}
}

// A durable append writes its events and the header: two system calls.
func TestAppendSync_SystemCalls(t *testing.T) {
	if !eventlog.Maps {
		t.Skip("files are not mapped")
	}
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skip("the header is stored through the mapping, see writesWords")
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	writes := func() (n int) {
		b, err := os.ReadFile("/proc/thread-self/io")
		if err != nil {
			t.Skip(err)
		}
		for line := range strings.Lines(string(b)) {
			if v, ok := strings.CutPrefix(line, "syscw: "); ok {
				n, err = strconv.Atoi(strings.TrimSpace(v))
			}
		}
		must(t, err)
		return n
	}
	l := open(t, newName(t), eventlog.Options{})
	p := []byte("event")
	durable := func() {
		t.Helper()
		must(t, errOf(l.AppendBatch(p, p)))
		must(t, l.Sync())
		must(t, errOf(l.AppendSync(p)))
	}
	durable() // which allocates
	const n = 50
	var got int
	for range 5 { // the runtime may write, too, to wake another thread for a timer
		before := writes()
		for range n {
			durable()
		}
		if got = writes() - before; got == 4*n {
			return
		}
	}
	t.Errorf("%d writes for %d batches and %d events, want %d", got, n, n, 4*n)
}
