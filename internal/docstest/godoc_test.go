package docstest

import (
	"bytes"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/printer"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Comments use no private language, in all modules.
func TestComments_Language(t *testing.T) {
	t.Chdir(root)
	fset, n := token.NewFileSet(), 0
	for _, name := range files(t, ".go") {
		if strings.Contains(name, "testdata/") {
			continue // some are no Go, by intention
		}
		f, err := parser.ParseFile(fset, filepath.FromSlash(name), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range f.Comments {
			n++
			if word := private.FindString(c.Text()); word != "" {
				t.Errorf("%s: %q", fset.Position(c.Pos()), word)
			}
		}
	}
	if n < 1000 {
		t.Errorf("%d comments", n)
	}
}

// What go doc prints for a name of the root package fits on a screen, and the package's comment on one and a half.
func TestGoDoc_Screen(t *testing.T) {
	t.Chdir(root)
	const screen = 24
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	pkg, err := doc.NewFromFiles(fset, files, "go.dw1.io/mmapfile")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	check := func(name, text string, decl ast.Decl, most int) {
		n++
		p := pkg.Printer()
		p.TextWidth = 80
		if decl != nil {
			p.TextWidth = 76 // it is indented
		}
		lines := strings.Count(string(p.Text(pkg.Parser().Parse(text))), "\n")
		if decl != nil {
			var b bytes.Buffer
			if err := printer.Fprint(&b, fset, &printer.CommentedNode{Node: decl, Comments: comments(files, decl)}); err != nil {
				t.Fatal(err)
			}
			lines += strings.Count(strings.TrimSpace(b.String()), "\n") + 1
		}
		if lines > most {
			t.Errorf("go doc prints %d lines for %s, of at most %d", lines, name, most)
		}
	}
	funcs := func(prefix string, list []*doc.Func) {
		for _, f := range list {
			check(prefix+f.Name, f.Doc, f.Decl, screen)
		}
	}
	check("the package", pkg.Doc, nil, screen*3/2)
	funcs("", pkg.Funcs)
	for _, typ := range pkg.Types {
		if typ.Name == "File" && len(typ.Funcs) < 8 {
			t.Errorf("go doc lists only %d functions that open a File under it", len(typ.Funcs))
		}
		check(typ.Name, typ.Doc, typ.Decl, screen)
		funcs("", typ.Funcs)
		funcs(typ.Name+".", typ.Methods)
		for _, c := range slices.Concat(typ.Consts, typ.Vars) {
			check(typ.Name+"'s values", c.Doc, c.Decl, screen)
		}
	}
	if n < 50 {
		t.Errorf("only %d names", n)
	}
}

// The tables that say which of a package's names to use fit into a terminal of 80 columns.
func TestGoDoc_Tables(t *testing.T) {
	t.Chdir(root)
	n := 0
	for _, name := range []string{"doc.go", "scan/scan.go", "eventlog/doc.go"} {
		table := false
		for i, line := range fileLines(t, name) {
			row, ok := strings.CutPrefix(line, "//\t")
			if table = ok && (table || strings.HasPrefix(row, "you want ")); !table {
				continue
			}
			n++
			if len(row) > 76 { // go doc indents it by 4
				t.Errorf("%s:%d: a row of %d columns", name, i+1, len(row))
			}
		}
	}
	if n < 18 {
		t.Errorf("only %d rows", n)
	}
}

// comments returns those inside decl.
func comments(files []*ast.File, decl ast.Decl) (list []*ast.CommentGroup) {
	for _, f := range files {
		for _, c := range f.Comments {
			if decl.Pos() < c.Pos() && c.End() <= decl.End() {
				list = append(list, c)
			}
		}
	}
	return list
}
