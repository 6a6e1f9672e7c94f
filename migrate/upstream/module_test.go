package main

import (
	"os"
	"path/filepath"
	"testing"
)

// A copy can be changed, and go.mod has the version of Go that mmapfile needs.
func TestRequire_RaisesGo(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	for name, content := range map[string]string{"go.mod": "module test.example\n\ngo 1.13\n", "a.go": "package a\n"} {
		if err := os.WriteFile(filepath.Join(from, name), []byte(content), 0o444); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	want, err := runIn(root, "go", "list", "-m", "-f", "{{.GoVersion}}")
	if err != nil {
		t.Fatal(err)
	}
	version, err := require(to, root)
	if err != nil || version+"\n" != string(want) {
		t.Errorf("go.mod has go %q, %v, want %s", version, err, want)
	}
	if _, err := runIn(to, "go", "build", "./..."); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(to, "a.go"), []byte("package b\n"), 0o644); err != nil {
		t.Error(err)
	}
}
