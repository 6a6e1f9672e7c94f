package analyzer

import (
	"fmt"
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/types/typeutil"
)

// methods are those that *mmapfile.File has in common with *os.File.
var methods = []string{
	"Chdir", "Chmod", "Chown", "Close", "Fd", "Name", "Read", "ReadAt", "ReadDir", "ReadFrom", "Readdir",
	"Readdirnames", "Seek", "SetDeadline", "SetReadDeadline", "SetWriteDeadline", "Stat", "Sync",
	"SyscallConn", "Truncate", "Write", "WriteAt", "WriteString", "WriteTo",
}

// kernelMethods hand out the descriptor, after which the kernel keeps the offset.
var kernelMethods = []string{"Fd", "SyscallConn"}

// moreMethods are those that only *mmapfile.File has. Code that asks for one,
// such as Len of a reader, goes another way after the change.
var moreMethods = []string{
	"Advise", "Bytes", "Chunks", "Guard", "Len", "LockMemory", "OS", "Resident", "SyncRange", "UnlockMemory", "View",
}

// harmless are the functions that take any value and do not look at it.
var harmless = map[string]bool{"runtime.KeepAlive": true}

// selector accounts for a method of a file.
func (c *checker) selector(n *ast.SelectorExpr) {
	tv := c.TypesInfo.Types[n.X]
	if !tv.IsValue() || !isFile(tv.Type) || c.TypesInfo.Selections[n] == nil {
		return
	}
	c.handle(n.X)
	s, name := c.source(n.X, 0), n.Sel.Name
	switch {
	case !slices.Contains(methods, name):
		s.refuse(n.Pos(), "mmapfile.File has no method "+name, writeHand)
	case slices.Contains(kernelMethods, name):
		s.refuse(n.Pos(), name+" leaves the offset to the kernel for good, and every write to a system call", c.kernelAdvice(n))
	default:
		s = s.root()
		s.uses = append(s.uses, c.methodUse(n))
	}
}

// instead has the methods of *mmapfile.File for what a descriptor is often used for, by the names
// of functions in packages syscall and golang.org/x/sys/unix.
var instead = map[string]string{
	"Fadvise": "Advise", "Fallocate": "the size of OpenFile", "Fdatasync": "Sync",
	"Mmap": "Bytes or View", "SyncFileRange": "SyncRange",
}

// kernelAdvice says what to write in place of the descriptor of a file.
func (c *checker) kernelAdvice(n *ast.SelectorExpr) string {
	calls := 0
	for cur := range c.at.Enclosing((*ast.CallExpr)(nil)) {
		fn := typeutil.StaticCallee(c.TypesInfo, cur.Node().(*ast.CallExpr))
		switch {
		case fn == nil:
		case instead[fn.Name()] != "":
			return "mmapfile.File has " + instead[fn.Name()] + " for " + fn.Name()
		case isLock(fn.Name()):
			return "lock a file of its own"
		}
		if calls++; calls == 3 { // of Fd, of a conversion, and of the function
			break
		}
	}
	return "keep *os.File"
}

// isLock reports whether name is one of a function that locks a file, such as Flock or lockFile.
func isLock(name string) bool {
	name = strings.ToLower(name)
	return strings.Contains(name, "lock") && !strings.Contains(name, "block")
}

// call accounts for the function and the arguments of a call or a conversion.
func (c *checker) call(n *ast.CallExpr) {
	c.handle(n.Fun)
	switch fun := ast.Unparen(n.Fun).(type) {
	case *ast.IndexExpr:
		c.handle(fun.X)
	case *ast.IndexListExpr:
		c.handle(fun.X)
	}
	if c.TypesInfo.Types[n.Fun].IsType() {
		if len(n.Args) == 1 {
			t := c.TypesInfo.TypeOf(n.Fun)
			for _, a := range terms(t) {
				for _, b := range terms(c.TypesInfo.TypeOf(n.Args[0])) {
					c.convertStructs(a, b)
				}
			}
			c.convertPointers(n, t)
			c.flow(place{typ: t, via: c.vars(n, 0), what: "a conversion"}, n.Args[0], c.TypesInfo.TypeOf(n.Args[0]), 0)
		}
		return
	}
	sig, ok := core(c.TypesInfo.TypeOf(n.Fun)).(*types.Signature)
	if !ok {
		return
	}
	if c.TypesInfo.Types[n.Fun].IsBuiltin() {
		c.builtin(n)
		return
	}
	count := len(n.Args)
	if count == 1 {
		if tuple, ok := c.TypesInfo.TypeOf(n.Args[0]).(*types.Tuple); ok {
			count = tuple.Len()
		}
	}
	declared, fn := c.signature(n), c.callee(n)
	c.flows(n.Args, func(i int) place { return c.param(n, sig, declared, fn, i) }, count)
}

// param returns the parameter that the i-th argument of a call goes to.
func (c *checker) param(n *ast.CallExpr, sig, declared *types.Signature, fn *types.Func, i int) place {
	p := place{what: "a parameter of " + types.ExprString(n.Fun), fn: fn}
	j := min(i, sig.Params().Len()-1)
	if j < 0 {
		p.typ = types.Typ[types.Invalid]
		return p
	}
	p.typ = sig.Params().At(j).Type()
	if last := j == sig.Params().Len()-1; sig.Variadic() && last && !n.Ellipsis.IsValid() {
		if s, ok := p.typ.Underlying().(*types.Slice); ok {
			p.typ = s.Elem()
		}
	}
	if declared == nil {
		p.via = []*types.Var{c.graph.unseen}
		if isFile(p.typ) {
			p.slot = c.calledFile(n, (*types.Signature).Params, j)
		}
		if sel, ok := ast.Unparen(n.Fun).(*ast.SelectorExpr); ok && c.TypesInfo.Selections[sel] != nil {
			p.look = c.lookAtMethod(sel.Sel.Name, j)
		}
		return p
	}
	if v := declared.Params().At(j); v.Pkg() == c.Pkg {
		p.v = v
		return p
	}
	p.away = true
	param := declared.Params().At(j)
	p.via = c.graph.heldAfter(declared, param.Pkg())
	if isGeneric(param.Type()) {
		p.via = append(p.via, c.graph.unseen) // its result may go through other packages
	}
	if fn != nil {
		p.look = c.lookAtParam(fn, j)
	}
	return p
}

