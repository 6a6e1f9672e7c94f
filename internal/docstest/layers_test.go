package docstest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// layers returns the layer of each file in the list of docs/design.md, 0 for the lowest.
func layers(t *testing.T) map[string]int {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("docs", "design.md"))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(page), "\r\n", "\n")
	_, section, _ := strings.Cut(text, "\n## Layers\n")
	section, _, _ = strings.Cut(section, "\n## ")
	layer := map[string]int{}
	rows := regexp.MustCompile(`(?m)^\| [^|]+ \| (.+\.go) \|$`).FindAllStringSubmatch(section, -1)
	for i, row := range rows {
		for _, name := range strings.Split(row[1], ", ") {
			if _, twice := layer[name]; twice {
				t.Errorf("docs/design.md lists %s twice", name)
			}
			layer[name] = len(rows) - 1 - i
		}
	}
	return layer
}

// sources parses the files of the package, tests left out.
func sources(t *testing.T, fset *token.FileSet) map[string]*ast.File {
	t.Helper()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]*ast.File{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fset, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = file
	}
	return files
}

// stubs imports packages that have no more than is needed to tell the type of an expression of
// ours. So the test needs neither the sources of other packages nor the go command.
type stubs map[string]*types.Package

var stubSources = map[string]string{
	"slices":      "func Backward[S ~[]E, E any](s S) func(yield func(int, E) bool) { return nil }",
	"sync/atomic": "type Pointer[T any] struct{}; func (*Pointer[T]) Load() (p *T) { return }; func (*Pointer[T]) Swap(*T) (p *T) { return }",
	"weak":        "type Pointer[T any] struct{}; func (Pointer[T]) Value() (p *T) { return }; func Make[T any](*T) (p Pointer[T]) { return }",
}

func (s stubs) Import(path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	if p := s[path]; p != nil {
		return p, nil
	}
	name := path[strings.LastIndexByte(path, '/')+1:]
	p := types.NewPackage(path, name)
	if source := stubSources[path]; source != "" {
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, name+".go", "package "+name+"\n"+source, 0)
		if err != nil {
			return nil, err
		}
		if p, err = new(types.Config).Check(path, fset, []*ast.File{file}, nil); err != nil {
			return nil, err
		}
	}
	p.MarkComplete()
	s[path] = p
	return p, nil
}

// A use is one of something that another file declares.
type use struct{ from, to, what string }

// uses finds them in one build of the package. Fields do not count, nor a method's receiver.
func uses(t *testing.T, fset *token.FileSet, files map[string]*ast.File) map[use]bool {
	t.Helper()
	info := types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: stubs{}, Error: func(error) {}} // of what the stubs lack
	pkg, _ := config.Check("mmapfile", fset, slices.Collect(maps.Values(files)), &info)

	methods := map[string]bool{} // of our types, that no other package can have
	for _, file := range files {
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil && !f.Name.IsExported() {
				methods[f.Name.Name] = true
			}
		}
	}
	found := map[use]bool{}
	for from, file := range files {
		note := func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if info.Uses[n.Sel] == nil && methods[n.Sel.Name] {
					t.Errorf("%s: the type of what has the method %s is not known: it needs a stub", fset.Position(n.Pos()), n.Sel.Name)
				}
			case *ast.Ident:
				obj := info.Uses[n]
				if obj == nil || obj.Pkg() != pkg || !obj.Pos().IsValid() {
					break
				}
				f, method := obj.(*types.Func)
				method = method && f.Signature().Recv() != nil
				if to := fset.Position(obj.Pos()).Filename; to != from && (method || obj.Parent() == pkg.Scope()) {
					found[use{from, to, obj.Name()}] = true
				}
			}
			return true
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				ast.Inspect(f.Type, note)
				if f.Body != nil {
					ast.Inspect(f.Body, note)
				}
			} else {
				ast.Inspect(d, note)
			}
		}
	}
	return found
}

// TestLayers_Files checks that docs/design.md lists all files, that they are few, and none long.
func TestLayers_Files(t *testing.T) {
	layer := layers(t)
	fset := token.NewFileSet()
	all := sources(t, fset)
	if len(all) > 28 {
		t.Errorf("the package has %d files", len(all))
	}
	for name, file := range all {
		if _, ok := layer[name]; !ok {
			t.Errorf("docs/design.md has no layer for %s", name)
		}
		if n := fset.File(file.Pos()).LineCount() - 1; n < 15 || n > 400 {
			t.Errorf("%s has %d lines", name, n)
		}
	}
	for name := range layer {
		if all[name] == nil {
			t.Errorf("docs/design.md lists %s, which does not exist", name)
		}
	}
}

// TestLayers_Uses checks that no file uses a layer above its own: see docs/design.md.
func TestLayers_Uses(t *testing.T) {
	layer := layers(t)
	fset := token.NewFileSet()
	all := sources(t, fset)
	for _, seam := range []string{"mmap_unix.go", "mmap_windows.go", "mmap_fallback.go"} {
		files := maps.Clone(all)
		maps.DeleteFunc(files, func(name string, _ *ast.File) bool {
			return strings.HasPrefix(name, "mmap_") && name != seam
		})
		found := uses(t, fset, files)
		for u := range found {
			// All methods of the machinery are those of file.
			if layer[u.from] < layer[u.to] && (u.what != "file" || u.from == seam) {
				t.Errorf("%s uses %s of %s, which is in a layer above", u.from, u.what, u.to)
			}
		}
		for _, want := range []use{
			{"read.go", "fault.go", "load"}, {"proof.go", "fault.go", "unguard"}, {"mapping.go", seam, "unmap"}, {"view.go", "size.go", "ask"},
		} {
			if !found[want] {
				t.Errorf("not found, with %s: %v", seam, want)
			}
		}
	}
}

// TestLayers_Seam checks that the seam has the same functions on every platform, and few.
func TestLayers_Seam(t *testing.T) {
	fset := token.NewFileSet()
	all := sources(t, fset)
	shared := map[string]int{}
	seams := []string{"mmap_unix.go", "mmap_windows.go", "mmap_fallback.go"}
	for _, seam := range seams {
		n := 0
		for _, d := range all[seam].Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				if n++; f.Recv != nil {
					t.Errorf("%s has the method %s", seam, f.Name.Name)
				}
				shared[f.Name.Name]++
			}
		}
		if n > 16 {
			t.Errorf("%s has %d functions", seam, n)
		}
	}
	rest := maps.Clone(all)
	maps.DeleteFunc(rest, func(name string, _ *ast.File) bool { return strings.HasPrefix(name, "mmap_") })
	for _, file := range rest {
		ast.Inspect(file, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && shared[id.Name] > 0 && shared[id.Name] < len(seams) {
				t.Errorf("%s: only some platforms have %s", fset.Position(id.Pos()), id.Name)
			}
			return true
		})
	}
}
