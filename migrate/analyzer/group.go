package analyzer

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/types/typeutil"
)

// openers are the functions that are rewritten.
var openers = map[string]bool{"Open": true, "Create": true, "OpenFile": true, "CreateTemp": true, "OpenInRoot": true}

// slot holds values of type *os.File: a variable, field, parameter or result,
// or the call that opens a file. Slots that exchange values are one group,
// whose members are listed in its root.
type slot struct {
	parent    *slot // nil in the root
	vars      []*types.Var
	sites     []*site
	obstacles []obstacle
	uses      []use
}

// site is a call of one of the openers, or one of them as a value.
type site struct {
	at   ast.Expr
	call *ast.CallExpr // nil for a value
	fn   *types.Func
	pkg  *ast.Ident // "os", or nil in a file with a dot import
	slot *slot
}

// obstacle is a reason why a group keeps *os.File.
type obstacle struct {
	pos   token.Pos
	why   string
	write string // what to write instead
}

func (s *slot) root() *slot {
	for s.parent != nil {
		s = s.parent
	}
	return s
}

func unite(a, b *slot) {
	a, b = a.root(), b.root()
	if a == b {
		return
	}
	b.parent = a
	a.vars = append(a.vars, b.vars...)
	a.sites = append(a.sites, b.sites...)
	a.obstacles = append(a.obstacles, b.obstacles...)
	a.uses = append(a.uses, b.uses...)
}

func (s *slot) refuse(pos token.Pos, why, write string) {
	s = s.root()
	s.obstacles = append(s.obstacles, obstacle{pos, why, write})
}

// isFile reports whether t is *os.File.
func isFile(t types.Type) bool { return isPointerTo(t, "os") }

// isMapped reports whether t is *mmapfile.File.
func isMapped(t types.Type) bool { return isPointerTo(t, mmapfilePath) }

// isPointerTo reports whether t points to the type File of a package.
func isPointerTo(t types.Type, path string) bool {
	p, ok := types.Unalias(t).(*types.Pointer)
	if !ok {
		return false
	}
	n, ok := types.Unalias(p.Elem()).(*types.Named)
	return ok && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == path && n.Obj().Name() == "File"
}

// slotOf returns the slot of a variable of this package.
func (c *checker) slotOf(v *types.Var) *slot {
	v = v.Origin()
	s := c.slots[v]
	if s == nil {
		s = &slot{vars: []*types.Var{v}}
		c.slots[v] = s
	}
	return s
}

// refused returns a slot of its own that can never change its type.
func refused(pos token.Pos, why, write string) *slot {
	return &slot{obstacles: []obstacle{{pos, why, write}}}
}

// source returns the slot that the value of e, or the i-th value of a call,
// comes from.
func (c *checker) source(e ast.Expr, i int) *slot {
	e = ast.Unparen(e)
	switch e := e.(type) {
	case *ast.Ident:
		if v, ok := c.TypesInfo.ObjectOf(e).(*types.Var); ok && v.Pkg() == c.Pkg {
			return c.slotOf(v)
		}
	case *ast.SelectorExpr:
		if v, ok := c.TypesInfo.ObjectOf(e.Sel).(*types.Var); ok && v.Pkg() == c.Pkg {
			return c.slotOf(v)
		}
	case *ast.CallExpr:
		if s := c.site(e); s != nil {
			return s.slot
		}
		if sig := c.signature(e); sig != nil && i < sig.Results().Len() {
			if v := sig.Results().At(i); v.Pkg() == c.Pkg {
				return c.slotOf(v)
			}
		} else if s := c.calledFile(e, (*types.Signature).Results, i); s != nil {
			return s
		}
	}
	return refused(e.Pos(), "it also holds "+describe(e), writeNew)
}

// site returns the site of a call, or nil if it opens no file.
func (c *checker) site(call *ast.CallExpr) *site {
	if s := c.siteOf[call]; s != nil {
		return s
	}
	fn := typeutil.StaticCallee(c.TypesInfo, call)
	if !isOpener(fn) {
		return nil
	}
	s := c.newSite(call, call.Fun, fn)
	s.call = call
	return s
}

// newSite returns a site at an expression in which fun is the name of the function.
func (c *checker) newSite(at, fun ast.Expr, fn *types.Func) *site {
	s := &site{at: at, fn: fn, slot: &slot{}}
	if sel := selector(fun); sel != nil {
		s.pkg, _ = sel.X.(*ast.Ident)
	}
	s.slot.sites = []*site{s}
	c.siteOf[at] = s
	c.sites = append(c.sites, s)
	return s
}

func isOpener(fn *types.Func) bool {
	return fn != nil && fn.Pkg() != nil && fn.Pkg().Path() == "os" && openers[fn.Name()] && fn.Signature().Recv() == nil
}
