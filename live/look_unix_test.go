//go:build unix

package live

import (
	"errors"
	"io/fs"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/filetest"
)

// A FIFO or a directory that takes the name between a look and the open is neither waited for nor
// loaded.
func TestLook_NotRegularMeanwhile(t *testing.T) {
	t.Parallel()
	filetest.NeedThreads(t)
	var other atomic.Int32
	o := Options[words]{Interval: time.Microsecond, Settle: -1}
	v, name := open(t, o, func(f *mmapfile.File) (words, error) {
		if fi, err := f.Stat(); err == nil && !fi.Mode().IsRegular() {
			other.Add(1)
		}
		return load(f)
	})
	point := func(to string) {
		if err := errors.Join(os.Symlink(to, name+".link"), os.Rename(name+".link", name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Mkfifo(name+".fifo", 0o600); err != nil {
		t.Skip(err)
	}
	if err := os.Mkdir(name+".dir", 0o700); err != nil {
		t.Fatal(err)
	}
	within(t, func() {
		for n := range filetest.Iterations(500) {
			for _, to := range []string{".fifo", ".dir"} {
				point(name + to)
				filetest.Write(t, name+".new", content(uint64(n)))
				if err := os.Rename(name+".new", name); err != nil {
					t.Fatal(err)
				}
			}
		}
		v.Close()
	})
	if n := other.Load(); n != 0 {
		t.Errorf("load got %d files that are not regular", n)
	}
	if _, err := manual().Open(name+".fifo", load); !errors.Is(err, fs.ErrInvalid) {
		t.Error(err)
	}
}
