package ostest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime/debug"
	"strings"
	"testing"
	"unsafe"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/filetest"
	"go.dw1.io/mmapfile/internal/race"
)

// guardedFile is an open file of n bytes, read-write, that is mapped.
func guardedFile(t *testing.T, n int) *mmapfile.File {
	t.Helper()
	return filetest.OpenMapped(t, filetest.Temp(t, filetest.Pattern(n)))
}

// guardFaults skips the test if memory of a File does not fault, or without an address.
func guardFaults(t *testing.T) {
	t.Helper()
	if !filetest.CanMap {
		t.Skip("copies do not fault")
	}
	filetest.NeedForeignTruncate(t)
	filetest.NeedFaultAddresses(t)
}

// guardFails fails the test unless err is want as an error of Guard on f.
func guardFails(t *testing.T, f *mmapfile.File, err, want error) {
	t.Helper()
	var pe *fs.PathError
	if !errors.As(err, &pe) || pe.Op != "guard" || pe.Path != f.Name() || pe.Err != want {
		t.Errorf("Guard returned %s, want %v", filetest.ErrorText(err, f.Name()), want)
	}
}

func TestGuard_Truncation(t *testing.T) {
	t.Parallel()
	guardFaults(t)
	page := os.Getpagesize()
	for name, expose := range map[string]func(f *mmapfile.File) []byte{
		"Bytes": func(f *mmapfile.File) []byte { return f.Bytes() },
		"At": func(f *mmapfile.File) []byte {
			p, err := mmapfile.At[[4096]byte](f, int64(6*page))
			if err != nil {
				t.Error(err)
			}
			return p[:]
		},
		"SliceAt": func(f *mmapfile.File) []byte {
			p, err := mmapfile.SliceAt[byte](f, int64(page), 6*page)
			if err != nil {
				t.Error(err)
			}
			return p
		},
		"Chunks": func(f *mmapfile.File) (p []byte) {
			for c, err := range f.Chunks(2 * page) {
				if err != nil {
					t.Fatal(err)
				}
				p = c.Data
			}
			return p // the last one
		},
	} {
		for what, touch := range map[string]func(p []byte){
			"Load":  filetest.LoadBytes,
			"Store": func(p []byte) { p[len(p)-1] = 1 },
			"Copy":  func(p []byte) { copy(make([]byte, len(p)), p) },
		} {
			t.Run(name+what, func(t *testing.T) {
				t.Parallel()
				f := guardedFile(t, 8*page)
				p := expose(f)
				// Before the call, and in it.
				if err := f.Guard(func() error { touch(p); return nil }); err != nil {
					t.Fatal(err)
				}
				returned := false
				err := f.Guard(func() error {
					child := filetest.ChildCommand(t, nil, "truncate")
					child.Stdin = strings.NewReader(fmt.Sprintf("%d %q\n", page+1, f.Name()))
					filetest.RunChild(t, child)
					touch(p)
					returned = true
					return nil
				})
				if returned {
					t.Fatal("a truncated page did not fault")
				}
				guardFails(t, f, err, io.ErrUnexpectedEOF)
				guardFails(t, f, f.Guard(func() error { touch(p); return nil }), io.ErrUnexpectedEOF)
				// The File is as good as before.
				b := make([]byte, 2*page)
				if n, err := f.ReadAt(b, 0); n != page+1 || err != io.EOF {
					t.Errorf("ReadAt afterwards: %d, %v", n, err)
				}
				if err := f.Guard(func() error { filetest.LoadBytes(f.Bytes()); return nil }); err != nil {
					t.Errorf("a Guard of what is left: %v", err)
				}
			})
		}
	}
}

// guardGrown returns a file that has grown, with a slice of before that and one of after.
func guardGrown(t *testing.T) (f *mmapfile.File, short, long []byte) {
	t.Helper()
	f = guardedFile(t, 4*os.Getpagesize())
	short = f.Bytes()
	if _, err := f.WriteAt(filetest.Pattern(len(short)), int64(20*len(short))); err != nil {
		t.Fatal(err)
	}
	long = f.Bytes()
	if len(long) != 21*len(short) {
		t.Fatalf("%d bytes, want %d", len(long), 21*len(short))
	}
	if unsafe.SliceData(short) == unsafe.SliceData(long) {
		t.Fatal("the file has one mapping, and the test needs two")
	}
	return f, short, long
}

