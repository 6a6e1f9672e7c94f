package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
)

// eager has the constants of the policy at the values with which a mapping is made and used
// the soonest. Some then make no sense as a policy: any call pays, and all state ends at once.
var eager = map[string]string{
	"trackFrom":   "1",
	"mapFrom":     "1",
	"readyFrom":   "1",
	"savedShare":  "0",       // each byte counts as a call
	"orderFrom":   "1",       // the second read in order is a run
	"orderMax":    "1 << 30", // a run of any length
	"aheadBytes":  "64 << 10",
	"prereadMax":  "64 << 10",
	"savingMin":   "1 << 20", // a mapped write saves a millisecond
	"firstPrice":  "1",
	"lookEvery":   "1",
	"timeEvery":   "1",
	"evictPause":  "time.Millisecond",
	"evictTick":   "10 * time.Millisecond",
	"lasts":       "time.Millisecond",
	"budgetStart": "1 << 60", // trying is free
	"budgetMax":   "1 << 60",
	"mapNeeds":    "0",
	"mapOwn":      "1",
	"recordFree":  "1",
}

// countVar names the environment variable with the file that grows by a byte for each mapping.
const countVar = "MMAPFILE_UPSTREAM_COUNT"

// countAnchor is in mapping.go, where a mapping is published. countCall is added before it.
const (
	countAnchor = "\tpages.Watch(anyMapped)\n"
	countCall   = "\tcountMapping()\n"
)

// counter is added to package mmapfile.
const counter = `package mmapfile

import "os"

var mappingsTo, _ = os.OpenFile(os.Getenv("` + countVar + `"), os.O_WRONLY|os.O_APPEND, 0)

func countMapping() { mappingsTo.Write([]byte{'m'}) } // an error if it is nil
`

// policyDirs are the directories of the module mmapfile that may have the constants.
var policyDirs = []string{".", "internal/pages", "internal/mtime"}

// overlay writes a file for go build -overlay into dir, and returns its name. The package
// in root then counts its mappings and has the constants given.
func overlay(root, dir string, constants map[string]string) (string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	replace := map[string]string{}
	put := func(original, name string, content []byte) error {
		replace[original] = filepath.Join(dir, name)
		return os.WriteFile(replace[original], content, 0o644)
	}
	if err := put(filepath.Join(root, "upstream_count.go"), "count.go", []byte(counter)); err != nil {
		return "", err
	}
	found, counted := map[string]bool{}, false
	for _, sub := range policyDirs {
		names, err := filepath.Glob(filepath.Join(root, sub, "*.go"))
		if err != nil {
			return "", err
		}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			source, err := os.ReadFile(name)
			if err != nil {
				return "", err
			}
			if bytes.Contains(source, []byte("\n//go:build mmapfile_eager\n")) || bytes.HasPrefix(source, []byte("//go:build mmapfile_eager\n")) {
				continue // the same constants, for the tests of the package
			}
			changed, err := setConstants(name, source, constants, found)
			if err != nil {
				return "", err
			}
			if bytes.Contains(source, []byte(countAnchor)) {
				if changed == nil {
					changed = source
				}
				changed = bytes.Replace(changed, []byte(countAnchor), []byte(countCall+countAnchor), 1)
				counted = true
			}
			if changed != nil {
				flat := strings.ReplaceAll(sub, "/", "_") + "_" + filepath.Base(name)
				if err := put(name, flat, changed); err != nil {
					return "", err
				}
			}
		}
	}
	for name := range constants {
		if !found[name] {
			return "", fmt.Errorf("no constant %s in %s of %s: has it another name now?", name, strings.Join(policyDirs, ", "), root)
		}
	}
	if !counted {
		return "", fmt.Errorf("%q is not in package mmapfile of %s: mappings cannot be counted", countAnchor, root)
	}
	b, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "overlay.json")
	return name, os.WriteFile(name, b, 0o644)
}

// setConstants returns source with other values of the constants, or nil if it declares none of
// them. It notes in found which it does; one that is declared twice is an error. A name
// may have become an exported one.
func setConstants(name string, source []byte, constants map[string]string, found map[string]bool) ([]byte, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var out []byte
	done := 0
	for _, d := range file.Decls {
		decl, ok := d.(*ast.GenDecl)
		if !ok || decl.Tok != token.CONST {
			continue
		}
		for _, s := range decl.Specs {
			spec := s.(*ast.ValueSpec)
			for i, id := range spec.Names {
				key := strings.ToLower(id.Name[:1]) + id.Name[1:]
				value, ok := constants[key]
				if !ok {
					continue
				}
				if found[key] || i >= len(spec.Values) {
					return nil, fmt.Errorf("%s: the constant %s is declared twice, or has no value of its own", fset.Position(id.Pos()), id.Name)
				}
				found[key] = true
				out = append(out, source[done:fset.Position(spec.Values[i].Pos()).Offset]...)
				out = append(out, value...)
				done = fset.Position(spec.Values[i].End()).Offset
			}
		}
	}
	if out == nil {
		return nil, nil
	}
	return append(out, source[done:]...), nil
}
