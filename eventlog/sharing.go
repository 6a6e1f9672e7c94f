package eventlog

import (
	"os"
	"time"
)

// retryShared calls fn, which opens or renames a file, until no other handle excludes it, or some
// 60 ms have passed. On Windows a file cannot be opened while another handle renames or removes it,
// and so not for a moment after a segment has got its name.
func retryShared(fn func() error) error {
	err := fn()
	for pause := time.Millisecond; excluded(err) && pause <= 32*time.Millisecond; pause *= 2 {
		time.Sleep(pause)
		err = fn()
	}
	return err
}

// rename renames a file that another program, such as a virus scanner, may have open for a moment.
func rename(from, to string) error {
	return retryShared(func() error { return os.Rename(from, to) })
}
