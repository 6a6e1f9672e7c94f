package ostest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/filetest"
)

// smallDisk mounts a new file system of 16 MiB, or a ramfs, and returns its directory.
func smallDisk(t *testing.T, fs string) string {
	t.Helper()
	dir := t.TempDir()
	if fs == "ramfs" {
		if err := syscall.Mount("mmapfile-test", dir, "ramfs", 0, ""); err != nil {
			t.Skip("only root can mount a file system: ", err)
		}
	} else {
		image := filepath.Join(t.TempDir(), "image")
		filetest.Write(t, image, nil)
		if err := os.Truncate(image, 16<<20); err != nil {
			t.Fatal(err)
		}
		for _, line := range [][]string{{"mkfs." + fs, "-q", image}, {"mount", "-o", "loop", image, dir}} {
			if out, err := exec.Command(line[0], line[1:]...).CombinedOutput(); err != nil {
				t.Skipf("%v: %v %s", line[0], err, out)
			}
		}
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// appendRecords appends numbered lines to name until stop is called, which returns how many were
// written in full. Each has a descriptor of its own.
func appendRecords(t *testing.T, name string) (stop func() int) {
	t.Helper()
	end, done := make(chan bool), make(chan int)
	go func() {
		for n := 0; ; {
			select {
			case <-end:
				done <- n
				return
			default:
			}
			w, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
			if err != nil {
				continue
			}
			line := fmt.Sprintf("record %d\n", n)
			if k, _ := w.Write([]byte(line)); k == len(line) {
				n++
			} else if k > 0 {
				w.Write([]byte("\n")) // the disk was full
			}
			w.Close()
		}
	}()
	return func() int {
		close(end)
		return <-done
	}
}

// countRecords returns how many of the first n records the file has, in order. Zeros may lie between.
func countRecords(t *testing.T, name string, n int) (found int) {
	t.Helper()
	b := bytes.ReplaceAll(filetest.Read(t, name), []byte{0}, nil)
	for in := bufio.NewScanner(bytes.NewReader(b)); in.Scan() && found < n; {
		if in.Text() == fmt.Sprint("record ", found) {
			found++
		}
	}
	return found
}

// OpenFile with a size, whether it succeeds or fills the disk, loses nothing that another program
// appends meanwhile. ext2 and ramfs have no fallocate.
func TestOpenFile_SizeBesideAppends(t *testing.T) {
	t.Parallel()
	for _, fs := range []string{"ext4", "ext2", "ramfs"} {
		t.Run(fs, func(t *testing.T) {
			t.Parallel()
			dir := smallDisk(t, fs)
			name := filepath.Join(dir, "log")
			filetest.Write(t, name, nil)
			stop := appendRecords(t, name)
			full := 0
			for i := range 60 {
				fi, err := os.Stat(name)
				if err != nil {
					t.Fatal(err)
				}
				size := fi.Size() + int64(i+1)*100_000
				if fs != "ramfs" && i%2 == 0 { // all that is free: what the blocks are listed in is missing
					var st unix.Statfs_t
					if err := unix.Statfs(dir, &st); err != nil {
						t.Fatal(err)
					}
					size = fi.Size() + int64(st.Bfree)*int64(st.Bsize) - 4096
				}
				f, err := mmapfile.OpenFile(name, os.O_RDWR, 0, size)
				if errors.Is(err, syscall.ENOSPC) {
					full++
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				if f.Len() < size {
					t.Errorf("the file has %d bytes of %d", f.Len(), size)
				}
				f.Close()
			}
			n := stop()
			if found := countRecords(t, name, n); found != n {
				t.Errorf("%d of %d records are lost", n-found, n)
			}
			t.Logf("%d records; the disk was full %d times", n, full)
		})
	}
}

// If no one else has the file open, a failure gives back what it has taken.
func TestOpenFile_FullDiskGivesBack(t *testing.T) {
	t.Parallel()
	for _, fs := range []string{"ext4", "ext2"} {
		for _, created := range []bool{false, true} {
			dir := smallDisk(t, fs)
			name := filepath.Join(dir, "file")
			content := filetest.Pattern(100_000)
			flag := os.O_RDWR | os.O_CREATE | os.O_EXCL
			if !created {
				func() {
					syscall.ForkLock.RLock() // until its exec, a child of another test would have this descriptor
					defer syscall.ForkLock.RUnlock()
					filetest.Write(t, name, content)
				}()
				flag = os.O_RDWR
			}
			var before, after unix.Statfs_t
			if err := unix.Statfs(dir, &before); err != nil {
				t.Fatal(err)
			}
			missing := int64(before.Bfree) * int64(before.Bsize) // none is left for lists of blocks
			if !created {
				missing += int64(len(content))
			}
			f, err := mmapfile.OpenFile(name, flag, 0o600, missing)
			if !errors.Is(err, syscall.ENOSPC) {
				if f.Close(); err == nil && fs == "ext4" {
					continue // its list of blocks fits into the inode
				}
				t.Fatalf("%s: %v", fs, err)
			}
			if err := unix.Statfs(dir, &after); err != nil {
				t.Fatal(err)
			}
			if after.Bfree != before.Bfree {
				t.Errorf("%s: %d blocks were free, and %d are", fs, before.Bfree, after.Bfree)
			}
			switch fi, err := os.Stat(name); {
			case created && !errors.Is(err, os.ErrNotExist):
				t.Errorf("%s: the new file was left: %v", fs, err)
			case !created && (err != nil || fi.Size() != int64(len(content))):
				t.Errorf("%s: the file has changed: %d bytes, %v", fs, fi.Size(), err)
			}
		}
	}
}

// A size that cannot be had is refused before anything is written, with the error of os.File. Another
// descriptor, which keeps the file from being truncated again, does not matter.
func TestOpenFile_RefusedSize(t *testing.T) {
	t.Parallel()
	for _, fs := range []string{"ext4", "ext2", "overlay"} {
		dir, name := "", ""
		if fs == "overlay" {
			dir = smallDisk(t, "ext4")
			name = mountOverlayIn(t, dir, nil)
		} else {
			dir = smallDisk(t, fs)
			name = filepath.Join(dir, "file")
		}
		filetest.Write(t, name, filetest.Pattern(100))
		other, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		before, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		var disk unix.Statfs_t
		if err := unix.Statfs(dir, &disk); err != nil {
			t.Fatal(err)
		}
		free := disk.Bfree
		for size, want := range map[int64]error{1 << 30: syscall.ENOSPC, 1 << 62: syscall.EFBIG} {
			f, err := mmapfile.OpenFile(name, os.O_RDWR, 0, size)
			if f != nil || !errors.Is(err, want) {
				t.Errorf("%s, %d bytes: %v, want %v", fs, size, err, want)
			}
		}
		if after, err := os.Stat(name); err != nil || !after.ModTime().Equal(before.ModTime()) || after.Size() != 100 {
			t.Errorf("%s: the file has changed: %v", fs, err)
		}
		if err := unix.Statfs(dir, &disk); err != nil || free > disk.Bfree+64 {
			t.Errorf("%s: %d blocks were free, and %d are, %v", fs, free, disk.Bfree, err)
		}
	}
}

// What OpenFile changes of the descriptor for a while is as it was, and the file is where it ends.
func TestOpenFile_SizeLeavesFlags(t *testing.T) {
	t.Parallel()
	name := filepath.Join(smallDisk(t, "ext2"), "file")
	filetest.Write(t, name, filetest.Pattern(100))
	for _, flag := range []int{os.O_RDWR, os.O_WRONLY, os.O_RDWR | os.O_APPEND, os.O_RDWR | os.O_SYNC} {
		inner, err := os.OpenFile(name, flag, 0)
		if err != nil {
			t.Fatal(err)
		}
		want, err := unix.FcntlInt(inner.Fd(), unix.F_GETFL, 0)
		inner.Close()
		if err != nil {
			t.Fatal(err)
		}
		fi, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		f, err := mmapfile.OpenFile(name, flag, 0, fi.Size()+100_000)
		if err != nil {
			t.Fatal(err)
		}
		if pos, err := f.Seek(0, 1); pos != 0 || err != nil {
			t.Errorf("flag %#x: the cursor is at %d, %v", flag, pos, err)
		}
		if got, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0); got != want || err != nil {
			t.Errorf("flag %#x: the descriptor has the flags %#x, want %#x, %v", flag, got, want, err)
		}
		f.Close()
	}
	if b := filetest.Read(t, name); !bytes.Equal(b[:100], filetest.Pattern(100)) {
		t.Error("the content has changed")
	}
}

// Beside another descriptor of the file, a full disk takes nothing back: it might be what another
// program has just appended.
func TestOpenFile_FullDiskBesideDescriptor(t *testing.T) {
	t.Parallel()
	dir := smallDisk(t, "ext2")
	name := filepath.Join(dir, "file")
	filetest.Write(t, name, filetest.Pattern(100))
	other, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		t.Fatal(err)
	}
	if f, err := mmapfile.OpenFile(name, os.O_RDWR, 0, int64(st.Bfree)*int64(st.Bsize)); !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(f, err)
	}
	if fi, err := os.Stat(name); err != nil || fi.Size() <= 1<<20 {
		t.Errorf("the file has been truncated to %d bytes, %v", fi.Size(), err)
	}
}

