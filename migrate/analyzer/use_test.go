package analyzer

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestMethods_AreThoseOfFile compares the lists with the source of package mmapfile.
func TestMethods_AreThoseOfFile(t *testing.T) {
	names, err := filepath.Glob("../../*.go")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	var got []string
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && d.Recv != nil && d.Name.IsExported() && isPointerToFile(d.Recv.List[0].Type) {
				got = append(got, d.Name.Name)
			}
		}
	}
	slices.Sort(got)
	want := slices.Concat(methods, moreMethods)
	slices.Sort(want)
	if !slices.Equal(slices.Compact(got), want) {
		t.Errorf("mmapfile.File has the methods\n%v, not\n%v", got, want)
	}
	file := reflect.TypeFor[*os.File]()
	for _, name := range methods {
		if _, ok := file.MethodByName(name); !ok {
			t.Errorf("os.File has no method %s", name)
		}
	}
	for _, name := range moreMethods {
		if _, ok := file.MethodByName(name); ok {
			t.Errorf("os.File has a method %s as well", name)
		}
	}
}

func isPointerToFile(typ ast.Expr) bool {
	star, ok := typ.(*ast.StarExpr)
	if !ok {
		return false
	}
	id, ok := star.X.(*ast.Ident)
	return ok && (id.Name == "File" || id.Name == "file")
}
