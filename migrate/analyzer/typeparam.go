package analyzer

import "go/types"

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
