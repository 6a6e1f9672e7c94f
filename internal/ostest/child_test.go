package ostest

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"go.dw1.io/mmapfile/internal/account"
	"go.dw1.io/mmapfile/internal/filetest"
)

// TestChildProcess is the entry point of child processes. It tests nothing.
func TestChildProcess(t *testing.T) { filetest.ChildProcess(t) }

func init() {
	filetest.Children["churn"] = childChurn
	if !filetest.AccountIsShipped { // else the files of all tests pay from one account
		account.Unbound()
	}
}

// childChurn truncates, extends and rewrites a file of the pattern, n times.
func childChurn(args []string) error {
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	f, err := os.OpenFile(args[0], os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return err
	}
	return churnFile(f, fi.Size(), n)
}

// churnFile does the same as childChurn to an open file.
func churnFile(f filetest.File, size int64, n int) error {
	whole := filetest.Pattern(int(size))
	for i := range n {
		cut := rand.Int64N(size)
		if i%5 == 0 {
			cut = 0
		}
		if err := f.Truncate(cut); err != nil {
			return err
		}
		if i%2 == 0 {
			if err := f.Truncate(size); err != nil {
				return err
			}
		}
		if i%3 == 0 {
			if _, err := f.WriteAt(whole[cut:], cut); err != nil {
				return err
			}
		}
	}
	return f.Truncate(size)
}
