package eventlog

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"go.dw1.io/mmapfile/internal/sys"
)

// Repair makes a log of the named file that [Open] can open, by cutting it where
// its damage begins: all events before that stay, and everything from there on,
// valid events included, goes into a file beside it, whose name is that of the
// log, ".cut-" and the offset. It does nothing that Open would not do for a log that
// is not damaged. The result says what was cut; the file beside it is durable
// before anything is.
//
// Repair is a writer, and takes the lock: see Open, also for its errors. Where
// the header is damaged, events count as long as they are valid. It may be
// called concurrently.
//
// Where WriteOffset lies within an event, the header is damaged in this sense:
// the events behind it stay, and all of the file is kept beside the log.
func Repair(name string) (Recovery, error) {
	l, err := openLocked(name, Options{}, 0)
	if err != nil {
		return Recovery{}, err
	}
	err = l.recover(true)
	sys.Unlock(l.f)
	if cerr := l.f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return Recovery{}, l.fail("repair", err)
	}
	return l.recovered, nil
}

// keep copies a part of the file into a new one beside it.
func (l *Log) keep(from, to int64) (name string, err error) {
	var out *os.File
	for i := 0; ; i++ {
		name = fmt.Sprintf("%s.cut-%d", l.f.Name(), from)
		if i > 0 {
			name = fmt.Sprintf("%s.%d", name, i)
		}
		out, err = os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrExist) {
			return "", err
		}
	}
	_, err = io.Copy(out, io.NewSectionReader(l.f, from, to-from))
	if err == nil {
		err = out.Sync()
	}
	if cerr := out.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		os.Remove(name)
		return "", err
	}
	syncDir(name)
	return name, nil
}
