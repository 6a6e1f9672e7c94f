//go:build !nommap

package mmapfile_test

import (
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
)

// What the kernel does at each write it does for mapped ones at least once in a period.

func init() {
	ftChildren["limit"] = ftChildLimit
}

// ftStore makes a mapped write, with which no timer is about to interfere.
func ftStore(t *testing.T, f *mmapfile.File) {
	t.Helper()
	for range 100 {
		if !ftUntil(10*time.Second, func() bool { return mmapfile.PeriodOver(f) }) {
			t.Fatal("the period of mapped writes never ends")
		}
		for range 3 { // the first begins a period
			mmapfile.MakeReady(f)
			if _, err := f.WriteAt([]byte("stored"), 100); err != nil {
				t.Fatal(err)
			}
		}
		if mmapfile.Stored(f) {
			return
		}
	}
	t.Fatal("no mapped write: this tests something else")
}

func ftTimeOf(t *testing.T, name string) time.Time {
	t.Helper()
	fi, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	return fi.ModTime()
}

// ftTick waits until the clock of the file system of name has moved past after.
func ftTick(t *testing.T, name string, after time.Time) (now time.Time) {
	t.Helper()
	clock := filepath.Join(filepath.Dir(name), "clock")
	if !ftUntil(10*time.Second, func() bool {
		ftPut(t, clock, nil)
		now = ftTimeOf(t, clock)
		return now.After(after)
	}) {
		t.Fatal("the clock stands still")
	}
	return now
}

// A time that a program sets after mapped writes stands, wherever it lies.
func TestWriteAt_TimeSetInThePeriodStands(t *testing.T) {
	t.Parallel()
	for way, end := range map[string]func(f *mmapfile.File) error{
		"Close": (*mmapfile.File).Close,
		"Sync":  (*mmapfile.File).Sync,
		"Stat":  func(f *mmapfile.File) error { _, err := f.Stat(); return err },
		"Timer": func(f *mmapfile.File) error {
			if !ftUntil(10*time.Second, func() bool { return mmapfile.PeriodOver(f) }) {
				return errors.New("the period never ends")
			}
			return nil
		},
	} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			name := ftTemp(t, ftPattern(8192))
			f := ftOpenMapped(t, name)
			for _, ago := range []time.Duration{0, time.Microsecond, time.Hour, -time.Hour} {
				ftStore(t, f)
				set := ftTick(t, name, ftTimeOf(t, name)).Add(-time.Microsecond - ago)
				if err := os.Chtimes(name, set, set); err != nil {
					t.Fatal(err)
				}
				set = ftTimeOf(t, name) // not every file system keeps nanoseconds, nor every emulator
				if err := end(f); err != nil {
					t.Fatal(err)
				}
				if got := ftTimeOf(t, name); !got.Equal(set) {
					t.Errorf("set to %v before the end, it is %v, later by %v", ago, got, got.Sub(set))
				}
				if way == "Close" {
					f = ftOpenMapped(t, name)
				}
			}
		})
	}
}

// A program that saves the time, writes, and puts it back, keeps it.
func TestWriteAt_TimePutBackStands(t *testing.T) {
	t.Parallel()
	name := ftTemp(t, ftPattern(8192))
	f := ftOpenMapped(t, name)
	saved := ftTimeOf(t, name)
	ftTick(t, name, saved)
	ftStore(t, f)
	if err := os.Chtimes(name, time.Now(), saved); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if got := ftTimeOf(t, name); !got.Equal(saved) {
		t.Errorf("it was put back to %v, and is %v", saved, got)
	}
}

// What moves the change time alone sets no time.
func TestWriteAt_TimeMovesAfterRename(t *testing.T) {
	t.Parallel()
	name := ftTemp(t, ftPattern(8192))
	f := ftOpenMapped(t, name)
	ftStore(t, f) // the page's first one, a fault, which moves the time by itself
	for i, change := range []func() error{
		func() error { return os.Rename(name, name+"-0") },
		func() error { return os.Chmod(name+"-0", 0o640) },
		func() error { return os.Link(name+"-0", name+"-2") },
		func() error { return unix.Setxattr(name+"-0", "user.mmapfile", []byte("x"), 0) },
	} {
		ftStore(t, f)
		begun := ftTimeOf(t, f.Name()+map[bool]string{false: "-0"}[i == 0])
		ftTick(t, name, begun)
		if err := change(); err != nil {
			t.Log(err)
			continue
		}
		if _, err := f.WriteAt([]byte("again"), 100); err != nil {
			t.Fatal(err)
		}
		if fi, err := f.Stat(); err != nil || !fi.ModTime().After(begun) {
			t.Errorf("change %d: the time is %v, as before the last write, %v", i, fi.ModTime(), err)
		}
	}
}

