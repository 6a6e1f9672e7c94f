package eventlog

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"go.dw1.io/mmapfile/internal/eventfile"
	"go.dw1.io/mmapfile/internal/logdisk"
)

// Repair truncates the named log at its first damaged event, so that [Open] can open it. All
// events before that stay. It first saves what follows, valid events included, in a file
// beside the log, whose name is that of the log, ".cut-" and the offset; that file is durable
// before the log is truncated. The result says what was truncated. A log that is not damaged
// is treated as by Open.
//
// If the header is damaged, events stay as long as they are valid, and the whole file is
// saved. A WriteOffset inside an event is such damage.
//
// Repair is a writer, and takes the lock of the log, and of the stream if the log is a
// segment: see Open, also for the errors. It may be called concurrently. A reader that has the
// log open may have events that Repair truncates: an access to them ends its process, unless
// it is in the body of a loop. If there is more than 1 GiB of data to save, without holes and
// pages of zeros, Repair returns a *[CorruptError].
func Repair(name string) (Recovery, error) {
	if eventfile.ParseSegmentName(filepath.Base(name)) >= 0 {
		dir := filepath.Dir(name)
		lock, err := lockFile(filepath.Join(dir, eventfile.LockName), dir, 0)
		if err == nil {
			defer lock.Close()
			defer lock.Unlock()
		} else if !errors.Is(err, fs.ErrNotExist) {
			return Recovery{}, err
		}
	}
	l, err := openLocked(name, Options{}, 0)
	if err != nil {
		return Recovery{}, err
	}
	if err = l.recover(l.examine(eventfile.Rules{Repair: true})); err == nil {
		err = l.mark()
	}
	if err = cmp.Or(err, l.release()); err != nil {
		return Recovery{}, l.fail("repair", err)
	}
	return l.recovered, nil
}

// lockFile opens a file, and locks it. path is that of the error if another writer has the lock.
func lockFile(name, path string, flag int) (logdisk.File, error) {
	f, err := eventfile.Open(name, os.O_RDWR|flag)
	if err != nil {
		return nil, err
	}
	if err := f.Lock(); err != nil {
		f.Close()
		if err == logdisk.ErrLocked {
			err = ErrLocked
		}
		return nil, openError(path, err)
	}
	return f, nil
}
