package analyzer

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/ast/inspector"
)

// decl is the declaration of a variable whose type is *os.File.
type decl struct {
	pkg        *ast.Ident  // "os" in the declared type; nil if the type is inferred
	owner      *types.Func // the function whose parameter or result it is
	structName string      // name of the struct type that has the field
	holder     *types.Var  // variable or field of the function type that it is in
	refusal    string      // why the declaration cannot change
}

const embedded = "is embedded, which promotes its methods"

const inUnnamed = "may have to agree with a struct type without a name"

// declare finds the declarations of all variables of type *os.File. A variable
// without one is never rewritten.
func (c *checker) declare() {
	methods := c.interfaceMethods()
	anonymous := map[string]bool{}
	for cur := range c.root.Preorder((*ast.FuncDecl)(nil), (*ast.FuncLit)(nil), (*ast.ValueSpec)(nil),
		(*ast.AssignStmt)(nil), (*ast.StructType)(nil), (*ast.CallExpr)(nil)) {
		switch n := cur.Node().(type) {
		case *ast.FuncDecl:
			c.declareFunc(n, methods)
		case *ast.FuncLit:
			c.declareSignature(n.Type, c.TypesInfo.TypeOf(n).(*types.Signature), decl{})
		case *ast.ValueSpec:
			var vars []*types.Var
			for _, name := range n.Names {
				if v, ok := c.TypesInfo.Defs[name].(*types.Var); ok {
					vars = append(vars, v)
				}
			}
			c.declareVars(n.Type, vars, decl{})
		case *ast.AssignStmt:
			c.declareAssigned(n)
		case *ast.StructType:
			c.declareFields(cur, n, anonymous)
		case *ast.CallExpr:
			if id := calleeIdent(n); id != nil {
				c.called[id] = true
			}
		}
	}
	c.declareFuncTypes(methods, anonymous)
	for v, d := range c.decls {
		if v.IsField() && anonymous[v.Name()] && d.refusal == "" {
			d.refusal = inUnnamed
		}
	}
	for id, obj := range c.TypesInfo.Uses {
		if fn, ok := obj.(*types.Func); ok && !c.called[id] {
			c.values[fn.Origin()] = true
		}
	}
}

// interfaceMethods returns the names of the unexported methods of interfaces in
// this package. A method of such a name may have to keep its signature.
func (c *checker) interfaceMethods() map[string]bool {
	names := map[string]bool{}
	for cur := range c.root.Preorder((*ast.InterfaceType)(nil)) {
		for _, m := range cur.Node().(*ast.InterfaceType).Methods.List {
			for _, name := range m.Names {
				names[name.Name] = true
			}
		}
	}
	return names
}

func (c *checker) declareFunc(n *ast.FuncDecl, methods map[string]bool) {
	fn, ok := c.TypesInfo.Defs[n.Name].(*types.Func)
	if !ok {
		return
	}
	c.declareSignature(n.Type, fn.Signature(), decl{owner: fn, refusal: refusalOf(n, methods)})
}

// refusalOf says why a function keeps its signature.
func refusalOf(n *ast.FuncDecl, methods map[string]bool) string {
	switch {
	case n.Body == nil:
		return "belongs to a function without a body"
	case n.Recv != nil && methods[n.Name.Name]:
		return "belongs to a method that an interface may ask for"
	}
	return ""
}

// declareSignature declares the parameters and results of a function, as d.
func (c *checker) declareSignature(n *ast.FuncType, sig *types.Signature, d decl) {
	declare := func(list *ast.FieldList, vars *types.Tuple) {
		i := 0
		for _, field := range list.List {
			var names []*types.Var
			for range max(1, len(field.Names)) {
				names = append(names, vars.At(i))
				i++
			}
			c.declareVars(field.Type, names, d)
		}
	}
	declare(n.Params, sig.Params())
	if n.Results != nil {
		declare(n.Results, sig.Results())
	}
}

// declareVars declares the variables of one type expression, which change type
// together, as d.
func (c *checker) declareVars(typ ast.Expr, vars []*types.Var, d decl) {
	var first *slot
	for _, v := range vars {
		if typ == nil && fileFunc(v.Type()) != nil {
			c.decls[v] = &decl{}
		}
		if !isFile(v.Type()) {
			continue
		}
		d := d
		c.decls[v] = &d
		if typ == nil {
			continue
		}
		if d.pkg = c.osIdent(typ); d.pkg == nil {
			d.refusal = "has a type that is not written as *os.File"
		}
		if first == nil {
			first = c.slotOf(v)
		}
		unite(first, c.slotOf(v))
	}
}

// osIdent returns "os" in the type expression *os.File.
func (c *checker) osIdent(typ ast.Expr) *ast.Ident {
	star, ok := ast.Unparen(typ).(*ast.StarExpr)
	if !ok {
		return nil
	}
	sel, ok := ast.Unparen(star.X).(*ast.SelectorExpr)
	if !ok {
		return nil
	}
	id, ok := sel.X.(*ast.Ident)
	if !ok {
		return nil
	}
	name, ok := c.TypesInfo.Uses[id].(*types.PkgName)
	if !ok || name.Imported().Path() != "os" || sel.Sel.Name != "File" {
		return nil
	}
	return id
}

