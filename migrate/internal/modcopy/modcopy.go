// Package modcopy copies pinned modules out of the module cache, for programs that
// change, build and test the copies. It also runs migrate over them.
package modcopy

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Mmapfile is the path of the module whose File replaces *os.File.
const Mmapfile = "go.dw1.io/mmapfile"

// Command returns a command in dir that changes go.mod as it needs to.
func Command(ctx context.Context, dir, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off", "PWD="+dir)
	return cmd
}

// Run runs a program in dir and returns its standard output. An error has the other.
func Run(dir, name string, args ...string) ([]byte, error) {
	cmd := Command(context.Background(), dir, name, args...)
	var failure bytes.Buffer
	cmd.Stderr = &failure
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s %s: %w\n%s", filepath.Base(name), strings.Join(args, " "), err, failure.Bytes())
	}
	return out, err
}

// Module is one in the module cache.
type Module struct {
	Path, Version string
	Dir           string // in the module cache
}

// Download loads a module, which is given as path@version, into the module cache.
func Download(name string) (*Module, error) {
	out, err := Run(os.TempDir(), "go", "mod", "download", "-json", name)
	if err != nil {
		return nil, fmt.Errorf("%w%s", err, out)
	}
	m := &Module{}
	return m, json.Unmarshal(out, m)
}

// Copy copies the files of a module, for their owner to write.
func Copy(to, from string) error {
	return filepath.WalkDir(from, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		if e.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		}
		b, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), b, 0o644)
	})
}

// Require adds package mmapfile, whose module is in root, to the go.mod in dir. It
// returns the version of Go that go.mod then has, which this may have raised.
func Require(dir, root string) (string, error) {
	if _, err := Run(dir, "go", "mod", "edit", "-require="+Mmapfile+"@v0.0.0", "-replace="+Mmapfile+"="+root); err != nil {
		return "", err
	}
	if _, err := Run(dir, "go", "list", Mmapfile); err != nil { // loading it raises the version
		return "", err
	}
	out, err := Run(dir, "go", "list", "-m", "-f", "{{.GoVersion}}")
	return strings.TrimSpace(string(out)), err
}

// BuildMigrate builds migrate, from the module mmapfile in root, into dir. It returns the
// name of the program.
func BuildMigrate(root, dir string) (string, error) {
	tool := filepath.Join(dir, "migrate.exe")
	_, err := Run(filepath.Join(root, "migrate"), "go", "build", "-o", tool, ".")
	return tool, err
}

// Diagnostic is a report of migrate about one call.
type Diagnostic struct{ Category, Posn, Message string }

// Report runs the program tool, which is migrate, over packages in dir, and returns what it
// reports, by position. What does not compile there goes to log.
func Report(log io.Writer, dir, tool string, packages ...string) (map[string]Diagnostic, error) {
	out, err := Run(dir, tool, append([]string{"-json"}, packages...)...)
	if len(out) == 0 && err != nil {
		return nil, err
	}
	if err != nil {
		fmt.Fprintln(log, err)
	}
	var all map[string]map[string]json.RawMessage
	if err := json.Unmarshal(out, &all); err != nil {
		return nil, err
	}
	seen := map[string]Diagnostic{}
	for _, pkg := range all {
		for _, raw := range pkg {
			var list []Diagnostic
			if json.Unmarshal(raw, &list) != nil {
				continue // an error, which the log has
			}
			for _, d := range list {
				seen[d.Posn] = d
			}
		}
	}
	return seen, nil
}

// Fix rewrites all calls in packages in dir that can be rewritten. What does not compile there
// goes to log.
func Fix(log io.Writer, dir, tool string, packages ...string) {
	if _, err := Run(dir, tool, append([]string{"-fix", "-all"}, packages...)...); err != nil {
		fmt.Fprintln(log, err)
	}
}
