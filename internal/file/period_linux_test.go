//go:build !nommap

package file_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/file"
	"go.dw1.io/mmapfile/internal/filetest"
)

// mustOpenMapped opens and maps name, as filetest.Open and mustMap do.
func mustOpenMapped(t testing.TB, name string) *mmapfile.File {
	t.Helper()
	f := filetest.Open(t, name)
	mustMap(t, f)
	return f
}

// mustWriteMapped makes a mapped write at the beginning of a period, before its timer.
func mustWriteMapped(t *testing.T, f *mmapfile.File) {
	t.Helper()
	for range 100 {
		if !filetest.Eventually(func() bool { return file.PeriodOver(f) }) {
			t.Fatal("the period of mapped writes never ends")
		}
		for range 3 { // the first begins a period
			file.PrefaultAll(f)
			if _, err := f.WriteAt([]byte("stored"), 100); err != nil {
				t.Fatal(err)
			}
		}
		if file.WroteMapped(f) {
			return
		}
	}
	t.Fatal("no mapped write, so this tests nothing")
}

func modTime(t *testing.T, name string) time.Time {
	t.Helper()
	fi, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	return fi.ModTime()
}

// waitForTick waits until the clock of the file system is past after.
func waitForTick(t *testing.T, name string, after time.Time) (now time.Time) {
	t.Helper()
	clock := filepath.Join(filepath.Dir(name), "clock")
	if !filetest.Eventually(func() bool {
		filetest.Write(t, clock, nil)
		now = modTime(t, clock)
		return now.After(after)
	}) {
		t.Fatal("the clock does not move")
	}
	return now
}

// A time that a program sets after mapped writes stays, in the past or in the future.
func TestWriteAt_TimeSetStays(t *testing.T) {
	t.Parallel()
	for way, end := range map[string]func(f *mmapfile.File) error{
		"Close": (*mmapfile.File).Close,
		"Sync":  (*mmapfile.File).Sync,
		"Stat":  func(f *mmapfile.File) error { _, err := f.Stat(); return err },
		"Timer": func(f *mmapfile.File) error {
			if !filetest.Eventually(func() bool { return file.PeriodOver(f) }) {
				return errors.New("the period never ends")
			}
			return nil
		},
	} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			name := filetest.Temp(t, filetest.Pattern(8192))
			f := mustOpenMapped(t, name)
			for _, ago := range []time.Duration{0, time.Microsecond, time.Hour, -time.Hour} {
				mustWriteMapped(t, f)
				set := waitForTick(t, name, modTime(t, name)).Add(-time.Microsecond - ago)
				if err := os.Chtimes(name, set, set); err != nil {
					t.Fatal(err)
				}
				set = modTime(t, name) // not every file system keeps nanoseconds, nor every emulator
				if err := end(f); err != nil {
					t.Fatal(err)
				}
				if got := modTime(t, name); !got.Equal(set) {
					t.Errorf("set to %v before the end of the period, it is %v, later by %v", ago, got, got.Sub(set))
				}
				if way == "Close" {
					f = mustOpenMapped(t, name)
				}
			}
		})
	}
}

// A program can save the time, write, and restore the time.
func TestWriteAt_TimeRestoredStays(t *testing.T) {
	t.Parallel()
	name := filetest.Temp(t, filetest.Pattern(8192))
	f := mustOpenMapped(t, name)
	saved := modTime(t, name)
	waitForTick(t, name, saved)
	mustWriteMapped(t, f)
	if err := os.Chtimes(name, time.Now(), saved); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if got := modTime(t, name); !got.Equal(saved) {
		t.Errorf("the time was restored to %v, and is %v", saved, got)
	}
}

// A change of metadata alone does not count as a time that was set.
func TestWriteAt_TimeMovesAfterRename(t *testing.T) {
	t.Parallel()
	name := filetest.Temp(t, filetest.Pattern(8192))
	f := mustOpenMapped(t, name)
	mustWriteMapped(t, f) // the page's first one, a fault, which moves the time by itself
	for i, change := range []func() error{
		func() error { return os.Rename(name, name+"-0") },
		func() error { return os.Chmod(name+"-0", 0o640) },
		func() error { return os.Link(name+"-0", name+"-2") },
		func() error { return unix.Setxattr(name+"-0", "user.mmapfile", []byte("x"), 0) },
	} {
		begun := time.Time{}
		for range 20 {
			mustWriteMapped(t, f)
			begun = modTime(t, f.Name()+map[bool]string{false: "-0"}[i == 0])
			if file.PeriodTime(f) == begun.UnixNano() {
				break
			} // else the file was written back, so that a mapped write was a fault, which moves the time
		}
		waitForTick(t, name, begun)
		if err := change(); err != nil {
			t.Log(err)
			continue
		}
		if file.PeriodTime(f) != begun.UnixNano() {
			t.Skip("the file is written back all the time")
		}
		if _, err := f.WriteAt([]byte("again"), 100); err != nil {
			t.Fatal(err)
		}
		if fi, err := f.Stat(); err != nil || !fi.ModTime().After(begun) {
			t.Errorf("change %d: the time is %v, as before the last write, %v", i, fi.ModTime(), err)
		}
	}
}

