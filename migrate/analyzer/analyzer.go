// Package analyzer finds calls that open an *os.File and that could open an *mmapfile.File
// instead.
//
// It follows each file through the variables, unexported fields, and parameters and results
// of unexported functions of a package. All places that a file can reach are one group,
// which changes type as a whole or not at all. DESIGN.md of the module lists the steps and
// their source files.
//
// This module is v0: a minor version may change the API, and what is reported.
package analyzer

import (
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"
	"golang.org/x/tools/go/ast/inspector"
)

const mmapfilePath = "go.dw1.io/mmapfile"

// Analyzer reports the calls of os.Open, os.Create, os.OpenFile, os.CreateTemp
// and os.OpenInRoot, with a fix where the group allows one.
var Analyzer = &analysis.Analyzer{
	Name: "migrate",
	Doc: `rewrite os.Open and its like to package mmapfile

It rewrites os.Open, os.Create, os.OpenFile, os.CreateTemp and os.OpenInRoot,
and the declarations of *os.File that depend on them, if each use of the file
is a method call or a conversion to an interface. It reports the other calls
with the use that is in the way, and other modules that open files themselves.
Calls without a gain in sight are rewritten only with -all.`,
	URL:       "https://pkg.go.dev/go.dw1.io/mmapfile/migrate",
	Requires:  []*analysis.Analyzer{inspect.Analyzer},
	FactTypes: []analysis.Fact{(*ParamsFact)(nil), (*VarFact)(nil), (*MethodsFact)(nil), (*ReturnsFact)(nil), (*OpensFact)(nil)},
	Run:       run,
}

// Options are the flags of the command.
type Options struct {
	All   bool // rewrite calls without a gain in sight as well
	Tests bool // the driver analyzes each package with its test files, too
}

// Settings returns the options. It is a function because a driver parses its
// flags after the command has set this.
var Settings = func() Options { return Options{} }

// checker is the state of one pass.
type checker struct {
	*analysis.Pass
	root    inspector.Cursor
	at      inspector.Cursor // the node that collect is at
	files   []*source
	slots   map[*types.Var]*slot
	sites   []*site
	siteOf  map[ast.Expr]*site
	decls   map[*types.Var]*decl
	values  map[*types.Func]bool // functions that are used other than by a call
	called  map[*ast.Ident]bool
	handled map[ast.Expr]bool
	graph   graph
	outside outside

	instances   map[*types.TypeParam][]types.Type // type arguments of the unexported functions
	returned    map[string]bool                   // names of imported functions and methods that may return what they were given
	methodLooks map[methodParam]string            // looks of the methods in this package and all that it imports
}

func run(pass *analysis.Pass) (any, error) {
	c := &checker{
		Pass:    pass,
		root:    pass.ResultOf[inspect.Analyzer].(*inspector.Inspector).Root(),
		slots:   map[*types.Var]*slot{},
		siteOf:  map[ast.Expr]*site{},
		decls:   map[*types.Var]*decl{},
		values:  map[*types.Func]bool{},
		called:  map[*ast.Ident]bool{},
		handled: map[ast.Expr]bool{},
		graph:   newGraph(),

		instances:   map[*types.TypeParam][]types.Type{},
		returned:    map[string]bool{},
		methodLooks: map[methodParam]string{},
	}
	c.importMethods()
	c.importReturns()
	c.findSources()
	c.findOutside()
	c.findInstances()
	c.declare()
	c.collect()
	c.refuseRest()
	c.propagate(false)
	c.exportFacts()
	c.connectUnseen()
	c.exportReturns()
	c.exportOpens()
	if c.isDependency() {
		return nil, nil
	}
	c.lookOutside()
	c.propagate(true)
	c.refuseFiles()
	options := Settings()
	if options.Tests && c.outside.tests {
		return nil, nil // the same files are analyzed again, along with the tests
	}
	c.reportDependencies()
	c.report(options)
	return nil, nil
}

// isDependency reports whether package mmapfile imports this one, which could
// not import it in turn.
func (c *checker) isDependency() bool {
	path := c.Pkg.Path()
	return path == mmapfilePath || strings.HasPrefix(path, mmapfilePath+"/internal/")
}

// source is a file of the package.
type source struct {
	file      *ast.File
	name      string // base name of the file that was parsed
	generated bool   // a program or cgo has written the file
}

func (c *checker) findSources() {
	for _, f := range c.Files {
		raw, shown := c.Fset.File(f.FileStart).Name(), c.Fset.Position(f.Package).Filename
		cgo := filepath.Base(raw) != filepath.Base(shown) || slices.ContainsFunc(f.Imports, func(s *ast.ImportSpec) bool { return s.Path.Value == `"C"` })
		c.files = append(c.files, &source{f, filepath.Base(shown), cgo || ast.IsGenerated(f)})
	}
}

// sourceAt returns the file that pos is in.
func (c *checker) sourceAt(pos token.Pos) *source {
	for _, s := range c.files {
		if s.file.FileStart <= pos && pos < s.file.FileEnd {
			return s
		}
	}
	return nil
}
