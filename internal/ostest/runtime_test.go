package ostest

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"runtime/debug"
	"testing"
	"unsafe"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/filetest"
)

// What the product needs of the runtime, and what releases of Go have changed.

// faultInView has a fault in memory of a file that was truncated, which View returns as its error.
func faultInView(t *testing.T, f *mmapfile.File, size int64) (err error) {
	return f.View(0, size, func(p []byte) error {
		if err := os.Truncate(f.Name(), 0); err != nil {
			t.Error(err)
		}
		filetest.LoadBytes(p[size-1:])
		return nil
	})
}

// Go 1.27 unwinds nested panics in another way: a fault in a deferred call leaves the first panic as it is.
func TestView_FaultWhilePanicking(t *testing.T) {
	t.Parallel()
	filetest.NeedForeignTruncate(t)
	const size = 100_000
	fault := func() {
		f := filetest.Open(t, filetest.Temp(t, filetest.Pattern(size)))
		if pe, ok := errors.AsType[*fs.PathError](faultInView(t, f, size)); filetest.CanMap && (!ok || pe.Op != "view") {
			t.Errorf("a fault in View: %v", pe)
		}
	}
	var order []string
	value := filetest.Recovered(func() {
		defer func() {
			fault()
			order = append(order, "outer")
		}()
		defer func() {
			inner := filetest.Recovered(func() {
				defer fault()
				defer fault()
				panic("second")
			})
			if inner != "second" {
				t.Errorf("the second panic is %v", inner)
			}
			order = append(order, "inner")
		}()
		f := filetest.Open(t, filetest.Temp(t, filetest.Pattern(size)))
		_ = f.View(0, size, func([]byte) error {
			defer fault()
			panic("first")
		})
	})
	if value != "first" || len(order) != 2 || order[0] != "inner" {
		t.Errorf("the panic is %v, after %v", value, order)
	}
	if filetest.PanicOnFault() {
		t.Error("faults are panics afterwards")
	}
}

// A small object that has a pointer into a mapping. The collector of Go 1.26 scans many of them at once.
type intoMapping struct {
	word  *uint64
	bytes []byte
	next  *intoMapping
}

// writeAddresses writes the addresses of new objects to words. Each that is freed sends on freed.
//
//go:noinline
func writeAddresses(words []uint64, freed chan<- struct{}) {
	for i := range words {
		object := new([64]byte)
		words[i] = uint64(uintptr(unsafe.Pointer(object)))
		runtime.AddCleanup(object, func(struct{}) { freed <- struct{}{} }, struct{}{})
	}
}

// The collector meets pointers into mapped memory, before Close and after. What the file has looks like pointers,
// too, and keeps nothing alive.
func TestBytes_Collector(t *testing.T) {
	t.Parallel()
	const size, objects = 1 << 20, 20_000
	f := filetest.OpenFile(t, filetest.Temp(t, make([]byte, size)), os.O_RDWR)
	words, err := mmapfile.SliceAt[uint64](f, 0, size/8)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	p := f.Bytes()
	var list *intoMapping
	for i := range objects {
		at := i * (size / objects) &^ 7
		list = &intoMapping{&words[at/8], p[at : at+8 : at+8], list}
		*list.word = uint64(i)
	}
	freed := make(chan struct{}, 100)
	writeAddresses(words[len(words)-100:], freed)
	check := func() {
		for range 3 {
			runtime.GC()
			debug.FreeOSMemory()
		}
	}
	check()
	i := objects
	for o := list; o != nil; o = o.next {
		if i--; *o.word != uint64(i) {
			t.Fatalf("word %d is %d", i, *o.word)
		}
	}
	if !filetest.Eventually(func() bool { runtime.GC(); return len(freed) == 100 }) {
		t.Errorf("%d of 100 objects are free, whose addresses the file has", len(freed))
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	words, p = nil, nil
	check() // the range has no memory now
	runtime.KeepAlive(list)
}