// A writer that does not own the file may not set its time. Its writes move the time nevertheless.
func TestWriteAt_TimeMovesForNonOwner(t *testing.T) {
	t.Parallel()
	name := filetest.Temp(t, filetest.Pattern(8192))
	f := mustOpenMapped(t, name)
	if err := os.Chown(name, 65534, 65534); err != nil {
		t.Skip(err)
	}
	watch := watchFile(t, name)
	mustWriteMapped(t, f)
	begun := modTime(t, name)
	waitForTick(t, name, begun)
	watch()
	if err := withoutCapability(unix.CAP_FOWNER, func() error {
		if _, err := f.WriteAt([]byte("again"), 100); err != nil {
			return err
		}
		_, err := f.Stat()
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if got := modTime(t, name); !got.After(begun) || !watch() {
		t.Errorf("the time was %v and is %v, or a watcher was not notified", begun, got)
	}
}

// The time moves without Close, which does not move it again.
func TestWriteAt_TimeMovesByItself(t *testing.T) {
	t.Parallel()
	name := filetest.Temp(t, filetest.Pattern(8192))
	f := mustOpenMapped(t, name)
	mustWriteMapped(t, f)
	begun := modTime(t, name)
	waitForTick(t, name, begun)
	if _, err := f.WriteAt([]byte("later"), 100); err != nil {
		t.Fatal(err)
	}
	moved := begun
	if !filetest.Eventually(func() bool { moved = modTime(t, name); return moved.After(begun) }) {
		t.Fatalf("the time is still %v, that of the first write", moved)
	}
	over := waitForTick(t, name, time.Time{})
	waitForTick(t, name, over)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if got := modTime(t, name); !got.Equal(moved) {
		t.Errorf("Close has moved the time from %v to %v", moved, got)
	}
}

// watchFile returns a function that reports whether the file was modified since its last call.
func watchFile(t *testing.T, name string) (heard func() bool) {
	t.Helper()
	watch, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { unix.Close(watch) })
	if _, err := unix.InotifyAddWatch(watch, name, unix.IN_MODIFY); err != nil {
		t.Skip(err)
	}
	return func() bool {
		n, err := unix.Read(watch, make([]byte, 4096))
		return n > 0 && err == nil
	}
}

// A watcher is notified of each period of mapped writes at its beginning and at its end.
func TestWriteAt_Watchers(t *testing.T) {
	t.Parallel()
	name := filetest.Temp(t, filetest.Pattern(8192))
	f := mustOpenMapped(t, name)
	heard := watchFile(t, name)
	for range 3 {
		mustWriteMapped(t, f)
		if !heard() {
			t.Error("the watcher was not notified of a new period")
		}
		if !filetest.Eventually(heard) {
			t.Error("the watcher was not notified of the mapped writes")
		}
	}
}

// withoutCapability calls do on a thread without one of the capabilities of root.
func withoutCapability(capability uint, do func() error) error {
	result := make(chan error)
	go func() {
		runtime.LockOSThread()
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var data [2]unix.CapUserData
		if err := unix.Capget(&header, &data[0]); err != nil {
			result <- err
			return
		}
		data[capability/32].Effective &^= 1 << (capability % 32)
		if err := unix.Capset(&header, &data[0]); err != nil {
			result <- err
			return
		}
		result <- do()
	}()
	return <-result
}

// A mapped write removes a set-user-ID bit that was set by path.
func TestWriteAt_SetUserIDRemoved(t *testing.T) {
	t.Parallel()
	after := func(bits uint32) uint32 {
		name := filetest.Temp(t, filetest.Pattern(8192))
		f := mustOpenMapped(t, name)
		mustWriteMapped(t, f)
		if err := unix.Chmod(name, bits); err != nil {
			t.Fatal(err)
		}
		if err := withoutCapability(unix.CAP_FSETID, func() error {
			if _, err := f.WriteAt([]byte("again"), 100); err != nil {
				return err
			}
			return f.Close()
		}); err != nil {
			t.Fatal(err)
		}
		var st unix.Stat_t
		if err := unix.Stat(name, &st); err != nil {
			t.Fatal(err)
		}
		return st.Mode & 0o7777
	}
	for _, bits := range []uint32{unix.S_ISUID | 0o755, unix.S_ISGID | 0o755, unix.S_ISUID | unix.S_ISGID | 0o777} {
		got := after(bits)
		for i := 0; i < 3 && got != bits&0o777; i++ { // the timer has ended the period with the rights of root
			got = after(bits)
		}
		if got != bits&0o777 {
			t.Errorf("mode %#o is %#o after a write", bits, got)
		}
	}
}

// A mapped write removes the capabilities of the file.
func TestWriteAt_CapabilitiesRemoved(t *testing.T) {
	t.Parallel()
	name := filetest.Temp(t, filetest.Pattern(8192))
	f := mustOpenMapped(t, name)
	mustWriteMapped(t, f)
	netRaw := []byte{1, 0, 0, 2, 0, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0} // struct vfs_cap_data
	if err := unix.Setxattr(name, "security.capability", netRaw, 0); err != nil {
		t.Skip(err)
	}
	if _, err := f.WriteAt([]byte("again"), 100); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if n, err := unix.Getxattr(name, "security.capability", nil); err == nil {
		t.Errorf("the file has %d bytes of capabilities", n)
	}
}

// A bit that Chmod sets after the last write stays. A time that is set then stays, too.
func TestChmod_SetUserIDAfterMappedWrites(t *testing.T) {
	t.Parallel()
	name := filetest.Temp(t, filetest.Pattern(8192))
	f := mustOpenMapped(t, name)
	mustWriteMapped(t, f)
	if err := withoutCapability(unix.CAP_FSETID, func() error { return f.Chmod(fs.ModeSetuid | 0o755) }); err != nil {
		t.Fatal(err)
	}
	if err := withoutCapability(unix.CAP_FSETID, f.Close); err != nil {
		t.Fatal(err)
	}
	if fi, err := os.Stat(name); err != nil || fi.Mode() != fs.ModeSetuid|0o755 {
		t.Errorf("the mode is %v, %v", fi.Mode(), err)
	}
	f = mustOpenMapped(t, name)
	mustWriteMapped(t, f)
	set := modTime(t, name).Add(-time.Hour)
	if err := errors.Join(unix.Chmod(name, unix.S_ISUID|0o755), os.Chtimes(name, set, set)); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if got := modTime(t, name); !got.Equal(set) {
		t.Errorf("the time was set to %v, and is %v", set, got)
	}
}

// A write follows the O_APPEND flag of a descriptor that was handed out.
func TestWriteAt_DescriptorAppends(t *testing.T) {
	t.Parallel()
	control := func(c syscall.RawConn, err error, fn func(fd uintptr)) error {
		if err != nil {
			return err
		}
		return c.Control(fn)
	}
	for way, fdOf := range map[string]func(t *testing.T, name string) (*mmapfile.File, int){
		"Fd": func(t *testing.T, name string) (*mmapfile.File, int) {
			f := mustOpenMapped(t, name)
			return f, int(f.Fd())
		},
		"OS": func(t *testing.T, name string) (*mmapfile.File, int) {
			f := mustOpenMapped(t, name)
			return f, int(f.OS().Fd())
		},
		"SyscallConn": func(t *testing.T, name string) (f *mmapfile.File, fd int) {
			f = mustOpenMapped(t, name)
			c, err := f.SyscallConn()
			if err := control(c, err, func(p uintptr) { fd = int(p) }); err != nil {
				t.Fatal(err)
			}
			return f, fd
		},
		"New": func(t *testing.T, name string) (*mmapfile.File, int) {
			o, err := os.OpenFile(name, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			fd := int(o.Fd())
			f, err := mmapfile.New(o)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { f.Close() })
			mustMap(t, f)
			return f, fd
		},
	} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			name := filetest.Temp(t, filetest.Pattern(10_000))
			f, fd := fdOf(t, name)
			for range 300 {
				file.PrefaultAll(f)
				if _, err := f.WriteAt([]byte("hot"), 0); err != nil {
					t.Fatal(err)
				}
			}
			flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFL, flags|unix.O_APPEND); err != nil {
				t.Fatal(err)
			}
			for i := range 3 {
				if n, err := f.WriteAt([]byte("x"), 0); n != 1 || err != nil {
					t.Fatalf("WriteAt: %d, %v", n, err)
				}
				if got := len(filetest.Read(t, name)); got != 10_001+i {
					t.Errorf("after %d writes the file has %d bytes", i+1, got)
				}
			}
		})
	}
}

