package eventlog_test

import (
	"os"
	"syscall"
	"testing"
)

// mapFile makes a new file of size bytes and maps it, as plainly as the published design does.
func mapFile(b *testing.B, name string, size int) (mem []byte, unmap func()) {
	f, err := os.Create(name)
	must(b, err)
	defer f.Close()
	must(b, f.Truncate(int64(size)))
	mem, err = syscall.Mmap(int(f.Fd()), 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	must(b, err)
	return mem, func() { syscall.Munmap(mem) }
}
