package analyzer

import (
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/types/typeutil"
)

// call accounts for the function and the arguments of a call or a conversion.
func (c *checker) call(n *ast.CallExpr) {
	c.handle(n.Fun)
	if c.TypesInfo.Types[n.Fun].IsType() {
		if len(n.Args) == 1 {
			t := c.TypesInfo.TypeOf(n.Fun)
			for _, a := range terms(t) {
				for _, b := range terms(c.TypesInfo.TypeOf(n.Args[0])) {
					c.convertStructs(a, b)
				}
			}
			c.flow(place{typ: t, via: c.vars(n, 0), what: "a conversion"}, n.Args[0], c.TypesInfo.TypeOf(n.Args[0]), 0)
		}
		return
	}
	sig, ok := core(c.TypesInfo.TypeOf(n.Fun)).(*types.Signature)
	if !ok {
		return
	}
	if c.TypesInfo.Types[n.Fun].IsBuiltin() {
		c.builtin(n)
		return
	}
	count := len(n.Args)
	if count == 1 {
		if tuple, ok := c.TypesInfo.TypeOf(n.Args[0]).(*types.Tuple); ok {
			count = tuple.Len()
		}
	}
	declared, fn := c.signature(n), c.callee(n)
	c.flows(n.Args, func(i int) place { return c.param(n, sig, declared, fn, i) }, count)
}

// param returns the parameter that the i-th argument of a call goes to.
func (c *checker) param(n *ast.CallExpr, sig, declared *types.Signature, fn *types.Func, i int) place {
	p := place{what: "a parameter of " + types.ExprString(n.Fun), fn: fn}
	j := min(i, sig.Params().Len()-1)
	if j < 0 {
		p.typ = types.Typ[types.Invalid]
		return p
	}
	p.typ = sig.Params().At(j).Type()
	if last := j == sig.Params().Len()-1; sig.Variadic() && last && !n.Ellipsis.IsValid() {
		if s, ok := p.typ.Underlying().(*types.Slice); ok {
			p.typ = s.Elem()
		}
	}
	if declared == nil {
		p.via = []*types.Var{c.graph.unseen}
		p.slot = c.calledFile(n, (*types.Signature).Params, j)
		if sel, ok := ast.Unparen(n.Fun).(*ast.SelectorExpr); ok && c.TypesInfo.Selections[sel] != nil {
			p.look = c.lookAtMethod(sel.Sel.Name, j)
		}
		return p
	}
	if v := declared.Params().At(j); v.Pkg() == c.Pkg {
		p.v = v
		return p
	}
	p.away = true
	param := declared.Params().At(j)
	p.via = c.graph.heldAfter(declared, param.Pkg())
	if declared.TypeParams().Len() > 0 || declared.RecvTypeParams().Len() > 0 {
		p.via = append(p.via, c.graph.unseen) // its result may go through other packages
	}
	if fn != nil {
		p.look = c.lookAtParam(fn, j)
	}
	return p
}

// receiver accounts for the receiver of a method of this package, which shares its
// elements if it is a container.
func (c *checker) receiver(n *ast.SelectorExpr) {
	s := c.TypesInfo.Selections[n]
	if s == nil || s.Kind() != types.MethodVal {
		return
	}
	recv := s.Obj().(*types.Func).Origin().Signature().Recv()
	if recv.Pkg() != c.Pkg || types.IsInterface(recv.Type()) || !carries(recv.Type()) {
		return
	}
	from := c.vars(n.X, 0)
	t := s.Recv()
	for _, i := range s.Index()[:len(s.Index())-1] { // the embedded fields on the way
		st := structOf(t)
		if st == nil {
			return
		}
		from, t = c.local(st.Field(i)), st.Field(i).Type()
	}
	c.graph.flow(from, place{typ: recv.Type(), v: recv}, recv.Type())
}

// builtin accounts for append and copy to a slice of interfaces. A file as an
// argument of another builtin is refused with the rest.
func (c *checker) builtin(n *ast.CallExpr) {
	id, ok := ast.Unparen(n.Fun).(*ast.Ident)
	if ok && id.Name == "copy" && carries(c.TypesInfo.TypeOf(n.Args[0])) {
		t := c.TypesInfo.TypeOf(n.Args[0])
		c.graph.flow(c.vars(n.Args[1], 0), place{typ: t, via: c.vars(n.Args[0], 0)}, t)
	}
	if ok && id.Name == "panic" {
		c.connect(c.vars(n.Args[0], 0)...)
	}
	if !ok || id.Name != "append" || len(n.Args) == 0 {
		return
	}
	s, ok := core(c.TypesInfo.TypeOf(n)).(*types.Slice)
	if !ok {
		return
	}
	for _, arg := range n.Args[1:] {
		c.flow(place{typ: s.Elem(), via: c.vars(n.Args[0], 0), what: "a slice"}, arg, c.TypesInfo.TypeOf(arg), 0)
	}
}

// signature returns the declared signature of the function that is called, if
// that is known: its parameters and results are the declared variables.
func (c *checker) signature(call *ast.CallExpr) *types.Signature {
	if lit, ok := ast.Unparen(call.Fun).(*ast.FuncLit); ok {
		return c.TypesInfo.TypeOf(lit).(*types.Signature)
	}
	if fn := c.callee(call); fn != nil {
		return fn.Signature()
	}
	return nil
}

// callee returns the function that is called, if the call is static.
func (c *checker) callee(call *ast.CallExpr) *types.Func {
	if c.isMethodExpr(call.Fun) {
		return nil // its arguments begin with the receiver
	}
	if fn := typeutil.StaticCallee(c.TypesInfo, call); fn != nil {
		return fn.Origin()
	}
	return nil
}

func (c *checker) isMethodExpr(fun ast.Expr) bool {
	sel, ok := ast.Unparen(fun).(*ast.SelectorExpr)
	if !ok {
		return false
	}
	s := c.TypesInfo.Selections[sel]
	return s != nil && s.Kind() == types.MethodExpr
}

// calleeIdent returns the name of the function in a call.
func calleeIdent(call *ast.CallExpr) *ast.Ident {
	switch f := ast.Unparen(call.Fun).(type) {
	case *ast.Ident:
		return f
	case *ast.SelectorExpr:
		return f.Sel
	}
	return nil
}

// packageOf returns the other package that has the function fun, or that has returned it.
func (c *checker) packageOf(fun ast.Expr) *types.Package {
	switch e := ast.Unparen(fun).(type) {
	case *ast.SelectorExpr:
		if obj := c.TypesInfo.Uses[e.Sel]; obj != nil && obj.Pkg() != c.Pkg {
			return obj.Pkg()
		}
	case *ast.IndexExpr:
		return c.packageOf(e.X)
	case *ast.CallExpr:
		return c.packageOf(e.Fun)
	}
	return nil
}
