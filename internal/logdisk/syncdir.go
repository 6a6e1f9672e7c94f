package logdisk

import (
	"errors"
	"io/fs"
	"os"
)

// SyncDir makes the names in a directory durable, if the system can do that. One that the
// process may not read cannot be synced.
func SyncDir(name string) error {
	dir, err := OpenFile(name, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrPermission) {
		return nil
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.SyncNames()
}

func syncNames(dir *os.File) error {
	err := dir.Sync()
	if err != nil && !errors.Is(err, os.ErrClosed) && cannotSyncNames(err) {
		return nil
	}
	return err
}
