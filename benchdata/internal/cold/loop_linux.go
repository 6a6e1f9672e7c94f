package cold

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

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
