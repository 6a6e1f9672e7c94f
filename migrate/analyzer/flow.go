package analyzer

import (
	"go/ast"
	"go/token"
	"go/types"
)

// place is where a value goes.
type place struct {
	typ  types.Type   // nil for the blank identifier
	v    *types.Var   // what holds the value, if that is of this package
	via  []*types.Var // the containers that hold it, if v is nil
	what string       // for messages
	fn   *types.Func  // the function whose parameter it is
	look string       // how code of another package looks at its dynamic type
	slot *slot        // slot of a parameter of a function value
	away bool         // another package declares it
}

// collect finds all flows of files and of interfaces that may hold one.
func (c *checker) collect() {
	for cur := range c.root.Preorder((*ast.AssignStmt)(nil), (*ast.ValueSpec)(nil), (*ast.ReturnStmt)(nil),
		(*ast.CallExpr)(nil), (*ast.CompositeLit)(nil), (*ast.RangeStmt)(nil), (*ast.SendStmt)(nil),
		(*ast.BinaryExpr)(nil), (*ast.SelectorExpr)(nil), (*ast.IndexExpr)(nil),
		(*ast.TypeAssertExpr)(nil), (*ast.TypeSwitchStmt)(nil)) {
		c.at = cur
		switch n := cur.Node().(type) {
		case *ast.AssignStmt:
			c.assign(n)
		case *ast.ValueSpec:
			c.flows(n.Values, func(i int) place { return c.placeOf(n.Names[i]) }, len(n.Names))
		case *ast.ReturnStmt:
			c.returns(n)
		case *ast.CallExpr:
			c.call(n)
		case *ast.CompositeLit:
			c.literal(n)
		case *ast.RangeStmt:
			c.ranges(n)
		case *ast.SendStmt:
			if ch, ok := core(c.TypesInfo.TypeOf(n.Chan)).(*types.Chan); ok {
				c.flow(place{typ: ch.Elem(), via: c.vars(n.Chan, 0), what: "a channel"}, n.Value, c.TypesInfo.TypeOf(n.Value), 0)
			}
		case *ast.BinaryExpr:
			c.compare(n)
		case *ast.SelectorExpr:
			c.selector(n)
			c.receiver(n)
		case *ast.IndexExpr:
			c.key(n)
		case *ast.TypeAssertExpr:
			if n.Type != nil {
				c.asserts(n.X, c.TypesInfo.TypeOf(n.Type), n.Pos())
			}
		case *ast.TypeSwitchStmt:
			c.typeSwitch(n)
		}
	}
}

// handle notes that the use of e is accounted for.
func (c *checker) handle(e ast.Expr) {
	for c.handled[e] = true; ; c.handled[e] = true {
		p, ok := e.(*ast.ParenExpr)
		if !ok {
			return
		}
		e = p.X
	}
}

// flows accounts for the assignment of values to n places.
func (c *checker) flows(values []ast.Expr, dst func(i int) place, n int) {
	if len(values) == n {
		for i, v := range values {
			c.flow(dst(i), v, c.TypesInfo.TypeOf(v), 0)
		}
		return
	}
	if len(values) != 1 {
		return
	}
	tuple, ok := c.TypesInfo.TypeOf(values[0]).(*types.Tuple)
	_, call := ast.Unparen(values[0]).(*ast.CallExpr)
	if !ok || !call {
		// The form "v, ok :=": only the first value is of interest.
		t := c.TypesInfo.TypeOf(values[0])
		if ok && tuple.Len() > 0 {
			t = tuple.At(0).Type()
		}
		c.flow(dst(0), values[0], t, 0)
		return
	}
	for i := range min(n, tuple.Len()) {
		c.flow(dst(i), values[0], tuple.At(i).Type(), i)
	}
}

