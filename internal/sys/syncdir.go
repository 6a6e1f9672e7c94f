package sys

import (
	"errors"
	"io/fs"
	"os"
)

// SyncDir makes the names in a directory durable, if the system can do that. One that the
// process may not read cannot be synced. Module raftlog uses SyncDir, too.
func SyncDir(name string) error {
	dir, err := os.Open(name)
	if errors.Is(err, fs.ErrPermission) {
		return nil
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	return SyncNames(dir)
}

// SyncNames is [SyncDir] for a directory that is open.
func SyncNames(dir *os.File) error {
	err := dir.Sync()
	if err != nil && !errors.Is(err, os.ErrClosed) && cannotSyncNames(err) {
		return nil
	}
	return err
}
