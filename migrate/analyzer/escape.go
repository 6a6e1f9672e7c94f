package analyzer

import (
	"go/ast"
	"go/types"
	"maps"
	"slices"

	"golang.org/x/tools/go/ast/edge"
)

// connectUnseen adds the flows to and from code out of sight: what calls the
// exported functions, all methods, and functions that are values, and what uses
// the exported fields and variables.
//
// A pool is an example: one method returns a file as an interface, and another one
// asserts *os.File of the interface that it is handed.
func (c *checker) connectUnseen() {
	g := &c.graph
	for cur := range c.root.Preorder((*ast.FuncDecl)(nil), (*ast.FuncLit)(nil)) {
		var sig *types.Signature
		from := []*types.Var{g.unseen}
		switch n := cur.Node().(type) {
		case *ast.FuncDecl:
			fn, ok := c.TypesInfo.Defs[n.Name].(*types.Func)
			if !ok || !fn.Exported() && n.Recv == nil && n.Body != nil && !c.values[fn] && c.outside.names[fn.Name()] != linkname {
				continue
			}
			sig = fn.Signature()
			if recv := sig.Recv(); recv != nil && carries(recv.Type()) {
				c.connect(recv)
			}
		case *ast.FuncLit:
			sig = c.TypesInfo.TypeOf(n).(*types.Signature)
			if cur.ParentEdgeKind() == edge.CallExpr_Args {
				if pkg := c.packageOf(cur.Parent().Node().(*ast.CallExpr).Fun); pkg != nil {
					from = append(from, g.heldBy(pkg)) // that package calls it
				}
			}
		}
		for v := range sig.Params().Variables() {
			g.into[v] = append(g.into[v], from...)
			if isContainer(v.Type()) {
				g.into[g.unseen] = append(g.into[g.unseen], v)
			}
		}
		for v := range sig.Results().Variables() {
			g.into[g.unseen] = append(g.into[g.unseen], v)
			if isContainer(v.Type()) {
				g.into[v] = append(g.into[v], g.unseen)
			}
		}
	}
	for id, obj := range c.TypesInfo.Defs {
		v, ok := obj.(*types.Var)
		if ok && (v.IsField() || v.Parent() == c.Pkg.Scope()) && carries(v.Type()) && (v.Exported() || c.outside.names[id.Name] == linkname) {
			c.connect(v)
		}
	}
	c.connectUnnamed()
	g.into[g.anywhere] = append(g.into[g.anywhere], g.unseen)
	for _, path := range slices.Sorted(maps.Keys(g.held)) {
		g.into[g.anywhere] = append(g.into[g.anywhere], g.held[path])
	}
}

// connect adds the flows between variables and code out of sight, in both directions.
func (c *checker) connect(vars ...*types.Var) {
	g := &c.graph
	for _, v := range vars {
		if isHidden(v) {
			continue
		}
		g.into[v] = append(g.into[v], g.unseen)
		g.into[g.unseen] = append(g.into[g.unseen], v)
	}
}

// connectUnnamed connects the fields that have the name of one in a struct type without a name,
// which values of other types are assigned to.
func (c *checker) connectUnnamed() {
	unnamed := map[string]bool{}
	for cur := range c.root.Preorder((*ast.StructType)(nil)) {
		if cur.ParentEdgeKind() != edge.TypeSpec_Type {
			for v := range c.TypesInfo.TypeOf(cur.Node().(*ast.StructType)).(*types.Struct).Fields() {
				unnamed[v.Name()] = unnamed[v.Name()] || carries(v.Type())
			}
		}
	}
	for _, obj := range c.TypesInfo.Defs {
		if v, ok := obj.(*types.Var); ok && v.IsField() && unnamed[v.Name()] {
			c.connect(v)
		}
	}
}
