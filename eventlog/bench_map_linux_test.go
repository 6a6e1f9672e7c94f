package eventlog_test

import (
	"os"
	"syscall"
	"testing"
)

// mapFile makes a new file of size bytes and maps it, as plainly as the published design does.
func mapFile(b *testing.B, name string, size int) (mem []byte, unmap func()) {
	f, err := os.Create(name)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(int64(size)); err != nil {
		b.Fatal(err)
	}
	mem, err = syscall.Mmap(int(f.Fd()), 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		b.Fatal(err)
	}
	return mem, func() { syscall.Munmap(mem) }
}
