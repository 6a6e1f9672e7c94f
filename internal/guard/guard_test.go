package guard_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"unsafe"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/guard"
	"go.dw1.io/mmapfile/internal/sys"
)

// truncated returns the memory of a file of the first length, which was truncated to the
// second.
func truncated(t *testing.T, length, size int) []byte {
	t.Helper()
	if !sys.Maps || runtime.GOOS == "windows" || runtime.GOOS == "openbsd" {
		t.Skip("no memory of a truncated file here")
	}
	name := filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(name, make([]byte, length), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := mmapfile.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	p := f.Bytes()
	if !guard.Readable(p) || !guard.Writable(p) {
		t.Fatal("pages of the file cannot be read or written")
	}
	if err := os.Truncate(name, int64(size)); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestReadable_TruncatedFile(t *testing.T) {
	t.Parallel()
	page := os.Getpagesize()
	mem := truncated(t, 4*page, page)
	if !guard.Readable(mem[:0]) || !guard.Writable(mem[:0]) {
		t.Error("no bytes cannot be read or written")
	}
	dst := make([]byte, 4*page)
	for _, c := range []struct {
		from, to int
		want     bool
	}{
		{0, page, true}, {100, page - 1, true}, {0, page + 1, false}, {100, page + 1, false},
		{page - 1, page + 1, false}, {page, 2 * page, false}, {0, 4 * page, false},
	} {
		p := mem[c.from:c.to]
		if got := guard.Readable(p); got != c.want {
			t.Errorf("Readable of %d to %d is %v", c.from, c.to, got)
		}
		if got := guard.Copy(dst[:len(p)], p); got != c.want {
			t.Errorf("Copy of %d to %d is %v", c.from, c.to, got)
		}
		if got := c.from%page == 0 && guard.Writable(p); got != (c.want && c.from == 0) {
			t.Errorf("Writable of %d to %d is %v", c.from, c.to, got)
		}
	}
}

// address is a fault at some address, as the runtime reports it.
type address uintptr

func (address) RuntimeError()   {}
func (address) Error() string   { return "unexpected fault address" }
func (a address) Addr() uintptr { return uintptr(a) }

func addr(p []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(p))) }

func TestIn_Addresses(t *testing.T) {
	t.Parallel()
	page := os.Getpagesize()
	buf := make([]byte, 3*page)
	start := addr(buf)
	first := page - int(start)%page // a page of buf begins here
	p := buf[first+100 : first+page+50]
	base := address(addr(p))
	for _, c := range []struct {
		r    any
		want int // -1 if it is not in p
	}{
		{base, 0}, {base + 7, 7}, {base - 100, 0}, {base - 101, -1}, {base + address(len(p)) - 1, len(p) - 1}, {base + address(len(p)), -1},
		{errors.New("fault"), -1}, {nil, -1}, {"text", -1},
	} {
		off, ok := guard.In(c.r, p)
		if ok != (c.want >= 0) || ok && off != c.want {
			t.Errorf("In of %v: %d, %v, want %d", c.r, off, ok, c.want)
		}
	}
	if guard.Caused(errors.New("fault"), p) || guard.Caused(base-101, p) || !guard.Caused(base, p) {
		t.Error("Caused does not go by the address")
	}
}

func TestCaused_NilDereference(t *testing.T) {
	t.Parallel()
	page := os.Getpagesize()
	mem := truncated(t, 4*page, page)
	if os.Getenv("MMAPFILE_EMULATOR") != "" {
		t.Skip("the emulator may report no fault address")
	}
	defer func() {
		r := recover()
		if r == nil || guard.Caused(r, mem) {
			t.Errorf("a nil dereference (%v) counts as a fault of the memory", r)
		}
	}()
	var p *[64]byte
	t.Error(p[len(mem)%64])
}

func TestExiting_Goexit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do   func()
		want bool
	}{
		"Goexit": {runtime.Goexit, true},
		"panic":  {func() { panic("mine") }, false},
	} {
		got := make(chan bool)
		go func() {
			defer func() { // last, so that the panic ends here
				recover()
			}()
			defer func() { got <- guard.Exiting() }()
			c.do()
		}()
		if <-got != c.want {
			t.Errorf("%s: Exiting is %v", name, !c.want)
		}
	}
}
