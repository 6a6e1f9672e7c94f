package mmapfile_test

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func init() {
	sequences = append(sequences,
		sequence{"SEEK_DATA and SEEK_HOLE", append(some, zeroTail), append(readers, os.O_WRONLY), []mode{silent, kernel}, false, func(r *run, f anyFile, size int64) {
			const seekData, seekHole = 3, 4
			for _, whence := range []int{seekData, seekHole} {
				for _, off := range around(size) {
					r.seek(f, off, whence)
					r.read(f, 3)
				}
			}
			r.writeAt(f, []byte("data far out"), size+10*page)
			r.seek(f, size, seekData)
			r.read(f, 3)
			r.seek(f, 0, seekHole)
			r.read(f, 3)
		}},
		sequence{"files of the kernel", []content{empty}, nil, []mode{silent, probed}, false, func(r *run, _ anyFile, size int64) {
			for _, name := range []string{"/proc/version", "/proc/filesystems", "/sys/kernel/mm/transparent_hugepage/enabled"} {
				f := r.openFile(name, os.O_RDONLY, 0)
				if f == nil {
					continue
				}
				r.stat(f)
				r.readAt(f, 20, 3)
				for range 20 {
					r.read(f, 13)
				}
				r.seek(f, 0, io.SeekEnd)
				r.seek(f, 0, io.SeekStart)
				r.writeTo(f)
				r.everyMethod(f, 1<<20)
				r.close(f)
			}
			// This one differs from one open to the next: its first line does not.
			if f := r.openFile("/proc/self/status", os.O_RDONLY, 0); f != nil {
				r.read(f, 5)
				rest, err := io.ReadAll(f)
				r.note("rest is long", len(rest) > 100, r.err(err))
				r.seek(f, 0, io.SeekStart)
				r.readAt(f, 5, 0)
				r.seek(f, 0, io.SeekEnd)
				r.close(f)
			}
		}},
	)
}

// runAsNobody runs the calling test again in a child that has no rights of root.
func runAsNobody(t *testing.T, env string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// The test binary may lie where nobody may not go: give the child a copy.
	dir := scratchDir(t)
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(exe)
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(dir, "mmapfile.test")
	if err := os.WriteFile(copied, b, 0o755); err != nil {
		t.Fatal(err)
	}
	line := ftCommand(copied, "-test.run=^"+t.Name()+"$", "-test.v")
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env+"=1", "TMPDIR="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	if err != nil && len(out) == 0 {
		t.Skipf("cannot run a child as nobody: %v", err)
	}
	if err != nil || !strings.Contains(string(out), "--- PASS") {
		t.Errorf("as nobody: %v\n%s", err, out)
	}
}