func init() {
	filetest.Children["limit"] = childLimit
}

// A lower file size limit takes effect by the end of the period.
func TestWriteAt_FileSizeLimitLowered(t *testing.T) {
	t.Parallel()
	name := filetest.Temp(t, filetest.Pattern(1<<20))
	if out, err := filetest.ChildCommand(t, nil, "limit", name).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func childLimit(args []string) error {
	f, err := mmapfile.OpenFile(args[0], os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	f.Bytes()
	b := make([]byte, 100)
	for i := 0; !file.WroteMapped(f); i++ {
		if i == 10_000 {
			return errors.New("no mapped write, so this tests nothing")
		}
		file.PrefaultAll(f)
		if _, err := f.WriteAt(b, 700_000); err != nil {
			return err
		}
	}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 500_000, Max: 500_000}); err != nil {
		return err
	}
	refused := func() bool {
		f.WriteAt(b, 100) // an allowed write begins the next period
		_, err = f.WriteAt(b, 700_000)
		return err != nil
	}
	if !filetest.Eventually(refused) {
		return errors.New("the limit never takes effect")
	}
	if !errors.Is(err, syscall.EFBIG) {
		return err
	}
	if _, err := f.WriteAt(make([]byte, 200_000), 400_000); !errors.Is(err, syscall.EFBIG) {
		return fmt.Errorf("across the limit: %v", err)
	}
	return nil
}

