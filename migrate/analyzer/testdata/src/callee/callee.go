// Package callee hands files to another package, which may look at their type.
package callee

import (
	"io"
	"os"

	"progress"
)

func draw(name string) {
	f, _ := os.Create(name) // want `f goes to a parameter of progress.To, and progress \(progress.go:30\) asserts \*os.File`
	f.WriteAt(nil, 0)
	progress.New(progress.To(f)).Draw()
}

func variadic(name string) {
	f, _ := os.Create(name) // want `f goes to a parameter of progress.Wrap, and progress \(progress.go:30\) asserts \*os.File`
	f.WriteAt(nil, 0)
	progress.Wrap("x", nil, f)
}

func field(name string) {
	f, _ := os.Create(name) // want `f goes to b.Log, and progress \(progress.go:31\) asserts \*os.File`
	f.WriteAt(nil, 0)
	b := progress.New()
	b.Log = f
}

func dynamic(name string, s progress.Sink) {
	f, _ := os.Create(name) // want `f goes to a parameter of s.Attach, and progress \(progress.go:\d+\) asserts \*os.File`
	f.WriteAt(nil, 0)
	s.Attach(f)
}

func copies(name string) {
	f, _ := os.Open(name) // want `os.Open can be`
	f.WriteAt(nil, 0)
	progress.Copy(os.Stdout, f)
}

func held(name string) {
	f, _ := os.Create(name) // want `f goes to w, and progress \(progress.go:30\) asserts \*os.File`
	f.WriteAt(nil, 0)
	var w io.Writer = f
	progress.New(progress.To(w)).Draw()
}
