//go:build !linux

package eventlog_test

import (
	"os"
	"testing"

	"go.dw1.io/mmapfile"
)

// mapFile makes a new file of size bytes and maps it.
func mapFile(b *testing.B, name string, size int) (mem []byte, unmap func()) {
	f, err := mmapfile.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600, int64(size))
	must(b, err)
	mem = f.Bytes()
	if len(mem) < size {
		f.Close()
		b.Skip("nothing is mapped here")
	}
	return mem, func() { f.Close() }
}