// mountImage mounts a new ext4 file system.
func mountImage(t *testing.T) (dir string) {
	t.Helper()
	image := filetest.Temp(t, nil)
	if err := os.Truncate(image, 32<<20); err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	for _, args := range [][]string{{"mkfs.ext4", "-q", image}, {"mount", "-o", "loop", image, dir}} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Skipf("only root can mount an image: %s: %v %s", args[0], err, out)
		}
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// The end of a period on a file of another owner allocates no block of a sparse file.
func TestStat_OtherOwnersSparseFile(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root has a file of another owner, and may write to it")
	}
	const at, size = 8 << 20, 16 << 20
	name := filetest.Temp(t, nil)
	if err := os.Truncate(name, size); err != nil {
		t.Fatal(err)
	}
	f := mustOpenMapped(t, name)
	next := bytes.Repeat([]byte("next"), os.Getpagesize()/2) // a mapped write looks at the page after it, which allocates it on tmpfs
	if _, err := f.WriteAt(next, at); err != nil {
		t.Fatal(err)
	}
	write := func() {
		file.PrefaultAll(f)
		if _, err := f.WriteAt([]byte("stored"), at); err != nil {
			t.Fatal(err)
		}
	}
	blocks := func() int64 {
		var st unix.Stat_t
		if err := unix.Stat(name, &st); err != nil {
			t.Fatal(err)
		}
		return st.Blocks
	}
	write()
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	before, ended := blocks(), false
	for i := 0; !ended; i++ {
		if i == 10_000 {
			t.Fatal("no mapped write, so this tests nothing")
		}
		write() // by the kernel, which begins a period
		write()
		func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			unix.SetfsuidRetUid(65534) // of this thread
			defer unix.SetfsuidRetUid(0)
			ended = file.WroteMapped(f)
			if _, err := f.Stat(); err != nil {
				t.Error(err)
			}
		}()
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	if now := blocks(); now != before {
		t.Errorf("%d blocks are allocated, and were %d before", now, before)
	}
}

// Nor does it if the written part was truncated, and the file is as long again.
func TestTruncate_EndsPeriod(t *testing.T) {
	t.Parallel()
	name := filetest.Temp(t, bytes.Repeat([]byte{1}, 1<<20))
	f := mustOpenMapped(t, name)
	mustWriteMapped(t, f)
	if err := f.Truncate(4096); err != nil {
		t.Fatal(err)
	}
	if file.WroteMapped(f) {
		t.Error("the period goes on, and its first write may be in what was truncated")
	}
}

// A file system that was shut down refuses writes by the end of the period.
func TestWriteAt_FileSystemShutDown(t *testing.T) {
	t.Parallel()
	name := filepath.Join(mountImage(t), "file")
	filetest.Write(t, name, filetest.Pattern(100_000))
	f := mustOpenMapped(t, name)
	mustWriteMapped(t, f)
	const shutdown = 0x8004587D // EXT4_IOC_SHUTDOWN, in include/uapi/linux/ext4.h
	how := uint32(2)            // without writing the journal
	d, err := os.Open(filepath.Dir(name))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, d.Fd(), shutdown, uintptr(unsafe.Pointer(&how))); errno != 0 {
		t.Skip(errno)
	}
	refused := func() bool {
		_, err = f.WriteAt([]byte("again"), 100)
		return err != nil
	}
	if !filetest.Eventually(refused) || !errors.Is(err, syscall.EIO) {
		t.Error(err)
	}
}
