package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// mmapfilePath is the path of the module whose File replaces *os.File.
const mmapfilePath = "go.dw1.io/mmapfile"

// command returns a command in dir that changes go.mod as it needs to.
func command(ctx context.Context, dir, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off", "PWD="+dir)
	return cmd
}

// runIn runs a program in dir and returns its standard output. An error has the other.
func runIn(dir, name string, args ...string) ([]byte, error) {
	cmd := command(context.Background(), dir, name, args...)
	var failure bytes.Buffer
	cmd.Stderr = &failure
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s %s: %w\n%s", filepath.Base(name), strings.Join(args, " "), err, failure.Bytes())
	}
	return out, err
}

// module is one in the module cache.
type module struct {
	Path, Version string
	Dir           string // in the module cache
}

// download loads a module, which is given as path@version, into the module cache.
func download(name string) (*module, error) {
	out, err := runIn(os.TempDir(), "go", "mod", "download", "-json", name)
	if err != nil {
		return nil, fmt.Errorf("%w%s", err, out)
	}
	m := &module{}
	return m, json.Unmarshal(out, m)
}

// require adds package mmapfile, whose module is in root, to the go.mod in dir. It
// returns the version of Go that go.mod then has, which this may have raised.
func require(dir, root string) (string, error) {
	if _, err := runIn(dir, "go", "mod", "edit", "-require="+mmapfilePath+"@v0.0.0", "-replace="+mmapfilePath+"="+root); err != nil {
		return "", err
	}
	if _, err := runIn(dir, "go", "list", mmapfilePath); err != nil { // loading it raises the version
		return "", err
	}
	out, err := runIn(dir, "go", "list", "-m", "-f", "{{.GoVersion}}")
	return strings.TrimSpace(string(out)), err
}

// buildMigrate builds migrate, from the module mmapfile in root, into dir. It returns the
// name of the program.
func buildMigrate(root, dir string) (string, error) {
	tool := filepath.Join(dir, "migrate.exe")
	_, err := runIn(filepath.Join(root, "migrate"), "go", "build", "-o", tool, ".")
	return tool, err
}

// diagnostic is a report of migrate about one call.
type diagnostic struct{ Category, Posn, Message string }

// reportOf runs the program tool, which is migrate, over packages in dir, and returns what it
// reports, by position. What does not compile there goes to log.
func reportOf(log io.Writer, dir, tool string, packages ...string) (map[string]diagnostic, error) {
	out, err := runIn(dir, tool, append([]string{"-json"}, packages...)...)
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
	seen := map[string]diagnostic{}
	for _, pkg := range all {
		for _, raw := range pkg {
			var list []diagnostic
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

// rewrite rewrites all calls in packages in dir that can be rewritten. What does not compile there
// goes to log.
func rewrite(log io.Writer, dir, tool string, packages ...string) {
	if _, err := runIn(dir, tool, append([]string{"-fix", "-all"}, packages...)...); err != nil {
		fmt.Fprintln(log, err)
	}
}
