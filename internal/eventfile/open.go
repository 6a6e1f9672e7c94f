package eventfile

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"go.dw1.io/mmapfile/internal/logdisk"
)

// Open opens a regular file. For any other file it returns [errors.ErrUnsupported].
func Open(name string, flag int) (logdisk.File, error) {
	if fi, err := logdisk.Stat(name); err == nil && !fi.Mode().IsRegular() { // opening a pipe may block
		return nil, &fs.PathError{Op: "open", Path: name, Err: errors.ErrUnsupported}
	}
	return logdisk.OpenFile(name, flag, 0o666)
}

// State is what a file says about its events without one of them.
type State struct {
	Header       // zero if there is none yet
	Size   int64 // of the file
	Closed bool  // it was closed in order, so all events are durable
}

// ReadState returns the state of a log.
func ReadState(name string) (s State, err error) {
	f, err := Open(name, os.O_RDONLY)
	if err != nil {
		return s, err
	}
	defer f.Close()
	return StateOf(f)
}

// StateOf returns the state of an open log.
func StateOf(f logdisk.File) (s State, err error) {
	fi, err := f.Stat()
	if err != nil {
		return s, err
	}
	var b [HeaderSize]byte
	if n, err := f.ReadAt(b[:], 0); err == nil {
		s.Header = ParseHeader(b[:n])
	} else if err != io.EOF {
		return s, err
	}
	s.Size = fi.Size()
	s.Closed = s.closed(f, s.Size)
	return s, nil
}

// OpenStored prepares a log for its next writer, and returns its state before. If the log was not closed in
// order, a flush of it may have failed: then the page cache has events that the disk does not have, and
// a further flush does not write them. So OpenStored flushes the file, and drops its pages before
// this process maps it. The error may be that of an earlier flush. If pages stay, because another process
// maps them, only the reader that OpenStored returns is to be believed; it is nil otherwise.
// What has no event there must be truncated before it is written: to write these pages again
// and flush them does not allocate their blocks (Linux 6.18, ext4). With keep the header that readers may have seen is
// made durable first: if this writer is killed, the next one knows it.
func OpenStored(f logdisk.File, keep bool) (seen State, stored logdisk.Stored, err error) {
	seen, err = StateOf(f)
	if err == nil && keep && seen.Valid(seen.Size) && !seen.Closed {
		_, err = f.WriteAt(seen.Bytes(), 0)
	}
	if err == nil && seen.Size > 0 && !seen.Closed {
		stored, err = f.Stored()
	}
	return seen, stored, err
}

// OnDisk returns f, or a file that reads what the disk has, if OpenStored has returned a reader of that.
func OnDisk(f logdisk.File, stored logdisk.Stored) logdisk.File {
	if stored == nil {
		return f
	}
	return onDisk{f, stored}
}

type onDisk struct {
	logdisk.File
	stored logdisk.Stored
}

func (f onDisk) ReadAt(p []byte, off int64) (int, error) { return f.stored.ReadAt(p, off) }
func (f onDisk) Memory() []byte                          { return nil }

// SetEnd sets WriteOffset and EventCount of a segment, durably, and marks it closed. No byte of an event
// changes: a reader may have one after the end, which TruncateBack has removed.
func SetEnd(name string, end, count int64) error {
	f, err := Open(name, os.O_RDWR)
	if err != nil {
		return err
	}
	defer f.Close()
	s, err := StateOf(f)
	if err != nil {
		return err
	}
	s.End, s.Count = end, count
	f.Memory()                                                   // OpenBSD shows readers what is stored to a mapping
	if _, err := f.WriteAt(s.Bytes()[:AtStart], 0); err != nil { // see writesWords of eventlog: readers load the offset as one word
		return err
	}
	if err := f.FlushData(); err != nil {
		return err
	}
	return Close(f, s.Header, s.Size)
}