// isGeneric reports whether t is a type parameter, or has one.
func isGeneric(t types.Type) bool {
	if isTypeParam(t) {
		return true
	}
	switch t := types.Unalias(t).(type) {
	case *types.Slice:
		return isGeneric(t.Elem())
	case *types.Array:
		return isGeneric(t.Elem())
	case *types.Map:
		return isGeneric(t.Key()) || isGeneric(t.Elem())
	case *types.Chan:
		return isGeneric(t.Elem())
	case *types.Pointer:
		return isGeneric(t.Elem())
	case *types.Named:
		for arg := range t.TypeArgs().Types() {
			if isGeneric(arg) {
				return true
			}
		}
	}
	return false
}

// receiver accounts for the receiver of a method of this package, which shares its
// elements if it is a container.
func (c *checker) receiver(n *ast.SelectorExpr) {
	s := c.TypesInfo.Selections[n]
	if s == nil || s.Kind() != types.MethodVal {
		return
	}
	recv := s.Obj().(*types.Func).Origin().Signature().Recv()
	if recv.Pkg() != c.Pkg || types.IsInterface(recv.Type()) || !carries(recv.Type()) {
		return
	}
	from := c.vars(n.X, 0)
	t := s.Recv()
	for _, i := range s.Index()[:len(s.Index())-1] { // the embedded fields on the way
		st := structOf(t)
		if st == nil {
			return
		}
		from, t = c.local(st.Field(i)), st.Field(i).Type()
	}
	c.graph.flow(from, place{typ: recv.Type(), v: recv}, recv.Type())
}

// builtin accounts for append and copy to a slice of interfaces. A file as an
// argument of another builtin is refused with the rest.
func (c *checker) builtin(n *ast.CallExpr) {
	id, ok := ast.Unparen(n.Fun).(*ast.Ident)
	if ok && id.Name == "copy" && carries(c.TypesInfo.TypeOf(n.Args[0])) {
		t := c.TypesInfo.TypeOf(n.Args[0])
		c.graph.flow(c.vars(n.Args[1], 0), place{typ: t, via: c.vars(n.Args[0], 0)}, t)
	}
	if ok && id.Name == "panic" {
		c.connect(c.vars(n.Args[0], 0)...)
	}
	if !ok || id.Name != "append" || len(n.Args) == 0 {
		return
	}
	s, ok := core(c.TypesInfo.TypeOf(n)).(*types.Slice)
	if !ok {
		return
	}
	for _, arg := range n.Args[1:] {
		c.flow(place{typ: s.Elem(), via: c.vars(n.Args[0], 0), what: "a slice"}, arg, c.TypesInfo.TypeOf(arg), 0)
	}
}

// convert accounts for the conversion of a file to the interface of dst.
func (c *checker) convert(s *slot, dst place, src ast.Expr) {
	iface := dst.typ.Underlying().(*types.Interface)
	name := nameOfExpr(src)
	if dst.look != "" {
		s.refuse(src.Pos(), fmt.Sprintf("%s goes to %s, and %s", name, dst.what, dst.look), c.advice(dst, src))
		return
	}
	if iface.NumMethods() == 0 {
		if dst.fn == nil || !harmless[dst.fn.FullName()] {
			s.refuse(src.Pos(), fmt.Sprintf("%s goes to %s as any, which may be looked into", name, dst.what), c.advice(dst, src))
		}
		return
	}
	for m := range iface.Methods() {
		switch {
		case !slices.Contains(methods, m.Name()):
			s.refuse(src.Pos(), "mmapfile.File has no method "+m.Name(), c.advice(dst, src))
			return
		case slices.Contains(kernelMethods, m.Name()):
			s.refuse(src.Pos(), fmt.Sprintf("%s goes to %s, which can ask for its descriptor", name, dst.what), c.advice(dst, src))
			return
		}
	}
	root := s.root()
	root.uses = append(root.uses, c.conversionUse(iface, dst, src))
	c.graph.convert(s, dst, src)
}

const converted = "is in a struct type that is converted to another"

// convertStructs refuses the fields of two struct types that are converted into
// one another: their types have to stay identical.
func (c *checker) convertStructs(a, b types.Type) {
	x, y := structOf(a), structOf(b)
	if x == nil || y == nil || x == y {
		return
	}
	for _, t := range []*types.Struct{x, y} {
		for v := range t.Fields() {
			c.connect(v.Origin())
			if d := c.decls[v.Origin()]; d != nil && isFile(v.Type()) {
				d.refusal = converted
			}
			if sig := fileFunc(v.Type()); sig != nil {
				for in := range variables(sig) {
					if d := c.decls[in.Origin()]; d != nil {
						d.refusal = converted
					}
				}
			}
		}
	}
}

func structOf(t types.Type) *types.Struct {
	if t == nil {
		return nil
	}
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	s, _ := t.Underlying().(*types.Struct)
	return s
}
