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
		if ok && (v.IsField() || v.Parent() == c.Pkg.Scope()) && carries(v.Type()) && (v.Exported() || c.outside.names[id.Name] == linkname || c.outside.memory) {
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

// convertPointers connects what a conversion to or from unsafe.Pointer reaches.
func (c *checker) convertPointers(n *ast.CallExpr, t types.Type) {
	if isUnsafe(t) != isUnsafe(c.TypesInfo.TypeOf(n.Args[0])) {
		c.connect(c.vars(n, 0)...)
	}
}

func isUnsafe(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Kind() == types.UnsafePointer
}

// findMemory notes whether the package may change interfaces without naming them: with pointers that are
// or were unsafe, in a function without a body, or with what package reflect has for that.
func (c *checker) findMemory() {
	for cur := range c.root.Preorder((*ast.CallExpr)(nil), (*ast.FuncDecl)(nil)) {
		switch n := cur.Node().(type) {
		case *ast.FuncDecl:
			c.outside.memory = c.outside.memory || n.Body == nil && holds(c.TypesInfo.TypeOf(n.Name), nil)
		case *ast.CallExpr:
			if len(n.Args) == 1 && c.TypesInfo.Types[n.Fun].IsType() {
				t, from := c.TypesInfo.TypeOf(n.Fun), c.TypesInfo.TypeOf(n.Args[0])
				c.outside.memory = c.outside.memory || isUnsafe(t) && holds(from, nil) || isUnsafe(from) && holds(t, nil)
			}
		}
	}
	for _, obj := range c.TypesInfo.Uses {
		if obj.Pkg() != nil && obj.Pkg().Path() == "reflect" && slices.Contains([]string{"Convert", "NewAt", "SetPointer", "SliceAt"}, obj.Name()) {
			c.outside.memory = true
		}
	}
}

// holds reports whether an interface that a file may be in can be reached from a value of type t.
func holds(t types.Type, seen []types.Type) bool {
	if slices.Contains(seen, t) {
		return false
	}
	seen = append(seen, t)
	switch u := core(t).(type) {
	case *types.Pointer:
		return holds(u.Elem(), seen)
	case *types.Slice:
		return holds(u.Elem(), seen)
	case *types.Array:
		return holds(u.Elem(), seen)
	case *types.Struct:
		for v := range u.Fields() {
			if holds(v.Type(), seen) {
				return true
			}
		}
	case *types.Signature:
		for v := range variables(u) {
			if holds(v.Type(), seen) {
				return true
			}
		}
	}
	return carries(t)
}
