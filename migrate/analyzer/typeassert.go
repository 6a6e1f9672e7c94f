package analyzer

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
)

// asserts accounts for an assertion that x is of type t.
func (c *checker) asserts(x ast.Expr, t types.Type, pos token.Pos) {
	look := ""
	if from := c.TypesInfo.TypeOf(x); !isTypeParam(from) && !carries(from) {
		return // *os.File does not implement it
	}
	if p, _ := typeParam(t); p != nil {
		if c.tellsApart(t, nil) {
			look = "asserts " + t.String() + ", which may be *os.File or tell it apart"
		}
	} else if isFile(t) {
		look = "asserts *os.File"
	} else if isMapped(t) {
		look = "asserts *mmapfile.File"
	} else if iface, ok := t.Underlying().(*types.Interface); ok {
		look = asksFor(iface)
	}
	if look == "" {
		return
	}
	p := c.Fset.Position(pos)
	look = fmt.Sprintf("%s (%s:%d) %s", c.Pkg.Path(), filepath.Base(p.Filename), p.Line, look)
	for _, v := range c.vars(x, 0) {
		if c.graph.looks[v] == "" {
			c.graph.looks[v] = look
		}
	}
}

// asksFor tells which method of an interface makes a difference: it hands out
// the descriptor, or only *mmapfile.File has it.
func asksFor(iface *types.Interface) string {
	look := ""
	for m := range iface.Methods() {
		switch name := m.Name(); {
		case name == "Len" && types.TypeString(m.Signature(), nil) == "func() int":
			return "" // that of a buffer: neither type has it
		case slices.Contains(kernelMethods, name) || slices.Contains(moreMethods, name):
			look = "asks for " + name
		case !slices.Contains(methods, name):
			return "" // neither type has it
		}
	}
	return look
}

func (c *checker) typeSwitch(n *ast.TypeSwitchStmt) {
	var guard ast.Expr
	switch s := n.Assign.(type) {
	case *ast.ExprStmt:
		guard = s.X
	case *ast.AssignStmt:
		guard = s.Rhs[0]
	}
	x := ast.Unparen(guard).(*ast.TypeAssertExpr).X
	for _, stmt := range n.Body.List {
		clause := stmt.(*ast.CaseClause)
		for _, e := range clause.List {
			if tv := c.TypesInfo.Types[e]; tv.IsType() {
				c.asserts(x, tv.Type, e.Pos())
			}
		}
		if v, ok := c.TypesInfo.Implicits[clause].(*types.Var); ok && carries(v.Type()) {
			c.graph.flow(c.vars(x, 0), place{typ: v.Type(), v: v}, v.Type())
			if isContainer(v.Type()) {
				c.connect(v)
			}
		}
	}
}

// first returns the first type of a tuple, as of an assertion with ok, or t.
func first(t types.Type) types.Type {
	if tuple, ok := t.(*types.Tuple); ok {
		return tuple.At(0).Type()
	}
	return t
}

// refuseFiles refuses the files whose dynamic type is looked at.
func (c *checker) refuseFiles() {
	for _, conv := range c.graph.files {
		for _, v := range conv.dst.targets() {
			if look := c.graph.looks[v]; look != "" {
				conv.slot.refuse(conv.src.Pos(), fmt.Sprintf("%s goes to %s, and %s", nameOfExpr(conv.src), conv.dst.what, look), c.advice(conv.dst, conv.src))
				break
			}
		}
	}
}
