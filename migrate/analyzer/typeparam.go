package analyzer

import (
	"go/ast"
	"go/types"
	"slices"
)

// findInstances notes the types that each type parameter of the package's unexported functions
// stands for. The package has all their calls and values in sight, except those in files that
// this build leaves out.
func (c *checker) findInstances() {
	for cur := range c.root.Preorder((*ast.FuncDecl)(nil)) {
		fn, ok := c.TypesInfo.Defs[cur.Node().(*ast.FuncDecl).Name].(*types.Func)
		if !ok || fn.Exported() || fn.Signature().Recv() != nil || c.outside.names[fn.Name()] != "" {
			continue
		}
		for p := range fn.Signature().TypeParams().TypeParams() {
			c.instances[p] = []types.Type{}
		}
	}
	for id, instance := range c.TypesInfo.Instances {
		fn, ok := c.TypesInfo.Uses[id].(*types.Func)
		if !ok {
			continue
		}
		params := fn.Signature().TypeParams()
		for i := range params.Len() {
			if args, ok := c.instances[params.At(i)]; ok {
				c.instances[params.At(i)] = append(args, instance.TypeArgs.At(i))
			}
		}
	}
}

// typeParam returns the type parameter that t is, or points to.
func typeParam(t types.Type) (p *types.TypeParam, pointer bool) {
	t = types.Unalias(t)
	if ptr, ok := t.(*types.Pointer); ok {
		t, pointer = types.Unalias(ptr.Elem()), true
	}
	p, _ = t.(*types.TypeParam)
	return p, pointer
}

// terms returns the types that the constraint of t has in a union, or t.
func terms(t types.Type) []types.Type {
	if t == nil || !isTypeParam(t) {
		return []types.Type{t}
	}
	var all []types.Type
	var add func(t types.Type)
	add = func(t types.Type) {
		switch u := types.Unalias(t).(type) {
		case *types.Union:
			for term := range u.Terms() {
				add(term.Type())
			}
		default:
			iface, ok := t.Underlying().(*types.Interface)
			if !ok {
				all = append(all, t)
				return
			}
			for e := range iface.EmbeddedTypes() {
				add(e)
			}
		}
	}
	add(types.Unalias(t).(*types.TypeParam).Constraint())
	return all
}

// core returns the underlying type of t. For a type parameter that is the one that all the
// types of its union have, if it can be sent to, called or indexed.
func core(t types.Type) types.Type {
	if all := terms(t); len(all) > 0 && all[0] != nil {
		return all[0].Underlying()
	}
	return t.Underlying()
}

// tellsApart reports whether an assertion of t may find *os.File but not *mmapfile.File, or the
// other way around. seen has the types that t is an instance of.
func (c *checker) tellsApart(t types.Type, seen []types.Type) bool {
	p, pointer := typeParam(t)
	if p == nil {
		iface, ok := t.Underlying().(*types.Interface)
		return isFile(t) || isMapped(t) || ok && asksFor(iface) != ""
	}
	if slices.ContainsFunc(seen, func(s types.Type) bool { return types.Identical(s, t) }) {
		return false
	}
	args, ok := c.instances[p]
	return !ok || slices.ContainsFunc(args, func(arg types.Type) bool {
		if pointer {
			arg = types.NewPointer(arg)
		}
		return c.tellsApart(arg, append(seen, t))
	})
}
