// Package progress is imported by package callee and looks at what it is given.
package progress

import (
	"io"
	"os"
)

// Bar draws to a terminal.
type Bar struct {
	out io.Writer
	// Log is looked at as well.
	Log io.Writer
}

// New stores its parameter.
func New(options ...func(*Bar)) *Bar {
	b := &Bar{}
	for _, o := range options {
		o(b)
	}
	return b
}

// To stores it in a closure.
func To(w io.Writer) func(*Bar) { return func(b *Bar) { b.out = w } }

// Draw asserts.
func (b *Bar) Draw() bool {
	_, out := b.out.(*os.File)
	_, log := b.Log.(*os.File)
	return out && log
}

// Copy does not look.
func Copy(w io.Writer, r io.Reader) { io.Copy(w, r) }

// Wrap hands on to a function that looks.
func Wrap(name string, writers ...io.Writer) {
	for _, w := range writers {
		To(w)
	}
}

// Sink is what a Bar is.
type Sink interface{ Attach(w io.Writer) }

// Attach asserts.
func (b *Bar) Attach(w io.Writer) {
	if f, ok := w.(*os.File); ok {
		f.Sync()
	}
}
