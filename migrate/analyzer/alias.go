package analyzer

import (
	"go/ast"
	"go/types"
	"maps"
	"slices"
	"strings"
)

// ReturnsFact names the functions and methods, of a package and of all that it imports,
// that may return an interface with a value that they did not make.
type ReturnsFact struct {
	Names []string
}

func (*ReturnsFact) AFact()           {}
func (f *ReturnsFact) String() string { return strings.Join(f.Names, " ") }

// importReturns reads what the imported packages tell of results.
func (c *checker) importReturns() {
	for _, pkg := range c.Pkg.Imports() {
		var fact ReturnsFact
		if !c.ImportPackageFact(pkg, &fact) && pkg.Path() != "unsafe" {
			c.returned = nil
			return
		}
		for _, name := range fact.Names {
			c.returned[name] = true
		}
	}
}

// isFresh reports whether what a call of fn, of another package, returns as v is never what
// that package was given. A dynamic call may be one of any method of that name, also in a
// package that imports this one.
func (c *checker) isFresh(fn *types.Func, v *types.Var, dynamic bool) bool {
	if c.returned == nil || c.returned[fn.Name()] || isContainer(v.Type()) {
		return false
	}
	return !dynamic || c.isTest() && !c.hasMethod(fn.Name())
}

// isTest reports whether this is a test package of its own, which no package imports. It has to
// import the package that it tests, whose tests and their imports are in the program, too.
func (c *checker) isTest() bool {
	return strings.HasSuffix(c.files[0].name, "_test.go") && c.importsPath(strings.TrimSuffix(c.Pkg.Path(), "_test"))
}

func (c *checker) hasMethod(name string) bool {
	for cur := range c.root.Preorder((*ast.FuncDecl)(nil)) {
		if n := cur.Node().(*ast.FuncDecl); n.Recv != nil && n.Name.Name == name {
			return true
		}
	}
	return c.outside.members[name] != ""
}

// exportReturns tells which functions and methods may return what they were given.
func (c *checker) exportReturns() {
	if c.returned == nil {
		return
	}
	given := c.given()
	opaque := c.importsPath(mmapfilePath) // its files are not followed
	for cur := range c.root.Preorder((*ast.FuncDecl)(nil)) {
		n := cur.Node().(*ast.FuncDecl)
		fn, ok := c.TypesInfo.Defs[n.Name].(*types.Func)
		if !ok || !fn.Exported() {
			continue
		}
		for v := range fn.Signature().Results().Variables() {
			if carries(v.Type()) && (given[v] || n.Body == nil || opaque) {
				c.returned[fn.Name()] = true
			}
		}
	}
	c.ExportPackageFact(&ReturnsFact{slices.Sorted(maps.Keys(c.returned))})
}

func (c *checker) importsPath(path string) bool {
	return slices.ContainsFunc(c.Pkg.Imports(), func(p *types.Package) bool { return p.Path() == path })
}

// given returns all variables that may have a value from code out of sight.
func (c *checker) given() map[*types.Var]bool {
	g := &c.graph
	to := map[*types.Var][]*types.Var{}
	for v, all := range g.into {
		for _, from := range all {
			to[from] = append(to[from], v)
		}
	}
	work := append(slices.Collect(maps.Values(g.held)), g.unseen)
	for _, conv := range g.files {
		// A file that this package has opened is not one that it was given.
		if s := conv.slot.root(); len(s.sites) == 0 || len(s.obstacles) > 0 {
			work = append(work, conv.dst.targets()...)
		}
	}
	given := map[*types.Var]bool{}
	for len(work) > 0 {
		v := work[0]
		work = work[1:]
		if !given[v] {
			given[v] = true
			work = append(work, to[v]...)
		}
	}
	return given
}
