//go:build !js

package billyfs_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// allFS stands for the upstream's function of that name, which lists the file systems to test.
const allFS = `package test

import (
	"io/fs"
	"os"
	"path/filepath"

	"github.com/go-git/go-billy/v6"

	"go.dw1.io/mmapfile/adapters/billyfs"
)

var (
	customMode            fs.FileMode = 0o755
	expectedSymlinkTarget             = filepath.FromSlash("/dir/file")
)

type boundFS = billyfs.FS

func allFS(tempDir func() string) []billy.Filesystem {
	root, err := os.OpenRoot(tempDir())
	if err != nil {
		panic(err)
	}
	rooted, err := billyfs.FromRoot(root)
	if err != nil {
		panic(err)
	}
	return []billy.Filesystem{billyfs.New(tempDir()), rooted}
}
`

// The tests of go-billy, which are made for all file systems, pass with this one. They cannot be imported. So
// they are copied into a module for the time of the test.
func TestFS_Upstream(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the tests of go-billy")
	}
	upstream := filepath.Join(golang(t, ".", "list", "-m", "-f", "{{.Dir}}", "github.com/go-git/go-billy/v6"), "test")
	dir := t.TempDir()
	names, err := filepath.Glob(filepath.Join(upstream, "*_test.go"))
	if err != nil || len(names) < 5 {
		t.Fatalf("%d files in %s, %v", len(names), upstream, err)
	}
	for _, name := range names {
		if strings.HasPrefix(filepath.Base(name), "bench") {
			continue
		}
		// They ask whether the file system is that of osfs, whose names it has.
		text := strings.ReplaceAll(read(t, name), "*osfs.BoundOS", "boundFS")
		if !strings.Contains(text, "osfs.") {
			text = strings.Replace(text, "\t\"github.com/go-git/go-billy/v6/osfs\"\n", "", 1)
		}
		write(t, filepath.Join(dir, filepath.Base(name)), text)
	}
	write(t, filepath.Join(dir, "all_test.go"), allFS)
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	module := strings.NewReplacer("module go.dw1.io/mmapfile/adapters", "module conformance", "=> ../", fmt.Sprintf("=> %q", root)).Replace(read(t, "../go.mod")) +
		fmt.Sprintf("\nrequire go.dw1.io/mmapfile/adapters v0.0.0\nreplace go.dw1.io/mmapfile/adapters => %q\n", filepath.Join(root, "adapters"))
	write(t, filepath.Join(dir, "go.mod"), module)
	write(t, filepath.Join(dir, "go.sum"), read(t, "../go.sum"))
	// Two that take half a minute make files alone, which is the work of osfs.
	out := golang(t, dir, "test", "-mod=mod", "-count=1", "-v", "-skip=TempFileMany", ".")
	if n := strings.Count(out, "\n    --- PASS"); n < 100 {
		t.Errorf("%d tests passed:\n%s", n, out)
	}
}

// golang runs the go command in a directory, and returns what it prints.
func golang(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func read(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}
