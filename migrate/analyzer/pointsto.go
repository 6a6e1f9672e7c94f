package analyzer

import (
	"cmp"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"
)

// graph has the flows between variables of interface types, and between
// containers of such values. It does not know the order of statements.
type graph struct {
	into    map[*types.Var][]*types.Var // from a variable to those that it gets values of
	looks   map[*types.Var]string       // how the dynamic type is looked at
	literal map[ast.Expr]*types.Var     // stand for literals and conversions
	unseen  *types.Var                  // stands for all code that is out of sight
	// anywhere stands for unseen and all of held, where the package is not known.
	anywhere *types.Var
	held     map[string]*types.Var // stand for what other packages hold, by path
	files    []conversion
}

// conversion is one of a file to an interface.
type conversion struct {
	slot *slot
	dst  place
	src  ast.Expr
}

func newGraph() graph {
	return graph{
		into:     map[*types.Var][]*types.Var{},
		looks:    map[*types.Var]string{},
		literal:  map[ast.Expr]*types.Var{},
		unseen:   newHidden("unseen"),
		anywhere: newHidden("anywhere"),
		held:     map[string]*types.Var{},
	}
}

// newHidden returns a variable that stands for code out of sight.
func newHidden(name string) *types.Var {
	return types.NewVar(token.NoPos, nil, name, types.Universe.Lookup("any").Type())
}

// isHidden reports whether v stands for code out of sight: only these have neither a
// position nor a package.
func isHidden(v *types.Var) bool { return !v.Pos().IsValid() && v.Pkg() == nil }

// heldBy returns the variable that stands for what another package holds.
func (g *graph) heldBy(pkg *types.Package) *types.Var {
	if pkg == nil {
		return g.unseen
	}
	v := g.held[pkg.Path()]
	if v == nil {
		v = newHidden(pkg.Path())
		g.held[pkg.Path()] = v
	}
	return v
}

// heldAfter returns the variables that stand for what other packages hold after a call. These
// are the package of the function, and those of the types that it takes or returns.
func (g *graph) heldAfter(sig *types.Signature, pkg *types.Package) []*types.Var {
	held := []*types.Var{g.heldBy(pkg)}
	for _, tuple := range []*types.Tuple{sig.Params(), sig.Results()} {
		for v := range tuple.Variables() {
			t := types.Unalias(v.Type())
			if p, ok := t.(*types.Pointer); ok {
				t = types.Unalias(p.Elem())
			}
			if n, ok := t.(*types.Named); ok && !types.IsInterface(n) && n.Obj().Pkg() != nil {
				held = append(held, g.heldBy(n.Obj().Pkg()))
			}
		}
	}
	return held
}

// targets returns the variables that stand for a place.
func (p place) targets() []*types.Var {
	if p.v != nil {
		return []*types.Var{p.v}
	}
	return p.via
}

// flow carries values of type t. If t is a container, both sides share it, and an element
// that one of them adds later is seen by the other.
func (g *graph) flow(from []*types.Var, dst place, t types.Type) {
	shared := isContainer(t)
	for _, v := range from {
		for _, to := range dst.targets() {
			g.into[to] = append(g.into[to], v)
			if shared {
				g.into[v] = append(g.into[v], to)
			}
		}
		if dst.look != "" && g.looks[v] == "" {
			g.looks[v] = dst.look
		}
	}
}

func (g *graph) convert(s *slot, dst place, src ast.Expr) {
	g.files = append(g.files, conversion{s, dst, src})
}

// propagate carries each look at a dynamic type back to all variables that the
// value can come from, the nearest look first. Only if all is set, it follows values
// through code out of sight. That is enough to keep a file of this package as it is,
// but too vague for other packages.
func (c *checker) propagate(all bool) {
	g := &c.graph
	for work := slices.Collect(maps.Keys(g.looks)); len(work) > 0; {
		slices.SortFunc(work, func(a, b *types.Var) int {
			return cmp.Or(c.comparePos(a.Pos(), b.Pos()), cmp.Compare(a.Name(), b.Name()))
		})
		var next []*types.Var
		for _, to := range work {
			if isHidden(to) && !all {
				continue
			}
			for _, from := range g.into[to] {
				if g.looks[from] == "" && (!isHidden(from) || all) {
					g.looks[from] = g.looks[to]
					next = append(next, from)
				}
			}
		}
		work = next
	}
}

// carries reports whether a value of type t can be or hold an interface that has
// a file in it.
func carries(t types.Type) bool { return carriesPast(t, nil) }

