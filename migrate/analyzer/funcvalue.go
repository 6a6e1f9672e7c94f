package analyzer

import (
	"go/ast"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
)

// Values of function types are followed as files are: what a function value goes to has the same
// signature, and the files in both change together.

// fileFunc returns the signature of a function type with files in it, or nil.
func fileFunc(t types.Type) *types.Signature { return fileFuncPast(t, nil) }

// fileFuncPast is fileFunc for a type inside those of seen, which may be recursive.
func fileFuncPast(t types.Type, seen []types.Type) *types.Signature {
	if t == nil || isTypeParam(t) || slices.Contains(seen, t) {
		return nil
	}
	sig, ok := t.Underlying().(*types.Signature)
	if !ok {
		return nil
	}
	for v := range variables(sig) {
		if isFile(v.Type()) || fileFuncPast(v.Type(), append(seen, t)) != nil {
			return sig
		}
	}
	return nil
}

// variables yields the parameters and results.
func variables(sig *types.Signature) func(yield func(*types.Var) bool) {
	return func(yield func(*types.Var) bool) {
		for _, tuple := range []*types.Tuple{sig.Params(), sig.Results()} {
			for v := range tuple.Variables() {
				if !yield(v) {
					return
				}
			}
		}
	}
}

// flowFunc accounts for a function value of type t that goes to dst.
func (c *checker) flowFunc(dst place, src ast.Expr, t types.Type) {
	why := nameOfExpr(src) + " goes to " + dst.what
	to := fileFunc(dst.typ)
	if to == nil || dst.v != nil && fileFunc(dst.v.Type()) == nil {
		c.refuseFunc(src, t, why+", where its type is not followed")
		return
	}
	if v := dst.v; v != nil && v.Parent() == c.Pkg.Scope() {
		if reason, _ := c.usedElsewhere(v, ""); reason != "" {
			c.refuseFunc(src, t, v.Name()+" "+reason) // its type may be inferred
			return
		}
	}
	c.uniteFuncs(src, fileFunc(t), dst, to)
}

// refuseFunc refuses the files in the type of a function value.
func (c *checker) refuseFunc(src ast.Expr, t types.Type, why string) {
	for _, s := range c.funcSlots(src, fileFunc(t)) {
		s.refuse(src.Pos(), why, writeFunc(src))
	}
}

// uniteFuncs gives the files in both signatures one type.
func (c *checker) uniteFuncs(src ast.Expr, from *types.Signature, dst place, to *types.Signature) {
	a, b := c.funcSlots(src, from), c.varSlots(dst.v, to)
	for i := range min(len(a), len(b)) {
		if b[i] == nil {
			a[i].refuse(src.Pos(), nameOfExpr(src)+" goes to "+dst.what+", a function of *os.File", writeFunc(src))
		} else {
			unite(a[i], b[i])
		}
	}
}

// funcSlots returns the slots of the files in the type of a function value.
func (c *checker) funcSlots(src ast.Expr, sig *types.Signature) []*slot {
	if s := c.value(src); s != nil {
		return []*slot{s.slot}
	}
	v, _ := c.object(src).(*types.Var)
	slots := c.varSlots(v, sig)
	for i := range slots {
		if slots[i] == nil {
			slots[i] = refused(src.Pos(), "it also holds files of "+types.ExprString(src), writeNew)
		}
	}
	return slots
}

// varSlots returns the slots of the files in a signature. A variable whose type is that of a
// function of package os stands for the one file in it. The slot of a signature that another
// package declares is nil.
func (c *checker) varSlots(holder *types.Var, sig *types.Signature) []*slot {
	var slots []*slot
	for v := range variables(sig) {
		in := fileFunc(v.Type())
		switch {
		case in != nil:
			slots = append(slots, c.varSlots(nil, in)...)
		case !isFile(v.Type()):
		case v.Pkg() == c.Pkg:
			slots = append(slots, c.slotOf(v))
		case holder != nil && holder.Pkg() == c.Pkg && c.decls[holder] != nil:
			slots = append(slots, c.slotOf(holder))
		default:
			slots = append(slots, nil)
		}
	}
	return slots
}