// flow accounts for one value, the i-th one of src if that is a call, that goes
// to dst.
func (c *checker) flow(dst place, src ast.Expr, t types.Type, i int) {
	c.handle(src)
	if t == nil || c.TypesInfo.Types[src].IsNil() {
		return
	}
	if fileFunc(t) != nil {
		c.flowFunc(dst, src, t)
		return
	}
	if !isFile(t) {
		if dst.slot != nil {
			dst.slot.refuse(src.Pos(), "it also holds "+describe(ast.Unparen(src)), writeNew)
		} else if dst.typ != nil && isFile(dst.typ) && dst.v != nil {
			c.slotOf(dst.v).refuse(src.Pos(), "it also holds "+describe(ast.Unparen(src)), writeNew)
		} else if carries(t) {
			from := c.vars(src, i)
			if dst.typ != nil && types.IsInterface(dst.typ) && isContainer(t) {
				c.connect(from...) // an assertion can share it again, with any of its copies
			}
			c.graph.flow(from, dst, t)
		}
		return
	}
	s := c.source(src, i)
	switch {
	case dst.typ == nil: // the blank identifier
	case dst.slot != nil:
		unite(dst.slot, s)
	case isFile(dst.typ) && dst.v != nil && isFile(dst.v.Type()):
		unite(c.slotOf(dst.v), s)
	case isFile(dst.typ) && dst.v != nil || isTypeParam(dst.typ):
		s.refuse(src.Pos(), nameOfExpr(src)+" goes to "+dst.what+", of a generic type", writeHand)
	case isFile(dst.typ):
		s.refuse(src.Pos(), nameOfExpr(src)+" goes to "+dst.what+", of type *os.File", c.advice(dst, src))
	case types.IsInterface(dst.typ):
		c.convert(s, dst, src)
	default:
		s.refuse(src.Pos(), nameOfExpr(src)+" is converted to "+dst.typ.String(), c.advice(dst, src))
	}
}

func isTypeParam(t types.Type) bool {
	_, ok := types.Unalias(t).(*types.TypeParam)
	return ok
}

func (c *checker) assign(n *ast.AssignStmt) {
	for _, lhs := range n.Lhs {
		c.handle(lhs)
	}
	c.flows(n.Rhs, func(i int) place { return c.placeOf(n.Lhs[i]) }, len(n.Lhs))
}

// placeOf returns the place that an assignment to e changes.
func (c *checker) placeOf(e ast.Expr) place {
	e = ast.Unparen(e)
	p := place{typ: c.TypesInfo.TypeOf(e), what: types.ExprString(e)}
	switch e := e.(type) {
	case *ast.Ident:
		if e.Name == "_" {
			return place{}
		}
		c.holder(&p, c.TypesInfo.ObjectOf(e))
	case *ast.SelectorExpr:
		c.holder(&p, c.TypesInfo.ObjectOf(e.Sel))
	default:
		p.via = c.vars(e, 0)
	}
	return p
}

// holder sets the variable that a place is.
func (c *checker) holder(p *place, obj types.Object) {
	v, ok := obj.(*types.Var)
	if !ok {
		return
	}
	v = v.Origin()
	if v.Pkg() == c.Pkg {
		p.v = v
		return
	}
	p.via, p.away = []*types.Var{c.graph.heldBy(v.Pkg())}, true
	p.look = c.lookAtVar(v)
}

func (c *checker) returns(n *ast.ReturnStmt) {
	var sig *types.Signature
	for f := range c.at.Enclosing((*ast.FuncDecl)(nil), (*ast.FuncLit)(nil)) {
		switch f := f.Node().(type) {
		case *ast.FuncDecl:
			if fn, ok := c.TypesInfo.Defs[f.Name].(*types.Func); ok {
				sig = fn.Signature()
			}
		case *ast.FuncLit:
			sig = c.TypesInfo.TypeOf(f).(*types.Signature)
		}
		break
	}
	c.flows(n.Results, func(i int) place {
		v := sig.Results().At(i)
		return place{typ: v.Type(), v: v, what: "a result"}
	}, sig.Results().Len())
}

// literal accounts for the elements of a composite literal.
func (c *checker) literal(n *ast.CompositeLit) {
	t := c.TypesInfo.TypeOf(n)
	if p, ok := core(t).(*types.Pointer); ok {
		t = p.Elem() // the type of an element that leaves it out
	}
	for i, e := range n.Elts {
		value, key := e, ast.Expr(nil)
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			value, key = kv.Value, kv.Key
		}
		var p place
		switch u := core(t).(type) {
		case *types.Struct:
			p = c.fieldPlace(u, i, key)
		case *types.Slice:
			p = place{typ: u.Elem(), via: c.vars(n, 0), what: "a slice", away: c.isHandedAway()}
		case *types.Array:
			p = place{typ: u.Elem(), via: c.vars(n, 0), what: "an array"}
		case *types.Map:
			p = place{typ: u.Elem(), via: c.vars(n, 0), what: "a map"}
			c.flow(place{typ: u.Key(), via: p.via, what: "a key of a map"}, key, c.TypesInfo.TypeOf(key), 0)
		default:
			continue
		}
		c.flow(p, value, c.TypesInfo.TypeOf(value), 0)
	}
}

