//go:build !windows

package mmapfile

import "os"

func closeInner(f *os.File) error { return f.Close() }
