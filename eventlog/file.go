package eventlog

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"runtime/debug"
	"sync/atomic"
	"syscall"

	"go.dw1.io/mmapfile/internal/eventfile"
	"go.dw1.io/mmapfile/internal/guard"
	"go.dw1.io/mmapfile/internal/logdisk"
)

var le = binary.LittleEndian

// logFile is the file of a Log, a Reader or a segment, open with the memory that it has mapped.
type logFile struct {
	f logdisk.File

	// mu is held for reading while a goroutine uses the mapped memory, since not every
	// platform can reserve the addresses once they are unmapped, and for writing by Close.
	mu    logdisk.RWMutex
	ended atomic.Bool // closed, or about to be: iterators yield no more events
}

// fail returns err as os would.
func (lf *logFile) fail(op string, err error) error {
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		err = pe.Err
	}
	return &fs.PathError{Op: op, Path: lf.f.Name(), Err: err}
}

// whileOpen calls fn while the file cannot be closed. fn calls no function of the caller.
// A page fault in it is an error.
func (lf *logFile) whileOpen(op string, fn func() error) (err error) {
	lf.mu.RLock()
	defer lf.mu.RUnlock()
	if lf.ended.Load() {
		return lf.fail(op, os.ErrClosed)
	}
	old := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(old)
		if r := recover(); r != nil {
			if !guard.IsFault(r, true) {
				panic(r)
			}
			err = lf.fail(op, lf.faultCause())
		}
	}()
	return fn()
}

// close closes the file once no goroutine uses its memory.
func (lf *logFile) close() error {
	lf.ended.Store(true)
	lf.mu.Lock()
	defer lf.mu.Unlock()
	return lf.f.Close()
}

// faultCause returns why the memory of the file could not be touched: nearly always because
// the file was truncated.
func (lf *logFile) faultCause() error {
	st, err := eventfile.StateOf(lf.f)
	switch {
	case errors.Is(err, os.ErrClosed):
		return os.ErrClosed
	case err == nil && eventfile.HeaderSize <= st.End && st.End <= st.Size:
		return syscall.EIO
	}
	return io.ErrUnexpectedEOF
}

// size asks the file for its length.
func (lf *logFile) size() (int64, error) {
	fi, err := lf.f.Stat()
	if err != nil {
		return 0, err
	}
	return fi.Size(), nil
}

// closeStored closes what OpenStored has returned.
func closeStored(s logdisk.Stored) {
	if s != nil {
		s.Close()
	}
}

// wait returns once a channel is closed.
func wait(c <-chan struct{}) { logdisk.Wait(context.Background(), c) }