// Who may write the file and does not own it may not set its time, and writes it all the same.
func TestWriteAt_TimeMovesForWhoDoesNotOwnTheFile(t *testing.T) {
	t.Parallel()
	name := ftTemp(t, ftPattern(8192))
	f := ftOpenMapped(t, name)
	if err := os.Chown(name, 65534, 65534); err != nil {
		t.Skip(err)
	}
	watch := ftWatch(t, name)
	ftStore(t, f)
	begun := ftTimeOf(t, name)
	ftTick(t, name, begun)
	watch()
	if err := ftWithout(unix.CAP_FOWNER, func() error {
		if _, err := f.WriteAt([]byte("again"), 100); err != nil {
			return err
		}
		_, err := f.Stat()
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if got := ftTimeOf(t, name); !got.After(begun) || !watch() {
		t.Errorf("the time was %v and is %v, or a watcher has not heard of it", begun, got)
	}
}

// The time is that of the last write, not that of Close, and moves without either.
func TestWriteAt_TimeMovesByItself(t *testing.T) {
	t.Parallel()
	name := ftTemp(t, ftPattern(8192))
	f := ftOpenMapped(t, name)
	ftStore(t, f)
	begun := ftTimeOf(t, name)
	ftTick(t, name, begun)
	if _, err := f.WriteAt([]byte("later"), 100); err != nil {
		t.Fatal(err)
	}
	moved := begun
	if !ftUntil(10*time.Second, func() bool { moved = ftTimeOf(t, name); return moved.After(begun) }) {
		t.Fatalf("the time is still %v, that of the first write", moved)
	}
	over := ftTick(t, name, time.Time{})
	ftTick(t, name, over)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if got := ftTimeOf(t, name); !got.Equal(moved) {
		t.Errorf("Close has moved the time from %v to %v", moved, got)
	}
}

// ftWatch returns a function that reports whether the file was modified since its last call.
func ftWatch(t *testing.T, name string) (heard func() bool) {
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

// A watcher hears of mapped writes by the end of their period, and of each period.
func TestWriteAt_WatchersHearOfEachPeriod(t *testing.T) {
	t.Parallel()
	name := ftTemp(t, ftPattern(8192))
	f := ftOpenMapped(t, name)
	heard := ftWatch(t, name)
	for range 3 {
		ftStore(t, f)
		if !heard() {
			t.Error("a period has begun, and a watcher does not hear of it")
		}
		if !ftUntil(10*time.Second, heard) {
			t.Error("mapped writes came after the first, and a watcher does not hear of them")
		}
	}
}

// A set-user-ID bit that is set by path between mapped writes goes.
func TestWriteAt_SetUserIDGoesWithThePeriod(t *testing.T) {
	t.Parallel()
	after := func(bits uint32) uint32 {
		name := ftTemp(t, ftPattern(8192))
		f := ftOpenMapped(t, name)
		ftStore(t, f)
		if err := unix.Chmod(name, bits); err != nil {
			t.Fatal(err)
		}
		if err := ftWithout(unix.CAP_FSETID, func() error {
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
		for i := 0; i < 3 && got != bits&0o777; i++ { // the timer has ended the period with root's rights
			got = after(bits)
		}
		if got != bits&0o777 {
			t.Errorf("%#o was written to, and is %#o", bits, got)
		}
	}
}

// Capabilities of a file go as well.
func TestWriteAt_CapabilitiesGoWithThePeriod(t *testing.T) {
	t.Parallel()
	name := ftTemp(t, ftPattern(8192))
	f := ftOpenMapped(t, name)
	ftStore(t, f)
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

// A bit that is set by the File itself after its last write stays, and so does a time that is set then.
func TestChmod_SetUserIDAfterMappedWrites(t *testing.T) {
	t.Parallel()
	name := ftTemp(t, ftPattern(8192))
	f := ftOpenMapped(t, name)
	ftStore(t, f)
	if err := ftWithout(unix.CAP_FSETID, func() error { return f.Chmod(fs.ModeSetuid | 0o755) }); err != nil {
		t.Fatal(err)
	}
	if err := ftWithout(unix.CAP_FSETID, f.Close); err != nil {
		t.Fatal(err)
	}
	if fi, err := os.Stat(name); err != nil || fi.Mode() != fs.ModeSetuid|0o755 {
		t.Errorf("the mode is %v, %v", fi.Mode(), err)
	}
	f = ftOpenMapped(t, name)
	ftStore(t, f)
	set := ftTimeOf(t, name).Add(-time.Hour)
	if err := errors.Join(unix.Chmod(name, unix.S_ISUID|0o755), os.Chtimes(name, set, set)); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if got := ftTimeOf(t, name); !got.Equal(set) {
		t.Errorf("the time was set to %v, and is %v", set, got)
	}
}

// ftWithout calls do on a thread that has lost a capability of root's, and ends with it.
func ftWithout(capability uint, do func() error) error {
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

// Once a descriptor was handed out, its flags may change at any time.
func TestWriteAt_AppendsAsTheDescriptorSays(t *testing.T) {
	t.Parallel()
	control := func(c syscall.RawConn, err error, fn func(fd uintptr)) error {
		if err != nil {
			return err
		}
		return c.Control(fn)
	}
	for way, fdOf := range map[string]func(t *testing.T, name string) (*mmapfile.File, int){
		"Fd": func(t *testing.T, name string) (*mmapfile.File, int) {
			f := ftOpenMapped(t, name)
			return f, int(f.Fd())
		},
		"OS": func(t *testing.T, name string) (*mmapfile.File, int) {
			f := ftOpenMapped(t, name)
			return f, int(f.OS().Fd())
		},
		"SyscallConn": func(t *testing.T, name string) (f *mmapfile.File, fd int) {
			f = ftOpenMapped(t, name)
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
			ftMap(t, f)
			return f, fd
		},
	} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			name := ftTemp(t, ftPattern(10_000))
			f, fd := fdOf(t, name)
			for range 300 {
				mmapfile.MakeReady(f)
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
				if got := len(ftGet(t, name)); got != 10_001+i {
					t.Errorf("after %d writes the file has %d bytes", i+1, got)
				}
			}
		})
	}
}

// A limit of the process that is lowered is met by the end of the period.
func TestWriteAt_FileSizeLimitLowered(t *testing.T) {
	t.Parallel()
	name := ftTemp(t, ftPattern(1<<20))
	if out, err := ftChild(t, nil, "limit", name).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func ftChildLimit(args []string) error {
	f, err := mmapfile.OpenFile(args[0], os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	f.Bytes()
	b := make([]byte, 100)
	for i := 0; !mmapfile.Stored(f); i++ {
		if i == 10_000 {
			return errors.New("no mapped write: this tests something else")
		}
		mmapfile.MakeReady(f)
		if _, err := f.WriteAt(b, 700_000); err != nil {
			return err
		}
	}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 500_000, Max: 500_000}); err != nil {
		return err
	}
	refused := func() bool {
		f.WriteAt(b, 100) // a write that is allowed begins the next period
		_, err = f.WriteAt(b, 700_000)
		return err != nil
	}
	if !ftUntil(10*time.Second, refused) {
		return errors.New("the limit is never met")
	}
	if !errors.Is(err, syscall.EFBIG) {
		return err
	}
	if _, err := f.WriteAt(make([]byte, 200_000), 400_000); !errors.Is(err, syscall.EFBIG) {
		return fmt.Errorf("across the limit: %v", err)
	}
	return nil
}

// ftImage mounts a file system of its own, on which all may be tried.
func ftImage(t *testing.T) (dir string) {
	t.Helper()
	image := ftTemp(t, nil)
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

// A file system that was shut down refuses writes by the end of the period.
func TestWriteAt_FileSystemShutDown(t *testing.T) {
	t.Parallel()
	name := filepath.Join(ftImage(t), "file")
	ftPut(t, name, ftPattern(100_000))
	f := ftOpenMapped(t, name)
	ftStore(t, f)
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
	if !ftUntil(10*time.Second, refused) || !errors.Is(err, syscall.EIO) {
		t.Error(err)
	}
}
