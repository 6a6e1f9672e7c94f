package filetest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// ProcessStatus returns a figure of /proc/self/status in bytes.
func ProcessStatus(key string) (int64, error) {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, key+":"); ok {
			kb, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return kb << 10, err
		}
	}
	return 0, fmt.Errorf("no %s in /proc/self/status", key)
}

// CountMaps returns the number of mappings of the process, those of parallel tests included.
func CountMaps(t testing.TB) int {
	t.Helper()
	return bytes.Count(Read(t, "/proc/self/maps"), []byte("\n"))
}

// CountDescriptors returns the number of open descriptors of the process.
func CountDescriptors(t testing.TB) int {
	t.Helper()
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(names)
}

// VirtualSize returns the size of the address space of the process.
func VirtualSize(t testing.TB) int64 {
	t.Helper()
	n, err := ProcessStatus("VmSize")
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// SmallDisk is Tmpfs of 1 MiB.
func SmallDisk(t *testing.T) string { return Tmpfs(t, "1m") }

// Tmpfs mounts a tmpfs of this size and returns its directory. A test that needs the space of files
// that it removes does not run in parallel: a child that another one starts has copies of all
// descriptors until its exec.
func Tmpfs(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("mmapfile-test", dir, "tmpfs", 0, "size="+size+",mode=777"); err != nil {
		t.Skip("a small disk can only be mounted by root: ", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// XFS mounts a new xfs of 300 MiB, the least that mkfs.xfs makes, and returns its directory.
func XFS(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can mount a file system")
	}
	if strconv.IntSize == 32 {
		t.Skip("closed files of this test keep the address space that other tests need")
	}
	image, dir := filepath.Join(t.TempDir(), "image"), t.TempDir()
	Write(t, image, nil)
	if err := os.Truncate(image, 300<<20); err != nil {
		t.Fatal(err)
	}
	for _, line := range [][]string{{"mkfs.xfs", "-q", image}, {"mount", "-o", "loop", image, dir}} {
		if out, err := exec.Command(line[0], line[1:]...).CombinedOutput(); err != nil {
			t.Skipf("%v: %v %s", line[0], err, out)
		}
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// FillDisk writes to the new file name until the disk is full.
func FillDisk(t *testing.T, name string) {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
}

// MappedMemory returns how many bytes of the file the process has mapped and in its memory.
func MappedMemory(t testing.TB, name string) (n int64) {
	t.Helper()
	b, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Skip(err)
	}
	ofFile := false
	for line := range strings.Lines(string(b)) {
		key, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch {
		case strings.Contains(key, "-"): // a new range: its addresses, with the device after them
			ofFile = strings.HasSuffix(rest, " "+name)
		case key == "Rss" && ofFile:
			kb, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(rest, " kB")), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			n += kb << 10
		}
	}
	return n
}
