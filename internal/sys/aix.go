//go:build aix && !nommap

package sys

import (
	"os"

	"golang.org/x/sys/unix"
)

const (
	flagDirect   = unix.O_DIRECT
	flagDataSync = unix.O_DSYNC
)

// MarkModified does nothing: the system moves the time at msync and at the last unmap.
func MarkModified(*os.File, int64, int64) {}

// StorageOf treats every file as remote: AIX tells remote files in no way that could be
// tested.
func StorageOf(*os.File, bool) Storage { return StorageRemote }
