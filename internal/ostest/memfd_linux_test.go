package ostest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/filetest"
)

// newMemfd returns the descriptor of a memfd that may be sealed, with a pattern of two pages.
func newMemfd(t *testing.T) int {
	t.Helper()
	fd, err := unix.MemfdCreate("mmapfile", unix.MFD_ALLOW_SEALING|unix.MFD_CLOEXEC)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	if _, err := unix.Write(fd, filetest.Pattern(2*int(page))); err != nil {
		t.Fatal(err)
	}
	return fd
}

// memfdOpens opens a memfd in each way, the descriptor of which stays open.
var memfdOpens = map[string]func(fd int) (*mmapfile.File, error){
	"NewFile": func(fd int) (*mmapfile.File, error) {
		own, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
		return mmapfile.NewFile(uintptr(own), "memfd"), err
	},
	"Open": func(fd int) (*mmapfile.File, error) { return mmapfile.Open(fmt.Sprint("/proc/self/fd/", fd)) },
	"OpenFile": func(fd int) (*mmapfile.File, error) {
		return mmapfile.OpenFile(fmt.Sprint("/proc/self/fd/", fd), os.O_RDWR, 0)
	},
}

// callOften reads and writes the first page of f until it is mapped, if it may be.
func callOften(t *testing.T, f *mmapfile.File, write bool) {
	t.Helper()
	b := make([]byte, 10)
	for range 300 {
		_, err := f.ReadAt(b, 100)
		if write && err == nil {
			_, err = f.WriteAt(b, 100)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A mapping of a memfd that is open for writing makes F_SEAL_WRITE fail with EBUSY. Calls do not
// make one.
func TestReadAt_MemfdSealedLater(t *testing.T) {
	filetest.NeedsGain(t)
	t.Parallel()
	for how, open := range memfdOpens {
		for _, write := range []bool{false, true} {
			if how == "Open" && write {
				continue
			}
			fd := newMemfd(t)
			f, err := open(fd)
			if err != nil {
				t.Fatal(err)
			}
			callOften(t, f, write)
			if how == "Open" && filetest.Mapped(f) != filetest.CanMap {
				t.Error("a memfd open for reading is not mapped")
			}
			if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_WRITE); err != nil {
				t.Errorf("%s, write %v: F_SEAL_WRITE: %v", how, write, err)
			}
			f.Close()
		}
	}
}

// What cannot be sealed any more, or is sealed against writes, is mapped.
func TestReadAt_SealedMemfdMapped(t *testing.T) {
	filetest.NeedsGain(t)
	t.Parallel()
	for _, seal := range []int{unix.F_SEAL_SEAL, unix.F_SEAL_WRITE} {
		for how, open := range memfdOpens {
			fd := newMemfd(t)
			if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seal); err != nil {
				t.Fatal(err)
			}
			f, err := open(fd)
			if err != nil {
				t.Fatal(err)
			}
			callOften(t, f, false)
			if filetest.Mapped(f) != filetest.CanMap && !(seal == unix.F_SEAL_WRITE && how != "Open") { // Linux before 6.7 refuses to map it
				t.Errorf("%s with seal %d: mapped %v", how, seal, filetest.Mapped(f))
			}
			f.Close()
		}
	}
}

// A caller that asks for memory gets it, and the mapping is in the way of the seal as its own
// would be.
func TestBytes_Memfd(t *testing.T) {
	t.Parallel()
	for how, open := range memfdOpens {
		f, err := open(newMemfd(t))
		if err != nil {
			t.Fatal(err)
		}
		filetest.SameBytes(t, how, f.Bytes(), filetest.Pattern(2*int(page)))
		if filetest.Mapped(f) != filetest.CanMap {
			t.Errorf("%s: not mapped", how)
		}
		f.Close()
		if f, err = open(newMemfd(t)); err != nil {
			t.Fatal(err)
		}
		err = f.View(0, page, func(p []byte) error {
			filetest.SameBytes(t, how, p, filetest.Pattern(int(page)))
			return nil
		})
		if err != nil || filetest.Mapped(f) != filetest.CanMap {
			t.Errorf("%s: View: %v", how, err)
		}
		f.Close()
	}
}

// A tmpfs file has F_SEAL_SEAL, so other code may have opened it as well.
func TestNew_TmpfsMapped(t *testing.T) {
	filetest.NeedsGain(t)
	t.Parallel()
	name := filepath.Join(tmpfs(t), "data")
	filetest.Write(t, name, filetest.Pattern(2*int(page)))
	inner, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	f, err := mmapfile.New(inner)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	callOften(t, f, false)
	if filetest.Mapped(f) != filetest.CanMap {
		t.Error("not mapped")
	}
	callOften(t, f, true)
}

// tmpfs returns a directory on a tmpfs.
func tmpfs(t *testing.T) string {
	t.Helper()
	var fs unix.Statfs_t
	if err := unix.Statfs("/dev/shm", &fs); err != nil || fs.Type != unix.TMPFS_MAGIC {
		return filetest.SmallDisk(t)
	}
	dir, err := os.MkdirTemp("/dev/shm", "mmapfile-test-")
	if errors.Is(err, os.ErrPermission) {
		return filetest.SmallDisk(t)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
