package eventfile

import (
	"errors"

	"golang.org/x/sys/windows"
)

// excluded reports whether err may pass once another handle of the file is closed. A file that was
// removed while it was open denies access until then.
func excluded(err error) bool {
	return errors.Is(err, windows.ERROR_SHARING_VIOLATION) || errors.Is(err, windows.ERROR_ACCESS_DENIED)
}
