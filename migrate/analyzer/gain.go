package analyzer

import (
	"go/ast"
	"go/constant"
	"go/types"
	"slices"
)

// use is one use of a file, as far as it tells whether a mapping pays.
type use struct {
	name  string // name of the method, or of one that the interface has
	again bool   // it is likely to run more than once for one file
	ends  bool   // a Seek to the start or the end
}

// smallReads are functions that read a file in small pieces.
var smallReads = map[string]bool{
	"archive/tar.NewReader": true, "bufio.NewScanner": true, "encoding/binary.Read": true,
	"fmt.Fscan": true, "fmt.Fscanf": true, "fmt.Fscanln": true,
}

// onePass are functions that read a file from start to end, though what they ask
// for can seek.
var onePass = map[string]bool{"net/http.ServeContent": true}

// oneRead are functions that read a file as one call of Read does.
var oneRead = map[string]bool{"io.ReadFull": true, "io.ReadAtLeast": true}

func (c *checker) methodUse(n *ast.SelectorExpr) use {
	u := use{name: n.Sel.Name, again: c.repeats(n.X)}
	call, ok := c.at.Parent().Node().(*ast.CallExpr)
	switch {
	case u.name == "ReadAt":
		u.again = u.again || c.isHandedOver(n.X)
	case !ok:
	case u.name == "Seek" && len(call.Args) == 2:
		offset, zero := constant.Int64Val(constant.ToInt(c.constant(call.Args[0])))
		whence, known := constant.Int64Val(constant.ToInt(c.constant(call.Args[1])))
		u.ends = known && (whence == 2 || whence == 0 && zero && offset == 0)
	case u.name == "Read" && len(call.Args) == 1 && c.isLarge(call.Args[0]):
		u.name = "one Read"
	}
	return u
}

// largeRead is the size in bytes from which the copy costs more than the system call:
// docs/where-it-pays.md has a read of 1 MiB at 0.87 of the time, and sizes of up to some
// tens of KiB as those that gain. A smaller number calls more loops "read once".
const largeRead = 64 << 10

// isLarge reports whether a buffer is one of a constant size of at least largeRead.
func (c *checker) isLarge(buffer ast.Expr) bool {
	if s, ok := ast.Unparen(buffer).(*ast.SliceExpr); ok && s.Low == nil && s.High == nil {
		buffer = s.X
	}
	if a, ok := c.TypesInfo.TypeOf(buffer).Underlying().(*types.Array); ok {
		return a.Len() >= largeRead
	}
	id, ok := ast.Unparen(buffer).(*ast.Ident)
	if !ok {
		return false
	}
	obj := c.TypesInfo.ObjectOf(id)
	for cur := range c.root.Preorder((*ast.AssignStmt)(nil)) {
		n := cur.Node().(*ast.AssignStmt)
		i := slices.IndexFunc(n.Lhs, func(e ast.Expr) bool {
			id, ok := e.(*ast.Ident)
			return ok && obj != nil && c.TypesInfo.Defs[id] == obj
		})
		if i >= 0 && len(n.Lhs) == len(n.Rhs) {
			return c.makesLarge(n.Rhs[i])
		}
	}
	return false
}

// makesLarge reports whether e is make([]byte, size) with a large constant size.
func (c *checker) makesLarge(e ast.Expr) bool {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok || !c.TypesInfo.Types[call.Fun].IsBuiltin() || len(call.Args) < 2 {
		return false
	}
	size, known := constant.Int64Val(constant.ToInt(c.constant(call.Args[1])))
	return known && size >= largeRead
}

func (c *checker) constant(e ast.Expr) constant.Value {
	if v := c.TypesInfo.Types[e].Value; v != nil {
		return v
	}
	return constant.MakeUnknown()
}

// repeats reports whether a use of the file x is in a loop that the file is
// opened before, or in another function.
func (c *checker) repeats(x ast.Expr) bool {
	id, ok := ast.Unparen(x).(*ast.Ident)
	if !ok {
		return true
	}
	obj := c.TypesInfo.ObjectOf(id)
	if obj == nil || obj.Parent() == c.Pkg.Scope() {
		return true
	}
	for loop := range c.at.Enclosing((*ast.ForStmt)(nil), (*ast.RangeStmt)(nil)) {
		n := loop.Node()
		return obj.Pos() < n.Pos() || n.End() <= obj.Pos()
	}
	return false
}

