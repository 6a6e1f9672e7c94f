package analyzer

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/types"
	"slices"
)

// ParamsFact says which parameters of a function have their dynamic type examined.
type ParamsFact struct {
	Params []ParamLook
}

// ParamLook says how the dynamic type of the parameter with that index is examined.
type ParamLook struct {
	Index int
	Look  string
}

// MethodsFact says of a package and all that it imports which parameters of their methods
// have their dynamic type examined. It is a fact of the package because go vet does not
// pass on facts of types that the importing package cannot name.
type MethodsFact struct {
	Methods []MethodLook
}

// MethodLook says which parameter of the methods of that name has its dynamic type
// examined, and how.
type MethodLook struct {
	Name  string
	Index int
	Look  string
}

// methodParam is a parameter of all methods of one name.
type methodParam struct {
	name  string
	index int
}

// VarFact says how the dynamic type of a field or variable is examined.
type VarFact struct {
	Look string
}

func (*ParamsFact) AFact()  {}
func (*VarFact) AFact()     {}
func (*MethodsFact) AFact() {}

func (f *ParamsFact) String() string  { return fmt.Sprint(f.Params) }
func (f *VarFact) String() string     { return f.Look }
func (f *MethodsFact) String() string { return fmt.Sprint(f.Methods) }

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

// importMethods reads what the imported packages tell of methods.
func (c *checker) importMethods() {
	for _, pkg := range c.Pkg.Imports() {
		var fact MethodsFact
		c.ImportPackageFact(pkg, &fact)
		for _, m := range fact.Methods {
			c.noteMethod(m)
		}
	}
}

func (c *checker) noteMethod(m MethodLook) {
	key := methodParam{m.Name, m.Index}
	c.methodLooks[key] = max(c.methodLooks[key], m.Look)
}

// lookAtMethod returns how any method of that name looks at a parameter: a call
// through an interface may be one of it.
func (c *checker) lookAtMethod(name string, i int) string {
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
				if fn.Signature().Recv() != nil && !c.onlyCopies(fn) {
					c.noteMethod(MethodLook{fn.Name(), i, look})
				}
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
	c.exportMethods()
}

// onlyCopies reports whether fn implements io.ReaderFrom or io.WriterTo in packages os and net.
// They assert types to let the system copy, and have the same result for all others.
func (c *checker) onlyCopies(fn *types.Func) bool {
	return (c.Pkg.Path() == "os" || c.Pkg.Path() == "net") && (fn.Name() == "ReadFrom" || fn.Name() == "WriteTo")
}

// exportMethods hands on all that is known of methods, as each package reads only
// the facts of its direct imports.
func (c *checker) exportMethods() {
	if len(c.methodLooks) == 0 {
		return
	}
	var fact MethodsFact
	for key, look := range c.methodLooks {
		fact.Methods = append(fact.Methods, MethodLook{key.name, key.index, look})
	}
	slices.SortFunc(fact.Methods, func(a, b MethodLook) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), a.Index-b.Index)
	})
	c.ExportPackageFact(&fact)
}
