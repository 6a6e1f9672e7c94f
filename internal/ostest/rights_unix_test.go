//go:build unix

package ostest

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/filetest"
)

// denied opens the file with modes that its permissions forbid.
func (r *run) denied() {
	for _, mode := range []fs.FileMode{0, 0o400, 0o200} {
		os.Chmod(r.path, mode)
		for _, flag := range []int{os.O_RDONLY, os.O_RDWR, os.O_WRONLY, os.O_RDWR | os.O_TRUNC} {
			if f := r.open(flag); f != nil {
				r.read(f, 4)
				r.write(f, []byte("x"))
				r.close(f)
			}
		}
	}
	os.Chmod(r.path, 0o644)
	r.disk(r.path)
}

func TestOpenFile_PermissionDenied(t *testing.T) {
	const child = "MMAPFILE_TEST_DENIED"
	if os.Getenv(child) != "" || os.Geteuid() != 0 {
		c := filled("", []byte("content"))
		compare(t, silent, &c, func(r *run) { r.denied() })
		return
	}
	runWithoutRights(t, child)
}

// Directories that may be searched and not listed, as homes and web roots often are.
func TestDirFS_SearchOnlyDirectory(t *testing.T) {
	if !onLinux {
		t.Skip("os.Root opens each directory here")
	}
	const child = "MMAPFILE_TEST_SEARCH_ONLY"
	if os.Getenv(child) == "" && os.Geteuid() == 0 {
		runWithoutRights(t, child)
		return
	}
	dir := makeTree(t)
	for _, below := range []string{".", "sub"} {
		if err := os.Chmod(filepath.Join(dir, below), 0o311); err != nil {
			t.Fatal(err)
		}
		for _, call := range fsCalls {
			for _, name := range []string{"a.txt", "sub", "sub/c.txt", "sub/deeper", "."} {
				if call.name == "ReadLink" {
					continue // of no link
				}
				got, err := call.do(mmapfile.DirFS(dir), name)
				want, werr := call.do(os.DirFS(dir), name)
				if got != want || (err == nil) != (werr == nil) {
					t.Errorf("%s of %s: %q, %v, want %q, %v", call.name, name, got, err, want, werr)
				}
			}
		}
		_ = os.Chmod(filepath.Join(dir, below), 0o755)
	}
}

// runWithoutRights runs the calling test again in a child without the rights of root.
func runWithoutRights(t *testing.T, env string) {
	t.Helper()
	if !onLinux {
		t.Skip("root is permitted everything, and the child without its rights needs Linux")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// Without them the child may have no access to the test binary, nor to t.TempDir.
	dir, err := os.MkdirTemp("", "mmapfile-test-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(dir, "mmapfile.test")
	if err := os.WriteFile(copied, filetest.Read(t, exe), 0o755); err != nil {
		t.Fatal(err)
	}
	line := filetest.Command(copied, "-test.run=^"+t.Name()+"$", "-test.v")
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env+"=1", "TMPDIR="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	if err != nil && len(out) == 0 {
		t.Skipf("cannot run a child without the rights of root: %v", err)
	}
	if err != nil || !strings.Contains(string(out), "--- PASS") {
		t.Errorf("without the rights of root: %v\n%s", err, out)
	}
}