// isHandedAway reports whether the literal at hand goes to a field or a parameter of another
// package where it stands.
func (c *checker) isHandedAway() bool {
	switch n := c.at.Parent().Node().(type) {
	case *ast.KeyValueExpr:
		v, ok := c.object(n.Key).(*types.Var)
		return ok && v.IsField() && v.Pkg() != c.Pkg
	case *ast.CallExpr:
		fn := c.callee(n)
		return fn != nil && fn.Pkg() != c.Pkg
	}
	return false
}

// key accounts for the key of a map, which an assignment may add.
func (c *checker) key(n *ast.IndexExpr) {
	t := c.TypesInfo.TypeOf(n.X)
	if t == nil {
		return
	}
	if m, ok := core(t).(*types.Map); ok && carries(m.Key()) && !isFile(c.TypesInfo.TypeOf(n.Index)) {
		c.graph.flow(c.vars(n.Index, 0), place{typ: m.Key(), via: c.vars(n.X, 0)}, m.Key())
	}
}

func (c *checker) fieldPlace(t *types.Struct, i int, key ast.Expr) place {
	var v *types.Var
	if id, ok := key.(*ast.Ident); ok {
		v, _ = c.TypesInfo.Uses[id].(*types.Var)
	} else {
		v = t.Field(i)
	}
	p := place{typ: v.Type(), what: "field " + v.Name()}
	c.holder(&p, v)
	return p
}

func (c *checker) ranges(n *ast.RangeStmt) {
	for _, e := range []ast.Expr{n.Key, n.Value} {
		if e == nil {
			continue
		}
		c.handle(e)
		p := c.placeOf(e)
		if p.typ == nil {
			continue
		}
		if isFile(p.typ) && p.v != nil {
			c.slotOf(p.v).refuse(e.Pos(), "it also holds the elements of "+types.ExprString(n.X), writeElement)
		} else if fileFunc(p.typ) != nil {
			c.refuseFunc(e, p.typ, "it also holds the elements of "+types.ExprString(n.X))
		} else if carries(p.typ) {
			from := c.vars(n.X, 0)
			if _, ok := core(c.TypesInfo.TypeOf(n.X)).(*types.Signature); ok {
				from = append(from, c.graph.unseen) // what it yields
			}
			if n.Tok == token.ASSIGN && types.IsInterface(p.typ) {
				c.connect(from...) // its elements may be containers
			}
			c.graph.flow(from, p, p.typ)
		}
	}
}

// compare accounts for == and !=, which need one type on both sides.
func (c *checker) compare(n *ast.BinaryExpr) {
	if n.Op != token.EQL && n.Op != token.NEQ {
		return
	}
	x, y := c.TypesInfo.TypeOf(n.X), c.TypesInfo.TypeOf(n.Y)
	xFile, yFile := x != nil && isFile(x) && !c.TypesInfo.Types[n.X].IsNil(), y != nil && isFile(y) && !c.TypesInfo.Types[n.Y].IsNil()
	switch {
	case xFile && yFile:
		unite(c.source(n.X, 0), c.source(n.Y, 0))
	case xFile && !c.TypesInfo.Types[n.Y].IsNil():
		c.source(n.X, 0).refuse(n.Pos(), "it is compared with "+types.ExprString(n.Y), writeHand)
	case yFile && !c.TypesInfo.Types[n.X].IsNil():
		c.source(n.Y, 0).refuse(n.Pos(), "it is compared with "+types.ExprString(n.X), writeHand)
	}
	c.handle(n.X)
	c.handle(n.Y)
}

// refuseRest refuses the files with a use that none of the rules accounts for.
func (c *checker) refuseRest() {
	for cur := range c.root.Preorder() {
		e, ok := cur.Node().(ast.Expr)
		if !ok || c.handled[e] {
			continue
		}
		tv := c.TypesInfo.Types[e]
		if !tv.IsValue() || tv.IsNil() {
			continue
		}
		if tuple, ok := tv.Type.(*types.Tuple); ok {
			for i := range tuple.Len() {
				if isFile(tuple.At(i).Type()) {
					c.source(e, i).refuse(e.Pos(), "its use is not followed", writeHand)
				}
			}
		} else if fileFunc(tv.Type) != nil {
			c.refuseFunc(e, tv.Type, nameOfExpr(e)+" is used in a way that is not followed")
		} else if isFile(tv.Type) {
			c.source(e, 0).refuse(e.Pos(), nameOfExpr(e)+" is used in a way that is not followed", writeHand)
		}
	}
}
