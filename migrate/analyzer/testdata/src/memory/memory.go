package memory // want package:` MemoryGet MemoryMade `

// Package memory sets a field by its address.

import (
	"io"
	"reflect"
)

type box struct{ kept io.Reader }

var all box

func MemoryPut(r io.Reader) {
	p := reflect.ValueOf(&all).Elem().Field(0)
	reflect.NewAt(p.Type(), p.Addr().UnsafePointer()).Elem().Set(reflect.ValueOf(&r).Elem())
}

func MemoryGet() io.Reader { return all.kept }

type Made struct{ made io.Reader }

func (m *Made) MemoryMade() io.Reader { return m.made }
