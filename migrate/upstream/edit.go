package main

import (
	"bytes"
	"fmt"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/tools/go/ast/astutil"
)

// edit replaces text in one file. The old text must be there n times, or once if n is 0.
type edit struct {
	file     string
	old, new string
	n        int
}

// apply makes the edits in dir, and then adds and removes the imports that they need.
func apply(dir string, edits []edit) error {
	before := map[string][]byte{}
	for _, e := range edits {
		name := filepath.Join(dir, filepath.FromSlash(e.file))
		b, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if before[name] == nil {
			before[name] = b
		}
		if n := bytes.Count(b, []byte(e.old)); n != max(e.n, 1) {
			return fmt.Errorf("%s: %q is there %d times, not %d", e.file, e.old, n, max(e.n, 1))
		}
		if err := os.WriteFile(name, bytes.ReplaceAll(b, []byte(e.old), []byte(e.new)), 0o644); err != nil {
			return err
		}
	}
	for name, source := range before {
		if err := fixImports(name, source); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// fixImports imports package mmapfile in the file name, and removes the imports that it used
// before, and no longer does.
func fixImports(name string, before []byte) error {
	old, err := parser.ParseFile(token.NewFileSet(), name, before, 0)
	if err != nil {
		return err
	}
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, nil, parser.ParseComments)
	if err != nil {
		return err
	}
	for _, spec := range old.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return err
		}
		if spec.Name == nil && astutil.UsesImport(old, path) && !astutil.UsesImport(file, path) {
			astutil.DeleteImport(fset, file, path)
		}
	}
	astutil.AddImport(fset, file, mmapfilePath)
	if !astutil.UsesImport(file, mmapfilePath) {
		astutil.DeleteImport(fset, file, mmapfilePath) // the edit only hands over f.OS()
	}
	var out bytes.Buffer
	if err := format.Node(&out, fset, file); err != nil {
		return err
	}
	return os.WriteFile(name, out.Bytes(), 0o644)
}
