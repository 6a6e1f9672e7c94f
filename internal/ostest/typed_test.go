package ostest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/filetest"
)

type fileHeader struct {
	Magic   [4]byte
	Version uint32
	Count   uint64
	_       [8]byte
}

func TestAt_InPlace(t *testing.T) {
	t.Parallel()
	name := filetest.Temp(t, filetest.Pattern(10_000))
	f := filetest.Open(t, name)
	h, err := mmapfile.At[fileHeader](f, 16)
	if err != nil {
		t.Fatal(err)
	}
	b := filetest.Pattern(10_000)[16:]
	if h.Magic != [4]byte(b) || h.Version != binary.NativeEndian.Uint32(b[4:]) || h.Count != binary.NativeEndian.Uint64(b[8:]) {
		t.Errorf("read %v", *h)
	}
	h.Count = 42
	again, err := mmapfile.At[fileHeader](f, 16)
	if err != nil || again != h {
		t.Errorf("a second At is at %p, the first at %p (%v)", again, h, err)
	}
	words, err := mmapfile.SliceAt[uint32](f, 8, 100)
	if err != nil || len(words) != 100 || cap(words) != 100 {
		t.Fatalf("%d words, capacity %d: %v", len(words), cap(words), err)
	}
	words[50] = 7
	if _, err := f.WriteAt(make([]byte, 20_000), 10_000); err != nil { // grow
		t.Fatal(err)
	}
	words[51] = 8
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	got := filetest.Read(t, name)
	if binary.NativeEndian.Uint64(got[24:]) != 42 || binary.NativeEndian.Uint32(got[208:]) != 7 || binary.NativeEndian.Uint32(got[212:]) != 8 {
		t.Errorf("the writes are not in the file: % x", got[200:220])
	}
	last, err := mmapfile.At[byte](f, 29_999)
	if err != nil || *last != 0 {
		t.Errorf("the last byte: %v", err)
	}
}

// atError returns the error of At.
func atError[T any](f *mmapfile.File, off int64) error { _, err := mmapfile.At[T](f, off); return err }

func TestAt_BoundsAndAlignment(t *testing.T) {
	t.Parallel()
	name := filetest.Temp(t, filetest.Pattern(100))
	f := filetest.Open(t, name)
	slice := func(off int64, n int) error { _, err := mmapfile.SliceAt[uint32](f, off, n); return err }
	big := func(off int64, n int) error { _, err := mmapfile.SliceAt[[1 << 20]uint64](f, off, n); return err }
	type nested struct {
		A uint32
		B [2]struct{ C float64 }
	}
	for i, c := range []struct{ got, want error }{
		{atError[uint64](f, 88), nil}, {atError[uint64](f, 92), fs.ErrInvalid}, {atError[uint64](f, 96), io.EOF},
		{atError[uint64](f, 4), fs.ErrInvalid}, {atError[atomic.Int64](f, 4), fs.ErrInvalid}, {atError[atomic.Int64](f, 8), nil},
		{atError[complex128](f, 4), fs.ErrInvalid}, {atError[complex64](f, 4), nil}, {atError[nested](f, 4), fs.ErrInvalid}, {atError[nested](f, 8), nil},
		{atError[uint32](f, 2), fs.ErrInvalid}, {atError[uint16](f, 98), nil}, {atError[uint16](f, 99), fs.ErrInvalid},
		{atError[byte](f, 99), nil}, {atError[byte](f, 100), io.EOF}, {atError[byte](f, -1), fs.ErrInvalid}, {atError[byte](f, 1<<62), io.EOF},
		{atError[[3]byte](f, 97), nil}, {atError[[100]byte](f, 1), io.EOF}, {atError[struct{}](f, 100), nil}, {atError[struct{}](f, 101), io.EOF},
		{atError[[0]*int](f, 0), nil}, {atError[[0]bool](f, 0), nil},
		{slice(0, 25), nil}, {slice(0, 26), io.EOF}, {slice(100, 0), nil}, {slice(104, 0), io.EOF}, {slice(0, -1), fs.ErrInvalid},
		{slice(0, int(^uint(0)>>1)), io.EOF}, {slice(1, 1), fs.ErrInvalid}, {big(0, 1<<20), io.EOF}, {big(0, int(^uint(0)>>1)), io.EOF},
	} {
		if c.want == nil && c.got != nil || c.want != nil && !errors.Is(c.got, c.want) {
			t.Errorf("case %d: %v, want %v", i, c.got, c.want)
		}
		var pe *fs.PathError
		if c.want == fs.ErrInvalid && (!errors.As(c.got, &pe) || pe.Op != "at" || pe.Path != name) {
			t.Errorf("case %d: %v is no PathError of At", i, c.got)
		}
		if c.want == io.EOF && c.got != io.EOF {
			t.Errorf("case %d: %v is not the bare io.EOF", i, c.got)
		}
	}
	if s, err := mmapfile.SliceAt[uint32](f, 100, 0); s == nil || len(s) != 0 || err != nil {
		t.Errorf("an empty slice: %v, %v", s, err)
	}
	for i := range int64(8) { // memory of a mapping and of a copy
		x, err := mmapfile.At[[8]byte](f, 8*i)
		if err != nil || uintptr(unsafe.Pointer(x))%8 != 0 {
			t.Errorf("offset %d is at %p (%v)", 8*i, x, err)
		}
	}
}

