package analyzer

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/types/typeutil"
)

const (
	writeNew      = "keep the two apart, or hand the other to mmapfile.New"
	writeAPI      = "other packages may use it: change it by hand"
	writeHand     = "change it by hand"
	writeEmbedded = "embed *mmapfile.File if no other package asks for the *os.File"
	writeElement  = "change that type by hand"
)

// advice says what to write where a file goes to dst and only an *os.File will do. The inner file
// is right for another package that does not close it: closing it leaves the mapping open.
func (c *checker) advice(dst place, src ast.Expr) string {
	switch {
	case dst.typ != nil && closes(dst.typ):
		return writeHand
	case dst.away && dst.fn != nil && insteadOf(dst.fn) != "":
		return insteadOf(dst.fn)
	case dst.away:
		return useOS(src)
	case dst.fn != nil && dst.fn.Pkg() == c.Pkg:
		return "change that parameter by hand"
	case isFile(dst.typ):
		return writeElement
	}
	return writeHand
}

// closes reports whether t is an interface with a method Close.
func closes(t types.Type) bool {
	if !types.IsInterface(t) {
		return false
	}
	obj, _, _ := types.LookupFieldOrMethod(t, false, nil, "Close")
	return obj != nil
}

const (
	costOfOS = " there, after which Read, Seek and writes are system calls"
	keepOS   = "keep *os.File: after f.OS(), only ReadAt would gain"
)

// useOS says how to hand over the inner file, and what that costs.
func useOS(e ast.Expr) string {
	if _, call := ast.Unparen(e).(*ast.CallExpr); call || nameOfExpr(e) == "it" {
		return "hand over f.OS() of an mmapfile.File f" + costOfOS
	}
	return "write " + types.ExprString(e) + ".OS()" + costOfOS
}

// nameOfExpr shortens an expression for a message.
func nameOfExpr(e ast.Expr) string {
	if s := types.ExprString(e); len(s) <= 30 {
		return s
	}
	return "it"
}

// instead has what package mmapfile offers in place of a function that takes a descriptor or a file.
// The functions are those of packages syscall and golang.org/x/sys/unix, and of packages that map files.
var instead = map[string]string{
	"Fadvise": "File.Advise", "Fallocate": "the size of OpenFile", "Fdatasync": "File.Sync",
	"Mmap": "File.Bytes and File.View", "Preallocate": "the size of OpenFile", "SyncFileRange": "File.SyncRange",
}

// kernelAdvice says what to write in place of the descriptor of a file.
func (c *checker) kernelAdvice(n *ast.SelectorExpr) string {
	calls := 0
	for cur := range c.at.Enclosing((*ast.CallExpr)(nil)) {
		fn := typeutil.StaticCallee(c.TypesInfo, cur.Node().(*ast.CallExpr))
		if fn != nil && insteadOf(fn) != "" {
			return insteadOf(fn)
		}
		if fn != nil && isLock(fn.Name()) {
			return "lock a file of its own"
		}
		if calls++; calls == 3 { // calls of Fd, a conversion, and the function
			break
		}
	}
	return "keep *os.File"
}

// insteadOf says what package mmapfile has in place of fn, or is empty.
func insteadOf(fn *types.Func) string {
	own := instead[fn.Name()]
	if fn.Pkg() != nil && fn.Pkg().Name() == "mmap" && strings.HasPrefix(fn.Name(), "Map") {
		own = instead["Mmap"]
	}
	if own == "" {
		return ""
	}
	return "mmapfile has " + own + " for " + fn.Name()
}

// isLock reports whether name is one of a function that locks a file, such as Flock or lockFile.
func isLock(name string) bool {
	name = strings.ToLower(name)
	return strings.Contains(name, "lock") && !strings.Contains(name, "block")
}

// writeFunc says what to write for a function value whose type is not followed.
func writeFunc(src ast.Expr) string {
	if sel := selector(src); sel != nil && sel.Sel.Name == "OpenFile" {
		return writeElement + ": mmapfile.Options{}.OpenFile fits then"
	}
	return writeElement
}

// describe names a source of files that is not followed.
func describe(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.CallExpr:
		return "the result of " + types.ExprString(e.Fun)
	case *ast.TypeAssertExpr:
		return "what a type assertion finds"
	case *ast.IndexExpr:
		return "an element of " + types.ExprString(e.X)
	case *ast.UnaryExpr:
		if e.Op == token.ARROW {
			return "a file from a channel"
		}
	}
	return types.ExprString(e)
}
