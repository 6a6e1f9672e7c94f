package filetest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ThinDisk is a file system on a loop device whose image is on a small tmpfs: when that is full, the
// device fails to write what was not written before.
type ThinDisk struct {
	Dir string

	t                      *testing.T
	fs, device, image, pad string
}

// NewThinDisk mounts an ext4 with blocks of this size, or an xfs. It skips the test where it cannot.
func NewThinDisk(t *testing.T, fs, block string) *ThinDisk {
	t.Helper()
	below := Tmpfs(t, "600m")
	if _, err := exec.LookPath("mkfs." + fs); err != nil {
		t.Skip("there is no mkfs.", fs)
	}
	image := filepath.Join(below, "image")
	d := &ThinDisk{Dir: t.TempDir(), t: t, fs: fs, image: image, pad: filepath.Join(below, "pad")}
	Write(t, image, nil)
	if err := os.Truncate(image, 400<<20); err != nil { // xfs needs 300 MB
		t.Fatal(err)
	}
	args := map[string][]string{"ext4": {"-q", "-b", block, "-E", "lazy_itable_init=0,lazy_journal_init=0,nodiscard"}, "xfs": {"-q", "-K"}}[fs]
	d.run("mkfs."+fs, append(args, image)...)
	out, err := exec.Command("losetup", "--find", "--show", image).Output()
	if err != nil {
		t.Skip("there is no loop device: ", err)
	}
	d.device = strings.TrimSpace(string(out))
	t.Cleanup(func() {
		syscall.Unmount(d.Dir, syscall.MNT_DETACH)
		exec.Command("losetup", "--detach", d.device).Run()
	})
	f, err := os.OpenFile(image, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(syscall.Fallocate(int(f.Fd()), 0, 0, 400<<20), f.Close()) // the journal and all tables
	if err != nil {
		t.Fatal(err)
	}
	// The driver takes a request of which a part was written for written: so each has one page.
	Write(t, filepath.Join("/sys/block", filepath.Base(d.device), "queue/max_sectors_kb"), []byte("4"))
	d.mount()
	d.run("fstrim", d.Dir) // no free block of the file system has one in the image
	var st syscall.Statfs_t
	if err := syscall.Statfs(below, &st); err != nil {
		t.Fatal(err)
	}
	size := int64(st.Blocks-st.Bfree)*int64(st.Bsize) + 64<<20 // Fill writes all that is free
	if err := syscall.Mount("", below, "", syscall.MS_REMOUNT, fmt.Sprint("size=", size)); err != nil {
		t.Fatal(err)
	}
	return d
}

func (d *ThinDisk) run(name string, args ...string) {
	d.t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		d.t.Fatalf("%s: %v: %s", name, err, out)
	}
}

func (d *ThinDisk) mount() {
	d.t.Helper()
	if err := syscall.Mount(d.device, d.Dir, d.fs, 0, ""); err != nil {
		d.t.Skip("mount: ", err)
	}
}

// Remount drops the page cache of the file system.
func (d *ThinDisk) Remount() {
	d.t.Helper()
	err := syscall.Unmount(d.Dir, 0)
	for deadline := time.Now().Add(20 * time.Second); err == syscall.EBUSY && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond) // a child that another test has just started has copies of descriptors
		err = syscall.Unmount(d.Dir, 0)
	}
	if err != nil {
		d.t.Fatal(err)
	}
	d.mount()
}

// sync writes back this file system alone: other tests may have written much to theirs.
func (d *ThinDisk) sync() {
	d.t.Helper()
	dir, err := os.Open(d.Dir)
	if err != nil {
		d.t.Fatal(err)
	}
	defer dir.Close()
	unix.Syncfs(int(dir.Fd())) // its error may be that of an earlier write-back
}

// Fill makes the device fail, once it has written so many bytes more. Free makes it work again.
func (d *ThinDisk) Fill(room int64) {
	d.t.Helper()
	d.sync()
	f, err := os.Create(d.pad)
	if err != nil {
		d.t.Fatal(err)
	}
	defer f.Close()
	for size := 1 << 20; size >= 4096; {
		if _, err := f.Write(make([]byte, size)); errors.Is(err, syscall.ENOSPC) {
			size /= 2
		} else if err != nil {
			d.t.Fatal(err)
		}
	}
	fi, err := f.Stat()
	if err == nil {
		err = f.Truncate(fi.Size() - room)
	}
	if err != nil {
		d.t.Fatal(err)
	}
}

func (d *ThinDisk) Free() {
	d.t.Helper()
	if err := os.Truncate(d.pad, 0); err != nil {
		d.t.Fatal(err)
	}
}

// Pin keeps the pages of files in memory until unpin is called. The kernel may drop those that it could not write at
// any time, as DAMON does on some hosts.
func (d *ThinDisk) Pin(pattern string) (unpin func()) {
	d.t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		d.t.Fatal(names, err)
	}
	var all [][]byte
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			d.t.Fatal(err)
		}
		fi, err := f.Stat()
		var mem []byte
		if err == nil {
			mem, err = unix.Mmap(int(f.Fd()), 0, int(fi.Size()), unix.PROT_READ, unix.MAP_SHARED)
		}
		if err == nil {
			err = unix.Mlock(mem)
		}
		if err := errors.Join(err, f.Close()); err != nil {
			d.t.Fatal(err)
		}
		all = append(all, mem)
	}
	return func() {
		for _, mem := range all {
			unix.Munmap(mem)
		}
	}
}

// Unwritten makes a block of a file one that was not written before, on an ext4 with blocks of 4096
// bytes. It reads as zeros.
func (d *ThinDisk) Unwritten(name string, block int32) {
	d.t.Helper()
	d.sync()
	f, err := os.Open(name)
	if err != nil {
		d.t.Fatal(err)
	}
	defer f.Close()
	const fibmap = 1 // FIBMAP: the number of the block on the device
	if _, _, e := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), fibmap, uintptr(unsafe.Pointer(&block))); e != 0 {
		d.t.Fatal(e)
	}
	image, err := os.OpenFile(d.image, os.O_RDWR, 0)
	if err != nil {
		d.t.Fatal(err)
	}
	defer image.Close()
	if err := unix.Fallocate(int(image.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, int64(block)*4096, 4096); err != nil {
		d.t.Fatal(err)
	}
}
