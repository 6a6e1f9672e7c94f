package analyzer

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// use is what one use of a file tells of whether a mapping pays.
type use struct {
	name  string // name of the method, or of one that the interface has
	again bool   // it may run more than once for one file
	loop  bool   // it is in a loop, and the file is opened before that
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
	u := use{name: n.Sel.Name}
	u.again, u.loop = c.repeats(n.X)
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

// fewReads is the number of reads that have to come back before a file is mapped at all.
const fewReads = 32

// isShort reports whether a loop runs fewer than fewReads times, by constants in its head.
func (c *checker) isShort(loop ast.Node) bool {
	var limit, start ast.Expr
	switch n := loop.(type) {
	case *ast.RangeStmt:
		limit = n.X
		if a, ok := types.Unalias(c.TypesInfo.TypeOf(n.X)).Underlying().(*types.Array); ok {
			return a.Len() < fewReads
		}
	case *ast.ForStmt:
		less, ok := n.Cond.(*ast.BinaryExpr)
		init, assigned := n.Init.(*ast.AssignStmt)
		step, counted := n.Post.(*ast.IncDecStmt)
		if !ok || !assigned || !counted || less.Op != token.LSS && less.Op != token.LEQ || len(init.Rhs) != 1 || step.Tok != token.INC {
			return false
		}
		limit, start = less.Y, init.Rhs[0]
	}
	n, known := constant.Int64Val(constant.ToInt(c.constant(limit)))
	if start != nil {
		from, ok := constant.Int64Val(constant.ToInt(c.constant(start)))
		n, known = n-from, known && ok
	}
	return known && n < fewReads
}

// repeats reports whether a use of the file x is in a loop, and the file is opened before that.
// again is also true of a file that is kept, which another function has opened.
func (c *checker) repeats(x ast.Expr) (again, loop bool) {
	var obj types.Object
	if id, ok := ast.Unparen(x).(*ast.Ident); ok {
		obj = c.TypesInfo.ObjectOf(id)
	}
	kept := obj == nil || obj.Parent() == c.Pkg.Scope()
	for cur := range c.at.Enclosing((*ast.ForStmt)(nil), (*ast.RangeStmt)(nil)) {
		n := cur.Node()
		if c.isShort(n) {
			continue
		}
		loop = kept || obj.Pos() < n.Pos() || n.End() <= obj.Pos()
		break
	}
	return kept || loop, loop
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
			_, loop := c.repeats(src)
			return use{name: "Read", again: true, loop: loop || name != "encoding/binary.Read"}
		case onePass[name]:
			return use{name: "one Read"}
		case oneRead[name]:
			if call, ok := c.at.Node().(*ast.CallExpr); ok && len(call.Args) > 1 && c.isLarge(call.Args[1]) {
				return use{name: "one Read"}
			}
			u := use{name: "Read"}
			u.again, u.loop = c.repeats(src)
			return u
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

// A gain says how sure it is that a mapping pays for the files of a group, and why.
type gain struct {
	level int
	why   string
}

const (
	noGain   = iota
	mayPay   // a use may come back
	isLikely // a loop or the size of the reads says that it does
)

// message says what a mapping is worth, after the name of a function.
func (g gain) message() string {
	return []string{", without a gain in sight: ", ", which may pay: ", ", which is likely to pay: "}[g.level] + g.why
}

// gain returns what is known of the files of a group.
func (c *checker) gain(group *slot) gain {
	writeOnly, appends, synced, created := true, true, true, true
	for _, s := range group.sites {
		flag := c.flag(s)
		writeOnly = writeOnly && flag&c.osConstant("O_WRONLY") != 0
		appends = appends && flag&c.osConstant("O_APPEND") != 0
		synced = synced && s.call != nil && mentions(s.call, "O_SYNC", "O_DSYNC", "O_DIRECT")
		created = created && strings.HasPrefix(s.fn.Name(), "Create")
	}
	if writeOnly {
		return gain{noGain, "open for writing only"}
	}
	kernel := appends || synced // each write is a system call
	kept := slices.ContainsFunc(group.vars, func(v *types.Var) bool { return v.IsField() || v.Parent() == c.Pkg.Scope() })
	reads, at, pass, writes := 0, 0, false, false
	var best gain
	pays := func(loop bool, why string) {
		if loop && best.level < isLikely {
			best = gain{isLikely, why + " in a loop"}
		} else if best.level < mayPay {
			best = gain{mayPay, why}
		}
	}
	for _, u := range group.uses {
		switch u.name {
		case "ReadAt":
			if at++; u.again || at > 1 {
				pays(u.loop, "ReadAt")
			}
		case "WriteAt":
			if !kernel {
				pays(u.loop && !created, "WriteAt") // into a new file, it may only append
			}
		case "Seek":
			if !kernel && !u.ends && (u.again || kept) {
				pays(u.loop, "Seek")
			}
		case "Read":
			reads++
			if (u.again || reads > 1) && !kernel {
				pays(u.loop, "small or repeated reads")
			}
		case "one Read", "one WriteTo", "WriteTo":
			pass = true
		case "one Write", "one ReadFrom", "Write", "WriteString", "ReadFrom":
			writes = true
		}
	}
	switch {
	case best.level > noGain:
		return best
	case appends:
		return gain{noGain, "append only"}
	case synced:
		return gain{noGain, "each write is synchronous or direct"}
	case reads > 0 || at > 0 || pass:
		return gain{noGain, "read once"}
	case writes:
		return gain{noGain, "written once from start to end"}
	}
	return gain{noGain, "neither read nor written here"}
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
