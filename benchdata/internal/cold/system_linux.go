package cold

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const groupRoot = "/sys/fs/cgroup"

// Group is a control group with a limit.
type Group struct {
	dir             string
	reclaim, amount string
}

// version2 reports whether the controllers are those of cgroup v2.
func version2(controller string) bool {
	text, _ := os.ReadFile(filepath.Join(groupRoot, "cgroup.controllers"))
	return strings.Contains(" "+strings.TrimSpace(string(text))+" ", " "+controller+" ")
}

// NewMemoryGroup makes a group with a limit of memory, the page cache included.
func NewMemoryGroup(limit int64) (*Group, error) {
	if version2("memory") {
		g, err := newGroup(groupRoot, "memory")
		if err != nil {
			return nil, err
		}
		g.reclaim, g.amount = "memory.reclaim", strconv.FormatInt(1<<40, 10)
		return g, g.limit("memory.max", limit)
	}
	g, err := newGroup(filepath.Join(groupRoot, "memory"), "")
	if err != nil {
		return nil, err
	}
	g.reclaim, g.amount = "memory.force_empty", "0"
	return g, g.limit("memory.limit_in_bytes", limit)
}

// NewThrottledGroup makes a group that may read from the disk of a file so many times a second.
func NewThrottledGroup(file string, reads int) (*Group, error) {
	device, err := disk(file)
	if err != nil {
		return nil, err
	}
	if version2("io") {
		g, err := newGroup(groupRoot, "io")
		if err != nil {
			return nil, err
		}
		return g, g.write("io.max", fmt.Sprintf("%s riops=%d", device, reads))
	}
	g, err := newGroup(filepath.Join(groupRoot, "blkio"), "")
	if err != nil {
		return nil, err
	}
	return g, g.write("blkio.throttle.read_iops_device", fmt.Sprintf("%s %d", device, reads))
}

// newGroup makes a group below parent; for cgroup v2 with a controller.
func newGroup(parent, controller string) (*Group, error) {
	if controller != "" {
		if err := os.WriteFile(filepath.Join(parent, "cgroup.subtree_control"), []byte("+"+controller), 0); err != nil {
			return nil, err
		}
	}
	if _, err := os.Stat(filepath.Join(parent, "cgroup.procs")); err != nil {
		return nil, err // a directory elsewhere is no group
	}
	dir, err := os.MkdirTemp(parent, "mmapfile-")
	return &Group{dir: dir}, err
}

func (g *Group) limit(file string, limit int64) error {
	if limit == NoLimit {
		return nil
	}
	return g.write(file, strconv.FormatInt(limit, 10))
}

// write writes a file of the group, which is removed if that fails.
func (g *Group) write(file, text string) error {
	err := os.WriteFile(filepath.Join(g.dir, file), []byte(text), 0)
	if err != nil {
		return errors.Join(err, g.Remove())
	}
	return nil
}

// Put has the work done in the group.
func (g *Group) Put(w *Work) {
	w.Procs = filepath.Join(g.dir, "cgroup.procs")
	if g.reclaim != "" {
		w.Reclaim, w.Amount = filepath.Join(g.dir, g.reclaim), g.amount
	}
}

// Empty has the kernel evict what the group has in memory: files of earlier work are charged to it.
func (g *Group) Empty() error {
	if g.reclaim == "" {
		return nil
	}
	var err error
	for range 3 { // it evicts what was used lately at the second or third time
		err = os.WriteFile(filepath.Join(g.dir, g.reclaim), []byte(g.amount), 0)
	}
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EBUSY) { // it has less than that
		return nil
	}
	return err
}

