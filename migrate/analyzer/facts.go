package analyzer

import (
	"fmt"
	"go/ast"
	"go/types"
	"slices"
)

// ParamsFact says of a function which of its parameters have their dynamic type
// looked at.
type ParamsFact struct {
	Params []ParamLook
}

// ParamLook says how the parameter of that index is looked at.
type ParamLook struct {
	Index int
	Look  string
}

// methodParam is a parameter of all methods of one name.
type methodParam struct {
	name  string
	index int
}

// VarFact says of a field or variable how its dynamic type is looked at.
type VarFact struct {
	Look string
}

func (*ParamsFact) AFact() {}
func (*VarFact) AFact()    {}

func (f *ParamsFact) String() string { return fmt.Sprint(f.Params) }
func (f *VarFact) String() string    { return f.Look }

// lookAtParam returns how a function of another package looks at a parameter.
func (c *checker) lookAtParam(fn *types.Func, i int) string {
	var fact ParamsFact
	if !c.ImportObjectFact(fn.Origin(), &fact) {
		return ""
	}
	j := slices.IndexFunc(fact.Params, func(p ParamLook) bool { return p.Index == i })
	if j < 0 {
		return ""
	}
	return fact.Params[j].Look
}

// lookAtMethod returns how any method of that name looks at a parameter: a call
// through an interface may be one of it.
func (c *checker) lookAtMethod(name string, i int) string {
	if c.methodLooks == nil {
		c.methodLooks = map[methodParam]string{}
		for _, f := range c.AllObjectFacts() {
			fn, ok := f.Object.(*types.Func)
			fact, params := f.Fact.(*ParamsFact)
			if !ok || !params || fn.Signature().Recv() == nil {
				continue
			}
			for _, p := range fact.Params {
				key := methodParam{fn.Name(), p.Index}
				c.methodLooks[key] = max(c.methodLooks[key], p.Look)
			}
		}
	}
	return c.methodLooks[methodParam{name, i}]
}

// lookAtVar returns how another package looks at its field or variable.
func (c *checker) lookAtVar(v *types.Var) string {
	var fact VarFact
	if v.Pkg() == nil || !c.ImportObjectFact(v, &fact) {
		return ""
	}
	return fact.Look
}

// exportFacts tells the packages that import this one.
func (c *checker) exportFacts() {
	for cur := range c.root.Preorder((*ast.FuncDecl)(nil)) {
		fn, ok := c.TypesInfo.Defs[cur.Node().(*ast.FuncDecl).Name].(*types.Func)
		if !ok || !fn.Exported() {
			continue
		}
		var fact ParamsFact
		for i := range fn.Signature().Params().Len() {
			if look := c.graph.looks[fn.Signature().Params().At(i)]; look != "" {
				fact.Params = append(fact.Params, ParamLook{i, look})
			}
		}
		if len(fact.Params) > 0 {
			c.ExportObjectFact(fn, &fact)
		}
	}
	for v, look := range c.graph.looks {
		if v.Exported() && (v.IsField() || v.Parent() == c.Pkg.Scope()) {
			c.ExportObjectFact(v, &VarFact{look})
		}
	}
}
