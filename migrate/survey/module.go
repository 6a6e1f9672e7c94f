package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.dw1.io/mmapfile/migrate/analyzer"
	"go.dw1.io/mmapfile/migrate/internal/modcopy"
)

type survey struct {
	root  string // the directory of the module mmapfile
	dir   string // the directory of the copies
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

func (s *survey) buildTool() (err error) {
	s.tool, err = modcopy.BuildMigrate(s.root, s.dir)
	return err
}

// download copies a module, which is given as path@version.
func (s *survey) download(name string) (*module, error) {
	m, err := modcopy.Download(name)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(s.dir, strings.ReplaceAll(m.Path, "/", "_"))
	return &module{m.Path, m.Version, dir, m.Dir}, modcopy.Copy(dir, m.Dir)
}

// report runs the tool and counts what it reports.
func (s *survey) report(m *module) (n counts, err error) {
	seen, err := modcopy.Report(os.Stderr, m.Dir, s.tool, "./...")
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
	return n, err
}

func (s *survey) print(m *module, seen map[string]modcopy.Diagnostic) {
	var lines []string
	for posn, d := range seen {
		lines = append(lines, strings.TrimPrefix(posn, m.Dir+string(filepath.Separator))+": "+d.Message)
	}
	slices.Sort(lines)
	fmt.Printf("%s\n\t%s\n", m.Path, strings.Join(lines, "\n\t"))
}

// rewrite changes all calls that can be changed, and builds and vets the result.
func (s *survey) rewrite(m *module) (string, error) {
	// Package mmapfile raises the version of Go in go.mod, and go vet knows more of a newer one.
	version, err := modcopy.Require(m.Dir, s.root)
	if err != nil {
		return "", err
	}
	modcopy.Fix(os.Stderr, m.Dir, s.tool, "./...")
	if _, err := modcopy.Run(m.Dir, "go", "build", "./..."); err != nil {
		return "does not build", err
	}
	_, err = modcopy.Run(m.Dir, "go", "vet", "./...")
	if err == nil {
		return "builds, vets", nil
	}
	before := m.Dir + ".before"
	if err := modcopy.Copy(before, m.cached); err != nil {
		return "", err
	}
	if _, err := modcopy.Run(before, "go", "mod", "edit", "-go="+version); err != nil {
		return "", err
	}
	_, old := modcopy.Run(before, "go", "vet", "./...")
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