// Remove removes the group. Its processes may need a moment to end.
func (g *Group) Remove() (err error) {
	for range 100 {
		if err = unix.Rmdir(g.dir); err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return &fs.PathError{Op: "rmdir", Path: g.dir, Err: err}
}

// disk returns the device number of the disk that a file is on, as "8:0".
func disk(file string) (string, error) {
	var stat unix.Stat_t
	if err := unix.Stat(file, &stat); err != nil {
		return "", &fs.PathError{Op: "stat", Path: file, Err: err}
	}
	number := fmt.Sprintf("%d:%d", unix.Major(stat.Dev), unix.Minor(stat.Dev))
	sys := "/sys/dev/block/" + number
	if _, err := os.Stat(sys); err != nil {
		return "", fmt.Errorf("%s is on no disk of its own: %w", file, err)
	}
	if _, err := os.Stat(sys + "/partition"); err != nil {
		return number, nil
	}
	// Limits are those of whole disks.
	link, err := filepath.EvalSymlinks(sys)
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(filepath.Join(filepath.Dir(link), "dev"))
	return strings.TrimSpace(string(text)), err
}

// ReadAhead returns what the kernel reads ahead on the disk of a file, "" if that is not known.
func ReadAhead(file string) string {
	device, err := disk(file)
	if err != nil {
		return ""
	}
	text, err := os.ReadFile("/sys/dev/block/" + device + "/queue/read_ahead_kb")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text)) + " KiB"
}

// Loop is an ext4 file system on a loop device, whose image is read without a second page cache.
type Loop struct {
	Dir    string // where it is mounted
	image  string
	device string
}

// NewLoop makes a file system of size bytes below dir. It takes root.
func NewLoop(dir string, size int64) (l *Loop, err error) {
	l = &Loop{Dir: filepath.Join(dir, "loop"), image: filepath.Join(dir, "loop.img")}
	defer func() {
		if err != nil {
			err, l = errors.Join(err, l.Remove()), nil
		}
	}()
	if err := os.MkdirAll(l.Dir, 0o755); err != nil {
		return l, err
	}
	f, err := os.Create(l.image)
	if err != nil {
		return l, err
	}
	if err := errors.Join(unix.Fallocate(int(f.Fd()), 0, 0, size), f.Sync(), f.Close()); err != nil {
		return l, fmt.Errorf("making %s: %w", l.image, err)
	}
	if _, err := output("mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", l.image); err != nil {
		return l, err
	}
	if l.device, err = output("losetup", "--find", "--show", "--direct-io=on", l.image); err != nil {
		return l, err
	}
	queue := filepath.Join("/sys/block", filepath.Base(l.device), "queue/read_ahead_kb")
	if err := os.WriteFile(queue, []byte(strconv.Itoa(LoopReadAhead)), 0); err != nil {
		return l, err
	}
	_, err = output("mount", "-t", "ext4", l.device, l.Dir)
	return l, err
}

// output runs a program, and returns what it prints or why it failed.
func output(name string, args ...string) (string, error) {
	text, err := exec.Command(name, args...).Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("%s: %w: %s", name, err, strings.TrimSpace(string(failed.Stderr)))
	}
	return strings.TrimSpace(string(text)), err
}

// Remove unmounts the file system and removes its image.
func (l *Loop) Remove() error {
	err := unix.Unmount(l.Dir, 0)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EPERM) { // it is not mounted
		err = nil
	}
	if l.device != "" {
		_, detachErr := output("losetup", "--detach", l.device)
		err = errors.Join(err, detachErr)
	}
	return errors.Join(err, os.RemoveAll(l.Dir), os.RemoveAll(l.image))
}

// NewTmpfs makes a directory in /dev/shm.
func NewTmpfs() (string, error) {
	const shm = "/dev/shm"
	var stat unix.Statfs_t
	if err := unix.Statfs(shm, &stat); err != nil || stat.Type != unix.TMPFS_MAGIC {
		return "", fmt.Errorf("%s is no tmpfs", shm)
	}
	return os.MkdirTemp(shm, "mmapfile-ahead-")
}

// adviseFile tells the kernel that a range of a file will be read.
func adviseFile(f *os.File, off, n int64) error {
	return os.NewSyscallError("fadvise", unix.Fadvise(int(f.Fd()), off, n, unix.FADV_WILLNEED))
}
