package docstest

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"go.dw1.io/mmapfile"
)

// The lock is in a file of its own: the descriptor of the data stays private, and reads and
// writes go through the mapping.
func Example_lock() {
	dir, err := os.MkdirTemp("", "lock")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "data")
	open := func() (lock *os.File, f *mmapfile.File, err error) {
		lock, err = os.OpenFile(name+".lock", os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, nil, err
		}
		if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
			lock.Close()
			return nil, nil, err
		}
		f, err = mmapfile.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
		return lock, f, err
	}
	lock, f, err := open()
	if err != nil {
		panic(err)
	}
	defer lock.Close()
	defer f.Close()
	_, _, err = open()
	fmt.Println(err)
	// Output: resource temporarily unavailable
}
