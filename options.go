package mmapfile

import (
	"io/fs"
	"os"
)

// Options is what does not fit into the flags of an open call. The zero value
// is what [OpenFile] does without a size.
type Options struct {
	// Size in bytes is what OpenFile takes as its last argument: a file that is
	// shorter becomes so long, with its blocks allocated.
	Size int64

	// Private makes a copy on write of the file. What is written, by any method
	// or into its memory, is seen through this File alone, and gone with Close:
	// the file never changes, and is opened for reading only.
	//
	// Such a File has the length that the file had when it was opened. Writing
	// past that, Truncate and O_APPEND are [errors.ErrUnsupported], and so is
	// what is not a regular file; O_WRONLY and O_TRUNC are [fs.ErrInvalid].
	// O_CREATE makes an empty file where there is none. Sync and SyncRange do
	// nothing, and Flush says nothing. SyscallConn is errors.ErrUnsupported,
	// since system calls see the file as it is on the disk; Fd and OS give that
	// file.
	//
	// The system says whether a page that was not written shows what another
	// process writes to the file later (mmap(2), MAP_PRIVATE). When another process
	// truncates the file, this File ends at the new end, too. When the file is
	// extended again, each byte after that end is one of the file or an own change
	// from before: the system says which. Linux keeps the changes in the page that
	// the end was in, and drops the others.
	Private bool

	// Flush says when written bytes are made durable without a call of Sync. It
	// says nothing for a file that is open for reading only, nor for a pipe, a
	// socket, a character device or a directory.
	Flush FlushPolicy
}

// OpenFile is [OpenFile] with what o says: name, flag, perm, the errors and the rest
// are as there. What o does not allow for is a *[fs.PathError] with Op "open" and
// [fs.ErrInvalid], a negative number for one, or [errors.ErrUnsupported].
func (o Options) OpenFile(name string, flag int, perm fs.FileMode) (*File, error) {
	if o.Size < 0 || o.Flush.Bytes < 0 || o.Flush.Interval < 0 {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	if o.Private {
		return openPrivate(name, flag, perm, o.Size)
	}
	f, err := OpenFile(name, flag, perm, o.Size)
	if err == nil && o.Flush != (FlushPolicy{}) && flag&(os.O_WRONLY|os.O_RDWR) != 0 && flushable(f.inner) {
		f.flusher = newFlusher(f.file, o.Flush)
	}
	return f, err
}

// flushable reports whether there is something to be durable about f.
func flushable(f *os.File) bool {
	const never = fs.ModeDir | fs.ModeNamedPipe | fs.ModeSocket | fs.ModeCharDevice
	fi, err := f.Stat()
	return err == nil && fi.Mode()&never == 0
}
