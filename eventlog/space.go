package eventlog

import (
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"syscall"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/eventfile"
	"go.dw1.io/mmapfile/internal/guard"
)

var le = binary.LittleEndian

// space is the file of a Log or a Reader.
type space struct {
	f *mmapfile.File

	// mu is held for reading while a goroutine uses the mapped memory, since not every
	// platform can reserve the addresses once they are unmapped, and for writing by Close.
	mu    sync.RWMutex
	ended atomic.Bool // closed, or about to be: iterators yield no event any more
}

// fail returns err as os would.
func (s *space) fail(op string, err error) error {
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		err = pe.Err
	}
	return &fs.PathError{Op: op, Path: s.f.Name(), Err: err}
}

// inside calls fn while the file cannot be closed. fn calls no function of the caller's.
// A page fault in it is an error.
func (s *space) inside(op string, fn func() error) (err error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.ended.Load() {
		return s.fail(op, os.ErrClosed)
	}
	old := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(old)
		if r := recover(); r != nil {
			if !guard.IsFault(r, true) {
				panic(r)
			}
			err = s.fail(op, s.faultCause())
		}
	}()
	return fn()
}

// close closes the file once no goroutine uses its memory.
func (s *space) close() error {
	s.ended.Store(true)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.f.Close()
}

// truncate truncates the file once no goroutine uses its memory: Windows unmaps it for that.
func (s *space) truncate(size int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.f.Truncate(size)
}

// faultCause returns why the memory of the file could not be touched: nearly always because
// the file was truncated.
func (s *space) faultCause() error {
	src := eventfile.Source{File: s.f}
	end, err := src.ReadEnd()
	if errors.Is(err, os.ErrClosed) {
		return os.ErrClosed
	}
	if size, serr := s.size(); err == nil && serr == nil && eventfile.HeaderSize <= end && end <= size {
		return syscall.EIO
	}
	return io.ErrUnexpectedEOF
}

// size asks the file for its length.
func (s *space) size() (int64, error) {
	fi, err := s.f.Stat()
	if err != nil {
		return 0, err
	}
	return fi.Size(), nil
}
