package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.dw1.io/mmapfile/migrate/analyzer"
)

type survey struct {
	root  string // of the module mmapfile
	dir   string // of the copies
	tool  string
	check bool
	list  bool
}

// module is one that is surveyed, in a copy that can be changed.
type module struct {
	Path, Version, Dir string
	cached             string // the directory in the module cache
}

// counts are those of the calls that open a file.
type counts struct{ likely, noGain, refused int }

func (n *counts) add(m counts) {
	n.likely += m.likely
	n.noGain += m.noGain
	n.refused += m.refused
}

func (n counts) String() string {
	return fmt.Sprintf("%d\t%d\t%d\t%d\t", n.likely+n.noGain+n.refused, n.likely, n.noGain, n.refused)
}

// command runs a program in dir and returns its standard output.
func command(dir, name string, args ...string) ([]byte, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off", "PWD="+dir)
	var failure bytes.Buffer
	cmd.Stderr = &failure
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s %s: %w\n%s", filepath.Base(name), strings.Join(args, " "), err, failure.Bytes())
	}
	return out, err
}

func (s *survey) buildTool() error {
	s.tool = filepath.Join(s.dir, "migrate.exe")
	_, err := command(filepath.Join(s.root, "migrate"), "go", "build", "-o", s.tool, ".")
	return err
}

// download copies a module, which is given as path@version.
func (s *survey) download(name string) (*module, error) {
	out, err := command(s.dir, "go", "mod", "download", "-json", name)
	if err != nil {
		return nil, err
	}
	m := &module{}
	if err := json.Unmarshal(out, m); err != nil {
		return nil, err
	}
	m.cached = m.Dir
	m.Dir = filepath.Join(s.dir, strings.ReplaceAll(m.Path, "/", "_"))
	return m, copyTree(m.Dir, m.cached)
}

// copyTree copies the files of a module, for their owner to write.
func copyTree(to, from string) error {
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

// diagnostic is one of the tool's reports in JSON.
type diagnostic struct{ Category, Posn, Message string }

// report runs the tool and counts what it reports.
func (s *survey) report(m *module) (n counts, err error) {
	out, err := command(m.Dir, s.tool, "-json", "./...")
	if len(out) == 0 && err != nil {
		return n, err
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err) // some package does not compile here
	}
	var all map[string]map[string]json.RawMessage
	if err := json.Unmarshal(out, &all); err != nil {
		return n, err
	}
	seen := map[string]diagnostic{}
	for _, pkg := range all {
		for _, raw := range pkg {
			var list []diagnostic
			if json.Unmarshal(raw, &list) != nil {
				continue // an error, which the standard error has
			}
			for _, d := range list {
				seen[d.Posn] = d
			}
		}
	}
	for _, d := range seen {
		switch d.Category {
		case analyzer.Rewrite:
			n.likely++
		case analyzer.NoGain:
			n.noGain++
		case analyzer.Refused:
			n.refused++
		}
	}
	if s.list {
		s.print(m, seen)
	}
	return n, nil
}

func (s *survey) print(m *module, seen map[string]diagnostic) {
	var lines []string
	for posn, d := range seen {
		lines = append(lines, strings.TrimPrefix(posn, m.Dir+string(filepath.Separator))+": "+d.Message)
	}
	slices.Sort(lines)
	fmt.Printf("%s\n\t%s\n", m.Path, strings.Join(lines, "\n\t"))
}

// rewrite changes all calls that can be changed, and builds and vets the result.
func (s *survey) rewrite(m *module) (string, error) {
	if _, err := command(m.Dir, "go", "mod", "edit", "-require=go.dw1.io/mmapfile@v0.0.0", "-replace=go.dw1.io/mmapfile="+s.root); err != nil {
		return "", err
	}
	if _, err := command(m.Dir, s.tool, "-fix", "-all", "./..."); err != nil {
		fmt.Fprintln(os.Stderr, err) // some package does not compile here
	}
	if _, err := command(m.Dir, "go", "build", "./..."); err != nil {
		return "does not build", err
	}
	_, err := command(m.Dir, "go", "vet", "./...")
	if err == nil {
		return "builds, vets", nil
	}
	before := m.Dir + ".before"
	if err := copyTree(before, m.cached); err != nil {
		return "", err
	}
	// Package mmapfile raises the version of Go in go.mod, and go vet knows more of a newer one.
	version, versionErr := command(m.Dir, "go", "list", "-m", "-f", "{{.GoVersion}}")
	if versionErr != nil {
		return "", versionErr
	}
	if _, err := command(before, "go", "mod", "edit", "-go="+strings.TrimSpace(string(version))); err != nil {
		return "", err
	}
	_, old := command(before, "go", "vet", "./...")
	if old == nil {
		return "does not vet", err
	}
	if !slices.Equal(findings(old), findings(err)) {
		fmt.Fprintf(os.Stderr, "%s, with package os:\n%v\nand with mmapfile:\n%v\n", m.Path, old, err)
		return "vets with other findings", nil
	}
	return "builds, vets as before", nil
}

var position = regexp.MustCompile(`:\d+(:\d+)?`)

// findings returns the lines of an error of go vet without line numbers, which imports change.
func findings(err error) []string {
	lines := strings.Split(position.ReplaceAllString(err.Error(), ""), "\n")
	slices.Sort(lines)
	return lines
}
