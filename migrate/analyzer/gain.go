package analyzer

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
)

// use is one use of a file, as far as it tells whether a mapping pays.
type use struct {
	name  string // of a method, or of a method that an interface asks for
	again bool   // it is likely to run more than once for one file
	end   bool   // a Seek to the end
}

// smallReads are functions that read a file in small pieces.
var smallReads = map[string]bool{
	"archive/tar.NewReader": true, "encoding/binary.Read": true, "fmt.Fscan": true, "fmt.Fscanf": true, "fmt.Fscanln": true,
}

// onePass are functions that read a file from start to end, though what they ask
// for can seek.
var onePass = map[string]bool{"net/http.ServeContent": true}

// oneRead are functions that read a file as one call of Read does.
var oneRead = map[string]bool{"io.ReadFull": true, "io.ReadAtLeast": true}

func (c *checker) methodUse(n *ast.SelectorExpr) use {
	u := use{name: n.Sel.Name, again: c.repeats(n.X)}
	if call, ok := c.at.Parent().Node().(*ast.CallExpr); ok && u.name == "Seek" && len(call.Args) == 2 {
		whence, ok := constant.Int64Val(constant.ToInt(c.constant(call.Args[1])))
		u.end = ok && whence == 2
	}
	return u
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
			return use{name: "Read", again: c.repeats(src)}
		}
	}
	u := use{}
	for m := range iface.Methods() {
		switch m.Name() {
		case "ReadAt", "WriteAt", "Seek":
			u.name = m.Name()
		case "Read", "Write", "ReadFrom", "WriteTo":
			if u.name == "" {
				u.name = "one " + m.Name() // from start to end
			}
		}
		if u.name == "ReadAt" {
			break
		}
	}
	return u
}

// gain returns why a mapping is likely to pay for the files of a group, or why
// it is not.
func (c *checker) gain(group *slot) (likely, none string) {
	writeOnly, appends, synced := true, true, true
	for _, s := range group.sites {
		flag, ok := c.flag(s)
		writeOnly = writeOnly && ok && flag&c.osConstant("O_WRONLY") != 0
		appends = appends && ok && flag&c.osConstant("O_APPEND") != 0
		synced = synced && mentions(s.call, "O_SYNC", "O_DSYNC", "O_DIRECT")
	}
	if writeOnly {
		return "", "open for writing only"
	}
	kernel := appends || synced // each write is a system call
	reads, pass, writes := 0, false, false
	for _, u := range group.uses {
		switch u.name {
		case "ReadAt":
			return "ReadAt", ""
		case "WriteAt":
			if !kernel {
				return "WriteAt", ""
			}
		case "Seek":
			if !kernel && !u.end {
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
	case reads > 0 || pass:
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

// flag returns the flag of an open call, if it is a constant.
func (c *checker) flag(s *site) (int64, bool) {
	if s.fn.Name() != "OpenFile" {
		return 0, true
	}
	if len(s.call.Args) != 3 {
		return 0, false
	}
	return constant.Int64Val(constant.ToInt(c.constant(s.call.Args[1])))
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

// line returns the position of pos without its directory.
func (c *checker) line(pos token.Pos) string { return shortPosition(c.Fset.Position(pos)) }
