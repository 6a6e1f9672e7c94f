package eventlog

import "go.dw1.io/mmapfile/internal/sys"

// Repair truncates the named log at its first damaged event, so that [Open] can open it. All
// events before that stay. What follows, valid events included, is first saved in a file
// beside the log, whose name is that of the log, ".cut-" and the offset. It is durable before
// the log is truncated. The result says what was truncated. Of a log that is not damaged
// Repair does what Open does.
//
// If the header is damaged, events stay as long as they are valid, and all of the file is
// saved. A WriteOffset inside an event is such damage.
//
// Repair is a writer, and takes the lock: see Open, also for its errors. If there is more than
// 1 GiB of data to save, that is a *[CorruptError]. Holes and pages of zeros do not count.
// Repair may be called concurrently.
func Repair(name string) (Recovery, error) {
	l, err := openLocked(name, Options{}, 0)
	if err != nil {
		return Recovery{}, err
	}
	err = l.recover(true, nil)
	sys.Unlock(l.f)
	if cerr := l.f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return Recovery{}, l.fail("repair", err)
	}
	return l.recovered, nil
}
