package logdisk

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// excluded reports whether err may pass once another handle of the file is closed. A file that was
// removed while it was open denies access until then.
func excluded(err error) bool {
	return errors.Is(err, windows.ERROR_SHARING_VIOLATION) || errors.Is(err, windows.ERROR_ACCESS_DENIED)
}

// stat is os.Stat, but the result says at once which file it is. os.SameFile opens the file for that, by name, and
// shares it with no other handle, which wine refuses for a file that is mapped.
func stat(name string) (fs.FileInfo, error) {
	fi, err := os.Stat(name)
	if err != nil || !fi.Mode().IsRegular() && !fi.IsDir() {
		return fi, err
	}
	f, err := os.Open(name)
	if err != nil {
		return fi, nil
	}
	defer f.Close()
	return f.Stat()
}
