package live

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"go.dw1.io/mmapfile"
)

// copyOf copies src to a file of its own, and opens it with o. If the system does not remove a
// file that is open, remove is its name, and else empty.
func copyOf(src *mmapfile.File, o mmapfile.Options) (f *mmapfile.File, remove string, err error) {
	tmp, err := os.CreateTemp("", "live-")
	if err != nil {
		var pe *fs.PathError
		if errors.As(err, &pe) {
			err = withoutName(err, pe.Path)
		}
		return nil, "", err
	}
	remove = tmp.Name()
	defer func() { err = withoutName(err, tmp.Name()) }()
	_, err = io.Copy(tmp, src)
	if err = errors.Join(err, tmp.Close()); err == nil {
		o.Immutable = true // so it is mapped wherever the directory is
		f, err = o.OpenFile(remove, os.O_RDONLY, 0)
	}
	if os.Remove(remove) == nil {
		remove = ""
	}
	return f, remove, err
}

// copyError is an error whose text may have the name of a copy.
type copyError struct {
	error
	name string
}

// withoutName returns err with a text that is the same for each copy: copies have random names.
func withoutName(err error, name string) error {
	if err == nil {
		return nil
	}
	return copyError{err, name}
}

func (e copyError) Error() string {
	return strings.ReplaceAll(e.error.Error(), e.name, filepath.Join(filepath.Dir(e.name), "live-*"))
}

func (e copyError) Unwrap() error { return e.error }
