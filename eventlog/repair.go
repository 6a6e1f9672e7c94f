package eventlog

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"go.dw1.io/mmapfile/internal/eventfile"
	"go.dw1.io/mmapfile/internal/sys"
)

// Repair truncates the named log at its first damaged event, so that [Open] can open it. All
// events before that stay. What follows, valid events included, is first saved in a file
// beside the log, whose name is that of the log, ".cut-" and the offset. It is durable before
// the log is truncated. The result says what was truncated. Of a log that is not damaged
// Repair does what Open does.
//
// If the header is damaged, events stay as long as they are valid, and all of the file is
// saved. A WriteOffset inside an event is such damage.
//
// Repair is a writer, and takes the lock: see Open, also for its errors. Of a segment it takes
// the lock of the stream, too. A reader that has the log open may have events that Repair truncates:
// touching them ends its process, unless it is in the body of a loop. If there is more than
// 1 GiB of data to save, that is a *[CorruptError]. Holes and pages of zeros do not count.
// Repair may be called concurrently.
func Repair(name string) (Recovery, error) {
	if eventfile.ParseSegmentName(filepath.Base(name)) >= 0 {
		lock, err := lockFile(filepath.Join(filepath.Dir(name), eventfile.LockName), 0)
		if err == nil {
			defer lock.Close()
			defer sys.Unlock(lock)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return Recovery{}, err
		}
	}
	l, err := openLocked(name, Options{}, 0)
	if err != nil {
		return Recovery{}, err
	}
	err = l.recover(true, nil)
	sys.Unlock(l.f)
	err = cmp.Or(err, l.f.Close())
	if err != nil {
		return Recovery{}, l.fail("repair", err)
	}
	return l.recovered, nil
}

// lockFile opens the file lock of a stream, and locks it.
func lockFile(name string, flag int) (*os.File, error) {
	if err := eventfile.CheckRegular(name); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(name, os.O_RDWR|flag, 0o666)
	if err != nil {
		return nil, err
	}
	if err := sys.Lock(f); err != nil {
		f.Close()
		if err == sys.ErrLocked {
			err = ErrLocked
		}
		return nil, openError(filepath.Dir(name), err)
	}
	return f, nil
}