// carriesPast is carries for a type inside those of seen, which may be recursive.
func carriesPast(t types.Type, seen []types.Type) bool {
	if isTypeParam(t) {
		return true // it may be a container, with any methods
	}
	if slices.Contains(seen, t) {
		return false
	}
	seen = append(seen, t)
	switch u := t.Underlying().(type) {
	case *types.Interface:
		for m := range u.Methods() {
			if !slices.Contains(methods, m.Name()) {
				return false
			}
		}
		return true
	case *types.Slice:
		return carriesPast(u.Elem(), seen)
	case *types.Array:
		return carriesPast(u.Elem(), seen)
	case *types.Map:
		return carriesPast(u.Key(), seen) || carriesPast(u.Elem(), seen)
	case *types.Chan:
		return carriesPast(u.Elem(), seen)
	case *types.Pointer:
		return carriesPast(u.Elem(), seen)
	}
	return false
}

// isContainer reports whether two variables of type t can share what they hold.
func isContainer(t types.Type) bool {
	if isTypeParam(t) {
		return true // it may be one
	}
	switch t.Underlying().(type) {
	case *types.Slice, *types.Array, *types.Map, *types.Chan, *types.Pointer:
		return true
	}
	return false
}

// vars returns the variables that the value of e, or the i-th value of a call,
// comes from. A container stands for its elements.
func (c *checker) vars(e ast.Expr, i int) []*types.Var {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		return c.local(c.TypesInfo.ObjectOf(e))
	case *ast.SelectorExpr:
		return c.local(c.TypesInfo.ObjectOf(e.Sel))
	case *ast.IndexExpr:
		return c.vars(e.X, 0)
	case *ast.SliceExpr:
		return c.vars(e.X, 0)
	case *ast.StarExpr:
		return c.vars(e.X, 0)
	case *ast.UnaryExpr:
		return c.vars(e.X, 0)
	case *ast.TypeAssertExpr:
		from := c.vars(e.X, 0)
		if t := c.TypesInfo.TypeOf(e); t != nil && isContainer(first(t)) && carries(first(t)) {
			from = append(from, c.graph.unseen) // shared with all copies of the interface
		}
		return from
	case *ast.CompositeLit:
		return []*types.Var{c.standIn(e)}
	case *ast.CallExpr:
		return c.varsOfCall(e, i)
	}
	return nil
}

func (c *checker) varsOfCall(e *ast.CallExpr, i int) []*types.Var {
	if c.TypesInfo.Types[e.Fun].IsType() {
		return []*types.Var{c.standIn(e)}
	}
	if c.TypesInfo.Types[e.Fun].IsBuiltin() {
		if id, ok := ast.Unparen(e.Fun).(*ast.Ident); ok && id.Name == "recover" {
			return []*types.Var{c.graph.anywhere}
		}
		var all []*types.Var
		for _, arg := range e.Args {
			if t := c.TypesInfo.TypeOf(arg); t != nil && carries(t) {
				all = append(all, c.vars(arg, 0)...)
			}
		}
		return all
	}
	if sig := c.signature(e); sig != nil && i < sig.Results().Len() {
		v := sig.Results().At(i)
		if fn := c.callee(e); fn != nil && fn.Pkg() != c.Pkg && c.isFresh(fn, v, false) {
			return nil
		}
		return c.local(v)
	}
	if sel, ok := ast.Unparen(e.Fun).(*ast.SelectorExpr); ok {
		if fn, ok := c.TypesInfo.Uses[sel.Sel].(*types.Func); ok && fn.Pkg() != c.Pkg {
			if i < fn.Signature().Results().Len() && c.isFresh(fn, fn.Signature().Results().At(i), true) {
				return nil
			}
			return []*types.Var{c.graph.unseen, c.graph.heldBy(fn.Pkg())} // a method of an interface
		}
	}
	if pkg := c.packageOf(e.Fun); pkg != nil {
		return []*types.Var{c.graph.unseen, c.graph.heldBy(pkg)}
	}
	return []*types.Var{c.graph.unseen}
}

func (c *checker) local(obj types.Object) []*types.Var {
	v, ok := obj.(*types.Var)
	switch {
	case !ok:
		return nil
	case v.Pkg() == c.Pkg:
		return []*types.Var{v.Origin()}
	}
	return []*types.Var{c.graph.unseen, c.graph.heldBy(v.Pkg())}
}

// standIn returns the variable that stands for a literal or a conversion.
func (c *checker) standIn(e ast.Expr) *types.Var {
	v := c.graph.literal[e]
	if v == nil {
		v = types.NewVar(e.Pos(), c.Pkg, "", c.TypesInfo.TypeOf(e))
		c.graph.literal[e] = v
	}
	return v
}