// A limit of the process matters only to a file that grows.
func TestOpenFile_SizeWithinLimit(t *testing.T) {
	t.Parallel()
	name := filetest.Temp(t, nil)
	if err := os.Truncate(name, 10<<20); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		size int64
		flag int
		want string
	}{
		{10 << 20, os.O_RDWR, "<nil>"},
		{11 << 20, os.O_RDWR, "file too large"},
		{5 << 20, os.O_RDWR | os.O_TRUNC, "file too large"}, // what is truncated grows again
	} {
		cmd := filetest.ChildCommand(t, nil, "limited", name, fmt.Sprint(c.size), fmt.Sprint(c.flag))
		if got := filetest.RunChild(t, cmd); got != c.want+"\n" {
			t.Errorf("%d bytes, flag %#x: %q, want %q", c.size, c.flag, got, c.want)
		}
		if fi, err := os.Stat(name); err != nil || fi.Size() != 10<<20 {
			t.Fatalf("%d bytes, flag %#x: the file has %d bytes, %v", c.size, c.flag, fi.Size(), err)
		}
	}
}

func init() {
	filetest.Children["limited"] = func(args []string) error {
		var size int64
		var flag int
		if _, err := fmt.Sscan(args[1]+" "+args[2], &size, &flag); err != nil {
			return err
		}
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 1 << 20, Max: 1 << 20}); err != nil {
			return err
		}
		f, err := mmapfile.OpenFile(args[0], flag, 0, size)
		fmt.Println(errors.Unwrap(err))
		if err == nil {
			return f.Close()
		}
		return nil
	}
}
