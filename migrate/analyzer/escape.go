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
			if !ok || !fn.Exported() && n.Recv == nil && n.Body != nil && len(c.values[fn]) == 0 && c.outside.names[fn.Name()] != linkname {
				continue
			}
			sig = fn.Signature()
			if n.Body == nil {
				c.connectAll(sig)
			}
			if recv := sig.Recv(); recv != nil && carries(recv.Type()) {
				c.connect(recv)
			}
		case *ast.FuncLit:
			if cur.ParentEdgeKind() == edge.CallExpr_Fun {
				continue
			}
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
	memory := c.outside.memory || c.setsFields()
	for id, obj := range c.TypesInfo.Defs {
		v, ok := obj.(*types.Var)
		if ok && (v.IsField() || v.Parent() == c.Pkg.Scope()) && (v.Exported() || c.outside.names[id.Name] == linkname || memory && carries(v.Type())) {
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

// connectAll connects the parameters and results of a function without a body.
func (c *checker) connectAll(sig *types.Signature) {
	for _, tuple := range []*types.Tuple{sig.Params(), sig.Results()} {
		for v := range tuple.Variables() {
			c.connect(v)
			c.connectFields(v.Type(), nil)
		}
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
	from := c.TypesInfo.TypeOf(n.Args[0])
	if isUnsafe(t) != isUnsafe(from) {
		c.connect(c.vars(n, 0)...)
		c.connect(c.vars(n.Args[0], 0)...)
		c.connectFields(t, nil)
		c.connectFields(from, nil)
	}
}

func isUnsafe(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Kind() == types.UnsafePointer
}

// connectFields connects the fields in a value of type t.
func (c *checker) connectFields(t types.Type, seen []types.Type) {
	if slices.Contains(seen, t) {
		return
	}
	seen = append(seen, t)
	switch u := t.Underlying().(type) {
	case *types.Pointer:
		c.connectFields(u.Elem(), seen)
	case *types.Slice:
		c.connectFields(u.Elem(), seen)
	case *types.Array:
		c.connectFields(u.Elem(), seen)
	case *types.Struct:
		for v := range u.Fields() {
			if carries(v.Type()) {
				c.connect(v.Origin())
			}
			c.connectFields(v.Type(), seen)
		}
	}
}

// findMemory notes whether the package makes pointers to interfaces of unsafe.Pointer values: they
// may be those of another package, or next to what the pointer was made of.
func (c *checker) findMemory() {
	for cur := range c.root.Preorder((*ast.CallExpr)(nil)) {
		n := cur.Node().(*ast.CallExpr)
		if len(n.Args) != 1 || !c.TypesInfo.Types[n.Fun].IsType() || !isUnsafe(c.TypesInfo.TypeOf(n.Args[0])) {
			continue
		}
		if p, ok := core(c.TypesInfo.TypeOf(n.Fun)).(*types.Pointer); ok && holds(p.Elem(), nil) {
			c.outside.memory = true
		}
	}
}

// holds reports whether a value of type t has an interface in it that a file may be in.
func holds(t types.Type, seen []types.Type) bool {
	if slices.Contains(seen, t) {
		return false
	}
	switch u := t.Underlying().(type) {
	case *types.Array:
		return holds(u.Elem(), append(seen, t))
	case *types.Struct:
		for v := range u.Fields() {
			if holds(v.Type(), append(seen, t)) {
				return true
			}
		}
	}
	return carries(t)
}

// setsFields reports whether the package uses what package reflect has to change an unexported
// field: conversions of structs, and values at an address.
func (c *checker) setsFields() bool {
	for _, obj := range c.TypesInfo.Uses {
		if obj.Pkg() != nil && obj.Pkg().Path() == "reflect" && slices.Contains([]string{"Convert", "NewAt", "SetPointer", "SliceAt"}, obj.Name()) {
			return true
		}
	}
	return false
}