func TestAt_Pointers(t *testing.T) {
	t.Parallel()
	f := filetest.Open(t, filetest.Temp(t, filetest.Pattern(1000)))
	type inner struct {
		N int32
		S []string
	}
	type list struct{ Next *list }
	for i, err := range []error{
		atError[*int](f, 0), atError[string](f, 0), atError[[]byte](f, 0), atError[map[int]int](f, 0), atError[chan int](f, 0), atError[func()](f, 0),
		atError[any](f, 0), atError[error](f, 0), atError[unsafe.Pointer](f, 0), atError[[2]inner](f, 0), atError[list](f, 0),
		atError[struct{ x [1]any }](f, 0), atError[atomic.Pointer[int]](f, 0), atError[atomic.Value](f, 0), atError[reflect.Value](f, 0),
	} {
		if !errors.Is(err, fs.ErrInvalid) || !strings.Contains(err.Error(), "pointers") {
			t.Errorf("case %d: %v", i, err)
		}
	}
}

// Compiled code takes a bool for 0 or 1 and does not check an index made of it, so another
// byte of the file would reach past an array.
func TestAt_Bools(t *testing.T) {
	t.Parallel()
	f := filetest.Open(t, filetest.Temp(t, bytes.Repeat([]byte{200}, 1000)))
	type flags struct {
		N  uint8
		On [2]bool
	}
	type named bool
	_, slice := mmapfile.SliceAt[bool](f, 0, 10)
	for i, err := range []error{slice, atError[bool](f, 50), atError[named](f, 0), atError[[4]bool](f, 0), atError[flags](f, 0), atError[[1]flags](f, 0)} {
		if !errors.Is(err, fs.ErrInvalid) || !strings.Contains(err.Error(), "uint8") {
			t.Errorf("case %d: %v", i, err)
		}
	}
	if on, err := mmapfile.At[atomic.Bool](f, 0); err != nil || !on.Load() {
		t.Errorf("an atomic.Bool, which is a uint32: %v", err)
	}
}

func TestAt_ReadOnlyFile(t *testing.T) {
	t.Parallel()
	name := filetest.Temp(t, filetest.Pattern(1000))
	f, err := mmapfile.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	type counters struct {
		ID    uint64
		Count [4]atomic.Uint32
	}
	for i, err := range []error{
		atError[atomic.Uint64](f, 0), atError[atomic.Bool](f, 0), atError[counters](f, 8), atError[sync.Mutex](f, 0),
	} {
		if !errors.Is(err, fs.ErrPermission) {
			t.Errorf("case %d: %v", i, err)
		}
	}
	if err := errors.Join(atError[uint64](f, 0), atError[fileHeader](f, 8)); err != nil {
		t.Error(err)
	}
	w := filetest.Open(t, name)
	if err := errors.Join(atError[atomic.Uint64](w, 0), atError[counters](w, 8), atError[sync.Mutex](w, 0)); err != nil {
		t.Error(err)
	}
}

func TestAt_NoMemory(t *testing.T) {
	t.Parallel()
	name := filetest.Temp(t, filetest.Pattern(100))
	closed := filetest.Open(t, name)
	closed.Bytes()
	closed.Close()
	dir, err := mmapfile.Open(filetest.Dir(t))
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	var none *mmapfile.File
	for i, c := range []struct{ got, want error }{
		{atError[byte](closed, 0), os.ErrClosed}, {atError[byte](dir, 0), errors.ErrUnsupported}, {atError[byte](none, 0), os.ErrInvalid},
		{atError[byte](filetest.Open(t, filetest.Temp(t, nil)), 0), io.EOF},
	} {
		if !errors.Is(c.got, c.want) {
			t.Errorf("case %d: %v, want %v", i, c.got, c.want)
		}
	}
}

func TestAt_NoAllocation(t *testing.T) {
	f := filetest.OpenMapped(t, filetest.Temp(t, filetest.Pattern(100_000)))
	if !filetest.MapsUnasked {
		t.Skip("it allocates with a lock, or without a mapping")
	}
	if n := testing.AllocsPerRun(100, func() {
		x, err := mmapfile.At[fileHeader](f, 512)
		s, serr := mmapfile.SliceAt[uint64](f, 1024, 100)
		if err != nil || serr != nil || x.Version == 0 || s[99] == 0 {
			t.Fatal(err, serr)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestAt_ParallelTypes(t *testing.T) {
	t.Parallel()
	f := filetest.Open(t, filetest.Temp(t, filetest.Pattern(4096)))
	filetest.Together(t, 8, func(i int) error {
		return errors.Join(atError[[1]uint16](f, 0), atError[[2]uint16](f, 0), atError[[3]int8](f, 0), atError[[4]float32](f, 0))
	})
	s, err := mmapfile.SliceAt[byte](f, 0, 4096)
	if err != nil || !slices.Equal(s, filetest.Pattern(4096)) {
		t.Error(fmt.Sprint("the whole file: ", err))
	}
}