func (c *checker) declareAssigned(n *ast.AssignStmt) {
	if n.Tok != token.DEFINE {
		return
	}
	for _, lhs := range n.Lhs {
		if v, ok := c.TypesInfo.Defs[lhs.(*ast.Ident)].(*types.Var); ok {
			c.declareVars(nil, []*types.Var{v}, decl{})
		}
	}
}

// declareFields declares the fields of a struct type.
func (c *checker) declareFields(cur inspector.Cursor, n *ast.StructType, anonymous map[string]bool) {
	spec, named := cur.Parent().Node().(*ast.TypeSpec)
	named = named && !spec.Assign.IsValid() // an alias has no identity of its own
	for _, field := range n.Fields.List {
		if len(field.Names) == 0 {
			if v := c.embedded(n, field); v != nil && isFile(v.Type()) {
				c.decls[v] = &decl{refusal: embedded}
			}
			continue
		}
		var vars []*types.Var
		for _, name := range field.Names {
			if v, ok := c.TypesInfo.Defs[name].(*types.Var); ok {
				vars = append(vars, v)
				if !named && (isFile(v.Type()) || fileFunc(v.Type()) != nil) {
					anonymous[name.Name] = true
				}
			}
		}
		c.declareVars(field.Type, vars, decl{})
		for _, v := range vars {
			if d := c.decls[v]; d != nil && named {
				d.structName = spec.Name.Name
			}
		}
	}
}

// embedded returns the variable of an embedded field.
func (c *checker) embedded(n *ast.StructType, field *ast.Field) *types.Var {
	t, ok := c.TypesInfo.TypeOf(n).(*types.Struct)
	if !ok {
		return nil
	}
	for v := range t.Fields() {
		if v.Embedded() && field.Pos() <= v.Pos() && v.Pos() < field.End() {
			return v
		}
	}
	return nil
}

// declObstacle returns the obstacle in a variable's own declaration, if there is one.
func (c *checker) declObstacle(v *types.Var) (obstacle, bool) {
	d := c.decls[v]
	what := c.nameOf(v)
	refuse := func(why, write string) (obstacle, bool) { return obstacle{v.Pos(), what + " " + why, write}, true }
	switch {
	case d == nil:
		return refuse("is declared in a way that is not followed", writeHand)
	case d.refusal != "":
		if d.refusal == embedded {
			return refuse(d.refusal, writeEmbedded)
		}
		return refuse(d.refusal, writeHand)
	case d.owner != nil && d.owner.Exported():
		return refuse("belongs to "+d.owner.Name()+", which is exported", writeAPI)
	}
	var reason, write string
	switch {
	case d.owner != nil:
		reason, write = c.usedElsewhere(d.owner, d.structName)
	case d.holder != nil:
		reason, write = c.usedElsewhere(d.holder, d.structName)
	default:
		reason, write = c.usedElsewhere(v, d.structName)
	}
	if reason != "" {
		return refuse(reason, write)
	}
	return obstacle{}, false
}

// usedElsewhere says why code that this pass does not have may use a declaration, if it may. A
// field is one of the struct type of that name.
func (c *checker) usedElsewhere(obj types.Object, of string) (reason, write string) {
	if v, ok := obj.(*types.Var); ok && !v.IsField() && v.Parent() != c.Pkg.Scope() {
		return "", ""
	}
	if obj.Exported() {
		return "is exported", writeAPI
	}
	names := c.outside.names
	if isMember(obj) && names[obj.Name()] != linkname {
		names = c.outside.members
	}
	file, ok := names[obj.Name()]
	if !ok {
		file, ok = c.outside.literals[of]
	}
	if ok {
		return "may be used in " + file + ", which this build leaves out", "change both by hand"
	}
	return "", ""
}

// isMember reports whether obj is a field or a method.
func isMember(obj types.Object) bool {
	switch obj := obj.(type) {
	case *types.Var:
		return obj.IsField()
	case *types.Func:
		return obj.Signature().Recv() != nil
	}
	return false
}

// nameOf names a variable in a message.
func (c *checker) nameOf(v *types.Var) string {
	d := c.decls[v]
	switch {
	case v.IsField():
		return "field " + v.Name()
	case d != nil && d.holder != nil:
		return c.nameOf(d.holder)
	case d != nil && d.owner != nil && (v.Name() == "" || isResult(d.owner, v)):
		return strings.TrimSpace("a result " + v.Name())
	case d != nil && d.owner != nil:
		return "parameter " + v.Name()
	case v.Name() == "":
		return "a result"
	}
	return v.Name()
}

func isResult(fn *types.Func, v *types.Var) bool {
	for r := range fn.Signature().Results().Variables() {
		if r == v {
			return true
		}
	}
	return false
}
