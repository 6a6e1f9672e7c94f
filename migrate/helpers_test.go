package main

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// tool builds the command once for all tests.
var tool = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "migrate")
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "migrate.exe")
	out, err := exec.Command("go", "build", "-o", name, ".").CombinedOutput()
	if err != nil {
		os.Stderr.Write(out)
	}
	return name, err
})

func TestMain(m *testing.M) {
	code := m.Run()
	if name, err := tool(); err == nil {
		os.RemoveAll(filepath.Dir(name))
	}
	os.Exit(code)
}

func toolPath(t *testing.T) string {
	t.Helper()
	name, err := tool()
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// module writes a module that can import the package here, with the files of dir.
func module(t *testing.T, dir string) string {
	t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	to := t.TempDir()
	write(t, filepath.Join(to, "go.sum"), string(sum))
	write(t, filepath.Join(to, "go.mod"), "module test.example\n\ngo 1.26.0\n\nrequire go.dw1.io/mmapfile v0.0.0\n\nreplace go.dw1.io/mmapfile => "+root+"\n")
	if dir != "" {
		copySource(t, dir, to)
	}
	return to
}

// local gives the packages that others import a path in the module.
var local = strings.NewReplacer(`"mmap"`, `"test.example/mmap"`, `"progress"`, `"test.example/progress"`)

// copySource copies the Go files of dir into the module to.
func copySource(t *testing.T, dir, to string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || filepath.Ext(name) != ".go" {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		b, err := os.ReadFile(name)
		write(t, filepath.Join(to, rel), local.Replace(string(b)))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// execute runs a command in dir and returns what it prints.
func execute(t *testing.T, dir string, want int, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off", "PWD="+dir)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != want {
		t.Fatalf("%s %q: %v, want status %d\n%s", filepath.Base(name), args, err, want, out.Bytes())
	}
	return out.String()
}
