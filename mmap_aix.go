//go:build aix && !nommap

package mmapfile

import (
	"os"

	"golang.org/x/sys/unix"
)

const (
	directFlag = unix.O_DIRECT
	syncFlag   = unix.O_DSYNC
)

// touch leaves the time to the system, which moves it at msync and at the last unmap.
func touch(*os.File) {}

func keepsHoles(*os.File) (kept, sparse bool) { return false, false }
