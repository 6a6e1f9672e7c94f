//go:build solaris && !nommap

package mmapfile

import "os"

// storageOf takes every file for remote: which are is not told in a way that we could test.
func storageOf(*os.File) storage { return storageRemote }
