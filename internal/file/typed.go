package file

import (
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"reflect"
	"sync"
	"unsafe"
)

// Typed finds n values of type t at off. The result is nil if they have no bytes.
func Typed(f *File, t reflect.Type, off int64, n int) (unsafe.Pointer, error) {
	if f == nil {
		return nil, os.ErrInvalid
	}
	p, err := f.findTyped(layoutOf(t), off, n)
	if err != nil && err != io.EOF {
		return nil, f.fail("at", err)
	}
	return p, err
}

func (f *File) findTyped(l *layout, off int64, n int) (unsafe.Pointer, error) {
	switch {
	case l.err != nil:
		return nil, l.err
	case off < 0 || n < 0:
		return nil, fs.ErrInvalid
	case off%l.align != 0:
		return nil, fmt.Errorf("%w: offset %d is not a multiple of %d, which %v requires", fs.ErrInvalid, off, l.align, l.t)
	case l.size > 0 && int64(n) > (math.MaxInt64-off)/l.size:
		return nil, io.EOF
	}
	bytes := int64(n) * l.size
	m, err := f.bytesAt(off, bytes, true)
	switch {
	case err != nil:
		return nil, err
	case bytes == 0:
		if l.size == 0 {
			return reflect.New(l.t).UnsafePointer(), nil
		}
		return nil, nil
	case m != nil && !m.writable && l.writes:
		return nil, fmt.Errorf("%w: %v is written by its methods", fs.ErrPermission, l.t)
	case m != nil:
		f.noteStores()
		return unsafe.Pointer(&m.data[off]), nil
	}
	b := f.Bytes()
	switch {
	case b == nil:
		return nil, f.noSize()
	case off+bytes > int64(len(b)):
		return nil, io.EOF
	case l.writes && f.flag&(os.O_RDWR|os.O_WRONLY) == 0:
		return nil, fmt.Errorf("%w: %v is written by its methods", fs.ErrPermission, l.t)
	}
	return unsafe.Pointer(&b[off]), nil
}

// layout is what At must know about a type.
type layout struct {
	t      reflect.Type
	size   int64
	align  int64 // at least the alignment that Go requires
	writes bool  // it has methods that store
	err    error // why a file cannot hold it
}

var layouts sync.Map // *layout by reflect.Type

func layoutOf(t reflect.Type) *layout {
	if l, ok := layouts.Load(t); ok {
		return l.(*layout)
	}
	l := &layout{t: t, size: int64(t.Size()), align: int64(t.Align())}
	l.add(t)
	layouts.Store(t, l)
	return l
}

// add adds the requirements of t, a part of l.t.
func (l *layout) add(t reflect.Type) {
	switch t.PkgPath() {
	case "sync", "sync/atomic":
		l.writes = true
	}
	switch t.Kind() {
	case reflect.Bool:
		l.err = fmt.Errorf("%w: %v holds a bool, which must be 0 or 1; use uint8", fs.ErrInvalid, l.t)
	case reflect.Int64, reflect.Uint64, reflect.Float64, reflect.Complex128:
		l.align = 8 // so that a file is valid on every machine, and for sync/atomic
	case reflect.Array:
		if t.Len() > 0 {
			l.add(t.Elem())
		}
	case reflect.Struct:
		for i := range t.NumField() {
			l.add(t.Field(i).Type)
		}
	case reflect.Chan, reflect.Func, reflect.Interface, reflect.Map, reflect.Pointer,
		reflect.Slice, reflect.String, reflect.UnsafePointer:
		l.err = fmt.Errorf("%w: %v holds a %v, and a file cannot hold pointers", fs.ErrInvalid, l.t, t.Kind())
	}
}