// object returns what a name or a selector stands for.
func (c *checker) object(e ast.Expr) types.Object {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		return c.TypesInfo.ObjectOf(e)
	case *ast.SelectorExpr:
		return c.TypesInfo.ObjectOf(e.Sel)
	}
	return nil
}

// value returns the site of a function that opens files and that is used as a value, or nil.
func (c *checker) value(e ast.Expr) *site {
	e = ast.Unparen(e)
	if s := c.siteOf[e]; s != nil {
		return s
	}
	fn, ok := c.object(e).(*types.Func)
	if !ok || !isOpener(fn) {
		return nil
	}
	return c.newSite(e, e, fn)
}

// calledFile returns the slot of the i-th parameter or result in a call of a function value, or
// nil if it is not followed.
func (c *checker) calledFile(call *ast.CallExpr, of func(*types.Signature) *types.Tuple, i int) *slot {
	sig, ok := core(c.TypesInfo.TypeOf(call.Fun)).(*types.Signature)
	if !ok || i >= of(sig).Len() {
		return nil
	}
	v := of(sig).At(i)
	if !isFile(v.Type()) {
		return nil
	}
	holder, _ := c.object(call.Fun).(*types.Var)
	return c.varSlots(holder, types.NewSignatureType(nil, nil, nil, types.NewTuple(v), nil, false))[0]
}

func selector(e ast.Expr) *ast.SelectorExpr {
	sel, _ := ast.Unparen(e).(*ast.SelectorExpr)
	return sel
}

// declareFuncTypes declares the files in the function types that are written in declarations of
// variables, fields, parameters, results and types.
func (c *checker) declareFuncTypes(methods, anonymous map[string]bool) {
	for cur := range c.root.Preorder((*ast.FuncType)(nil)) {
		n := cur.Node().(*ast.FuncType)
		sig, ok := c.TypesInfo.TypeOf(n).(*types.Signature)
		kind := cur.ParentEdgeKind()
		if !ok || fileFunc(sig) == nil || kind == edge.FuncDecl_Type || kind == edge.FuncLit_Type {
			continue
		}
		c.declareSignature(n, sig, c.holderOf(cur, methods, anonymous))
	}
}

const inFuncType = "is in a function type that is not followed"

// holderOf returns a declaration as that of each file in a function type.
func (c *checker) holderOf(cur inspector.Cursor, methods, anonymous map[string]bool) decl {
	switch n := cur.Parent().Node().(type) {
	case *ast.ValueSpec:
		if v, ok := c.TypesInfo.Defs[n.Names[0]].(*types.Var); ok && len(n.Names) == 1 {
			return decl{holder: v}
		}
	case *ast.Field:
		return c.holderOfField(cur.Parent(), n, methods, anonymous)
	}
	return decl{refusal: inFuncType}
}

func (c *checker) holderOfField(cur inspector.Cursor, n *ast.Field, methods, anonymous map[string]bool) decl {
	list := cur.Parent().Parent() // what has the list of fields
	switch list.Node().(type) {
	case *ast.StructType:
		var d decl
		if len(n.Names) == 1 {
			d.holder, _ = c.TypesInfo.Defs[n.Names[0]].(*types.Var)
		}
		if spec, ok := list.Parent().Node().(*ast.TypeSpec); ok {
			d.structName = spec.Name.Name
		}
		switch {
		case d.holder == nil:
			d.refusal = inFuncType
		case anonymous[d.holder.Name()]:
			d.refusal = inUnnamed
		}
		return d
	case *ast.FuncType:
		switch list.ParentEdgeKind() {
		case edge.FuncLit_Type:
			return decl{}
		case edge.FuncDecl_Type:
			fn := list.Parent().Node().(*ast.FuncDecl)
			owner, _ := c.TypesInfo.Defs[fn.Name].(*types.Func)
			return decl{owner: owner, refusal: refusalOf(fn, methods)}
		}
		return c.holderOf(list, methods, anonymous) // the type of a parameter or result
	}
	return decl{refusal: inFuncType}
}