// isHandedOver reports whether the file x is a parameter of the function at hand, or a
// variable of the function around it. Such a function may run often for one file.
func (c *checker) isHandedOver(x ast.Expr) bool {
	id, ok := ast.Unparen(x).(*ast.Ident)
	if !ok {
		return true
	}
	obj := c.TypesInfo.ObjectOf(id)
	for fn := range c.at.Enclosing((*ast.FuncDecl)(nil), (*ast.FuncLit)(nil)) {
		var body *ast.BlockStmt
		switch n := fn.Node().(type) {
		case *ast.FuncDecl:
			body = n.Body
		case *ast.FuncLit:
			body = n.Body
		}
		return obj == nil || obj.Pos() < body.Pos() || body.End() <= obj.Pos()
	}
	return true
}

// conversionUse tells what an interface, or the function that takes it, does
// with a file.
func (c *checker) conversionUse(iface *types.Interface, dst place, src ast.Expr) use {
	if dst.fn != nil {
		switch name := dst.fn.FullName(); {
		case smallReads[name]:
			return use{name: "Read", again: true}
		case onePass[name]:
			return use{name: "one Read"}
		case oneRead[name]:
			if call, ok := c.at.Node().(*ast.CallExpr); ok && len(call.Args) > 1 && c.isLarge(call.Args[1]) {
				return use{name: "one Read"}
			}
			return use{name: "Read", again: c.repeats(src)}
		}
	}
	u := use{again: true}
	for m := range iface.Methods() {
		switch m.Name() {
		case "ReadAt", "WriteAt", "Seek":
			u.name = m.Name()
		case "Read", "Write", "ReadFrom", "WriteTo":
			if u.name == "" {
				u.name = "one " + m.Name() // from start to end
			}
		}
	}
	return u
}

// gain returns why a mapping is likely to pay for the files of a group, or why
// it is not.
func (c *checker) gain(group *slot) (likely, none string) {
	writeOnly, appends, synced := true, true, true
	for _, s := range group.sites {
		flag := c.flag(s)
		writeOnly = writeOnly && flag&c.osConstant("O_WRONLY") != 0
		appends = appends && flag&c.osConstant("O_APPEND") != 0
		synced = synced && s.call != nil && mentions(s.call, "O_SYNC", "O_DSYNC", "O_DIRECT")
	}
	if writeOnly {
		return "", "open for writing only"
	}
	kernel := appends || synced // each write is a system call
	kept := slices.ContainsFunc(group.vars, func(v *types.Var) bool { return v.IsField() || v.Parent() == c.Pkg.Scope() })
	reads, at, pass, writes := 0, 0, false, false
	for _, u := range group.uses {
		switch u.name {
		case "ReadAt":
			if at++; u.again || at > 1 {
				return "ReadAt", ""
			}
		case "WriteAt":
			if !kernel {
				return "WriteAt", ""
			}
		case "Seek":
			if !kernel && !u.ends && (u.again || kept) {
				return "Seek", ""
			}
		case "Read":
			reads++
			if (u.again || reads > 1) && !kernel {
				return "small or repeated reads", ""
			}
		case "one Read", "one WriteTo", "WriteTo":
			pass = true
		case "one Write", "one ReadFrom", "Write", "WriteString", "ReadFrom":
			writes = true
		}
	}
	switch {
	case appends:
		return "", "append only"
	case synced:
		return "", "each write is synchronous or direct"
	case reads > 0 || at > 0 || pass:
		return "", "read once"
	case writes:
		return "", "written once from start to end"
	}
	return "", "neither read nor written here"
}

// mentions reports whether one of the names is in the arguments of a call.
func mentions(call *ast.CallExpr, names ...string) bool {
	found := false
	ast.Inspect(call, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && slices.Contains(names, id.Name) {
			found = true
		}
		return !found
	})
	return found
}

// flag returns the flag of an open call, or 0 if it has none that is constant.
func (c *checker) flag(s *site) int64 {
	if s.call == nil || s.fn.Name() != "OpenFile" || len(s.call.Args) != 3 {
		return 0
	}
	flag, _ := constant.Int64Val(constant.ToInt(c.constant(s.call.Args[1])))
	return flag
}

// osConstant returns a flag of package os on the system that is compiled for.
func (c *checker) osConstant(name string) int64 {
	for _, s := range c.sites {
		if k, ok := s.fn.Pkg().Scope().Lookup(name).(*types.Const); ok {
			v, _ := constant.Int64Val(k.Val())
			return v
		}
	}
	return 0
}