func TestGuard_EarlierMapping(t *testing.T) {
	t.Parallel()
	guardFaults(t)
	for name, end := range map[string]func(f *mmapfile.File) error{
		"Truncated": func(f *mmapfile.File) error { return os.Truncate(f.Name(), 1) },
		"Closed":    (*mmapfile.File).Close,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := io.ErrUnexpectedEOF
			if name == "Closed" {
				want = os.ErrClosed
			}
			for _, earlier := range []bool{false, true} {
				f, short, long := guardGrown(t)
				p := long
				if earlier {
					p = short
				}
				guardFails(t, f, f.Guard(func() error {
					if err := end(f); err != nil {
						t.Error(err)
					}
					filetest.LoadBytes(p)
					return nil
				}), want)
			}
			// A mapping that is made during the call.
			f := guardedFile(t, 4*os.Getpagesize())
			guardFails(t, f, f.Guard(func() error {
				if _, err := f.WriteAt(filetest.Pattern(100_000), 1_000_000); err != nil {
					t.Error(err)
				}
				p := f.Bytes()
				if err := end(f); err != nil {
					t.Error(err)
				}
				filetest.LoadBytes(p)
				return nil
			}), want)
		})
	}
}

func TestGuard_Close(t *testing.T) {
	t.Parallel()
	filetest.NeedFaultAddresses(t)
	filetest.NeedThreads(t)
	for range 100 {
		f := guardedFile(t, 100_000)
		p := f.Bytes()
		started, closed := make(chan struct{}), make(chan error)
		go func() {
			<-started
			closed <- f.Close()
		}()
		filetest.Within(t, func() {
			err := f.Guard(func() error {
				close(started)
				for range 20 {
					filetest.LoadBytes(p)
				}
				return nil
			})
			if err != nil {
				guardFails(t, f, err, os.ErrClosed)
			}
		})
		if err := <-closed; err != nil {
			t.Error(err)
		}
		called := false
		guardFails(t, f, f.Guard(func() error { called = true; return nil }), os.ErrClosed)
		if called {
			t.Error("Guard of a closed file called its function")
		}
	}
}

