package analyzer

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// outside is what can refer to the package's declarations unseen.
type outside struct {
	names    map[string]string // each name of a package that a file that is not compiled here uses or declares, and that file
	members  map[string]string // the same for names of fields and methods
	literals map[string]string // each type of a literal there that leaves out field names
	asserts  map[string]string // each function there that asserts a *File, and its file
	tests    bool              // test files are among these files
}

// findOutside parses the files of the package's directory that this pass does
// not have: those for other systems or build tags, and the tests.
func (c *checker) findOutside() {
	c.outside.names = map[string]string{}
	c.outside.members = map[string]string{}
	c.outside.literals = map[string]string{}
	c.outside.asserts = map[string]string{}
	if len(c.Files) == 0 {
		return
	}
	seen := map[string]bool{}
	for _, f := range c.Files {
		seen[filepath.Base(c.Fset.File(f.FileStart).Name())] = true
		seen[filepath.Base(c.Fset.Position(f.Package).Filename)] = true
		c.findLinknames(f)
	}
	ignored := map[string]bool{}
	for _, name := range c.IgnoredFiles {
		ignored[filepath.Base(name)] = true
	}
	dir := filepath.Dir(c.Fset.Position(c.Files[0].Package).Filename)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // an overlay, of which the driver has all files
	}
	for _, entry := range entries {
		name := entry.Name()
		if seen[name] || filepath.Ext(name) != ".go" || strings.HasPrefix(name, "_") || strings.HasPrefix(name, ".") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, name), nil, parser.ParseComments)
		if f == nil || f.Name == nil || err != nil || f.Name.Name != c.Pkg.Name() {
			continue
		}
		if strings.HasSuffix(name, "_test.go") && !ignored[name] {
			c.outside.tests = true
		}
		c.findNames(f, name)
		ast.Inspect(f, func(n ast.Node) bool {
			if n, ok := n.(*ast.CompositeLit); ok {
				c.findLiteral(n, name)
			}
			return true
		})
		c.findLinknames(f)
		c.findAsserts(f, name)
	}
}

// findNames notes the names in a file that can be those of declarations in others. Its own variables
// and parameters are not among them.
func (c *checker) findNames(f *ast.File, file string) {
	//lint:ignore SA1019 the files for other systems have no types here
	for _, id := range f.Unresolved {
		c.outside.names[id.Name] = file
	}
	//lint:ignore SA1019 see above
	for name := range f.Scope.Objects {
		c.outside.names[name] = file
	}
	member := func(ids ...*ast.Ident) {
		for _, id := range ids {
			c.outside.members[id.Name] = file
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			member(n.Sel)
		case *ast.KeyValueExpr:
			if id, ok := n.Key.(*ast.Ident); ok {
				member(id)
			}
		case *ast.FuncDecl:
			if n.Recv != nil {
				member(n.Name)
			}
		case *ast.StructType:
			for _, field := range n.Fields.List {
				member(field.Names...)
			}
		case *ast.InterfaceType:
			for _, method := range n.Methods.List {
				member(method.Names...)
			}
		}
		return true
	})
}

// findAsserts notes the functions and methods of a file that assert a *File.
func (c *checker) findAsserts(f *ast.File, file string) {
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		ast.Inspect(fn, func(n ast.Node) bool {
			var asserted []ast.Expr
			switch n := n.(type) {
			case *ast.TypeAssertExpr:
				asserted = []ast.Expr{n.Type}
			case *ast.CaseClause:
				asserted = n.List
			}
			if slices.ContainsFunc(asserted, namesFile) {
				c.outside.asserts[fn.Name.Name] = file
			}
			return true
		})
	}
}

// namesFile reports whether e points to a type File of another package, in a file that is only
// parsed.
func namesFile(e ast.Expr) bool {
	star, ok := e.(*ast.StarExpr)
	if !ok {
		return false
	}
	sel, ok := star.X.(*ast.SelectorExpr)
	return ok && sel.Sel.Name == "File"
}

// lookOutside marks the parameters of the functions that assert *os.File on another
// system or with other build tags, where the same source has to work as well.
func (c *checker) lookOutside() {
	for cur := range c.root.Preorder((*ast.FuncDecl)(nil)) {
		name := cur.Node().(*ast.FuncDecl).Name
		file := c.outside.asserts[name.Name]
		fn, ok := c.TypesInfo.Defs[name].(*types.Func)
		if file == "" || !ok {
			continue
		}
		for v := range fn.Signature().Params().Variables() {
			if carries(v.Type()) && c.graph.looks[v] == "" {
				c.graph.looks[v] = fmt.Sprintf("%s asserts *os.File in %s, which this build leaves out", name.Name, file)
			}
		}
	}
}

// findLiteral notes the names in the type of a literal that leaves out the field names, or
// that holds such a literal without a type.
func (c *checker) findLiteral(lit *ast.CompositeLit, file string) {
	if lit.Type == nil || !leavesOutFields(lit) {
		return
	}
	ast.Inspect(lit.Type, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			c.outside.literals[id.Name] = file
		}
		return true
	})
}

func leavesOutFields(lit *ast.CompositeLit) bool {
	return slices.ContainsFunc(lit.Elts, func(e ast.Expr) bool {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			return true
		}
		for _, e := range []ast.Expr{kv.Key, kv.Value} {
			if in, ok := e.(*ast.CompositeLit); ok && in.Type == nil && leavesOutFields(in) {
				return true
			}
		}
		return false
	})
}

// linkname is the file of a name that code of another package can refer to.
const linkname = "a //go:linkname"

// findLinknames notes the functions and variables that code of another package
// can refer to by their link names.
func (c *checker) findLinknames(f *ast.File) {
	for _, group := range f.Comments {
		for _, comment := range group.List {
			if rest, ok := strings.CutPrefix(comment.Text, "//go:linkname "); ok {
				if fields := strings.Fields(rest); len(fields) > 0 {
					c.outside.names[fields[0]] = linkname
				}
			}
		}
	}
}
