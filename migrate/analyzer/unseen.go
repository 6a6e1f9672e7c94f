package analyzer

import (
	"go/ast"
	"go/types"

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
		switch n := cur.Node().(type) {
		case *ast.FuncDecl:
			fn, ok := c.TypesInfo.Defs[n.Name].(*types.Func)
			if !ok || !fn.Exported() && n.Recv == nil && len(c.values[fn]) == 0 {
				continue
			}
			sig = fn.Signature()
		case *ast.FuncLit:
			if cur.ParentEdgeKind() == edge.CallExpr_Fun {
				continue
			}
			sig = c.TypesInfo.TypeOf(n).(*types.Signature)
		}
		for v := range sig.Params().Variables() {
			g.into[v] = append(g.into[v], g.unseen)
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
	for _, v := range c.exportedVars() {
		g.into[v] = append(g.into[v], g.unseen)
		g.into[g.unseen] = append(g.into[g.unseen], v)
	}
}

// exportedVars returns the exported fields and variables of the package.
func (c *checker) exportedVars() []*types.Var {
	var vars []*types.Var
	for cur := range c.root.Preorder((*ast.StructType)(nil), (*ast.ValueSpec)(nil)) {
		var names []*ast.Ident
		switch n := cur.Node().(type) {
		case *ast.StructType:
			for _, field := range n.Fields.List {
				names = append(names, field.Names...)
			}
		case *ast.ValueSpec:
			names = n.Names
		}
		for _, name := range names {
			v, ok := c.TypesInfo.Defs[name].(*types.Var)
			if ok && v.Exported() && (v.IsField() || v.Parent() == c.Pkg.Scope()) {
				vars = append(vars, v)
			}
		}
	}
	return vars
}
