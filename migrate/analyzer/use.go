package analyzer

import (
	"fmt"
	"go/ast"
	"go/types"
	"slices"
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
	"Advise", "Bytes", "Chunks", "Guard", "Len", "LockMemory", "OS", "Resident", "SyncRange", "SystemCalls",
	"UnlockMemory", "View",
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