// After Close the memory faults, except on Windows, where it stays until the last Guard ends.
func TestGuard_CloseInside(t *testing.T) {
	t.Parallel()
	filetest.NeedFaultAddresses(t)
	for name, call := range map[string]func(f *mmapfile.File) error{
		"Close":         (*mmapfile.File).Close,
		"CloseInNested": func(f *mmapfile.File) error { return f.Guard(f.Close) },
	} {
		f := guardedFile(t, 100_000)
		p := f.Bytes()
		err := f.Guard(func() error {
			if err := call(f); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			filetest.LoadBytes(p)
			return nil
		})
		if filetest.MapsUnasked {
			guardFails(t, f, err, os.ErrClosed)
		} else if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestGuard_ReadOnlyFile(t *testing.T) {
	t.Parallel()
	filetest.NeedFaultAddresses(t)
	if !filetest.CanMap {
		t.Skip("copies can be written")
	}
	f := filetest.OpenReadOnly(t, filetest.Temp(t, filetest.Pattern(1000)))
	defer f.Close()
	p := f.Bytes()
	guardFails(t, f, f.Guard(func() error { p[999] = 0; return nil }), fs.ErrPermission)
}

func TestGuard_Private(t *testing.T) {
	t.Parallel()
	guardFaults(t)
	page := os.Getpagesize()
	f, err := mmapfile.Options{Private: true}.OpenFile(filetest.Temp(t, filetest.Pattern(4*page)), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p := f.Bytes()
	guardFails(t, f, f.Guard(func() error {
		if err := os.Truncate(f.Name(), 1); err != nil {
			t.Error(err)
		}
		filetest.LoadBytes(p)
		return nil
	}), io.ErrUnexpectedEOF)
}

func TestGuard_Result(t *testing.T) {
	t.Parallel()
	f := guardedFile(t, 1000)
	if err := f.Guard(func() error { return fs.ErrExist }); err != fs.ErrExist {
		t.Errorf("the error of the function came out as %v", err)
	}
	var none *mmapfile.File
	if err := none.Guard(func() error { return nil }); err != os.ErrInvalid {
		t.Errorf("of a nil File: %v", err)
	}
	// A file with nothing to map, and one that is mapped during the call only.
	empty := filetest.Open(t, filetest.Temp(t, nil))
	if err := empty.Guard(func() error { return nil }); err != nil {
		t.Error(err)
	}
	unmapped := filetest.Open(t, filetest.Temp(t, filetest.Pattern(1000)))
	if err := unmapped.Guard(func() error {
		if got := unmapped.Bytes(); !bytes.Equal(got, filetest.Pattern(1000)) {
			t.Errorf("Bytes has %d bytes", len(got))
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}

// Not parallel: AllocsPerRun counts what the whole process allocates.
func TestGuard_Allocations(t *testing.T) {
	if race.Detector {
		t.Skip("the race detector allocates")
	}
	f := guardedFile(t, 1000)
	p := f.Bytes()
	if n := testing.AllocsPerRun(200, func() {
		if err := f.Guard(func() error { filetest.LoadBytes(p[:10]); return nil }); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestGuard_Nested(t *testing.T) {
	t.Parallel()
	guardFaults(t)
	f, g := guardedFile(t, 80_000), guardedFile(t, 80_000)
	p, q := f.Bytes(), g.Bytes()
	err := f.Guard(func() error {
		inner := g.Guard(func() error {
			if err := os.Truncate(g.Name(), 0); err != nil {
				t.Error(err)
			}
			filetest.LoadBytes(q)
			return nil
		})
		guardFails(t, g, inner, io.ErrUnexpectedEOF)
		if !filetest.PanicOnFault() {
			t.Error("the inner Guard has ended the outer one")
		}
		if err := os.Truncate(f.Name(), 0); err != nil {
			t.Error(err)
		}
		return g.Guard(func() error {
			filetest.LoadBytes(p) // of the outer Guard, in the inner one
			return nil
		})
	})
	guardFails(t, f, err, io.ErrUnexpectedEOF)
}

// A fault outside the range of a View is that of the Guard around it.
func TestGuard_View(t *testing.T) {
	t.Parallel()
	guardFaults(t)
	page := os.Getpagesize()
	f := guardedFile(t, 8*page)
	p := f.Bytes()
	guardFails(t, f, f.Guard(func() error {
		return f.View(0, int64(page), func(view []byte) error {
			if err := os.Truncate(f.Name(), int64(page)); err != nil {
				t.Error(err)
			}
			filetest.LoadBytes(view)
			filetest.LoadBytes(p)
			return nil
		})
	}), io.ErrUnexpectedEOF)

	f = guardedFile(t, 8*page)
	err := f.View(0, int64(8*page), func(view []byte) error {
		guardFails(t, f, f.Guard(func() error {
			if err := os.Truncate(f.Name(), int64(page)); err != nil {
				t.Error(err)
			}
			filetest.LoadBytes(view)
			return nil
		}), io.ErrUnexpectedEOF)
		return fs.ErrExist
	})
	if err != fs.ErrExist {
		t.Errorf("View returned %v", err)
	}
}

func TestGuard_PanicOnFaultAsBefore(t *testing.T) {
	for _, was := range []bool{false, true} {
		f := guardedFile(t, 80_000)
		p := f.Bytes()
		done := make(chan struct{})
		go func() { // the setting belongs to the goroutine
			defer close(done)
			debug.SetPanicOnFault(was)
			for name, fn := range map[string]func() error{
				"Nothing": func() error { return nil },
				"Error":   func() error { return fs.ErrExist },
				"Panic":   func() error { panic(1) },
				"Fault": func() error {
					if filetest.MapsUnasked && filetest.Emulator == "" {
						_ = os.Truncate(f.Name(), 0)
						filetest.LoadBytes(p)
					}
					return nil
				},
			} {
				_ = filetest.Recovered(func() { _ = f.Guard(fn) })
				if filetest.PanicOnFault() != was {
					t.Errorf("%s: SetPanicOnFault was %v and is not now", name, was)
				}
			}
		}()
		<-done
	}
}
