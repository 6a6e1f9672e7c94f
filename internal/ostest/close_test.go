package ostest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/filetest"
	"go.dw1.io/mmapfile/internal/race"
)

// Not parallel: the race detector would blame a race inside os on the tests that run beside it.
func TestClose_BesideFd(t *testing.T) {
	filetest.NeedThreads(t)
	name := filetest.Temp(t, filetest.Pattern(raceSize))
	for round := range 60 {
		f := filetest.OpenMapped(t, name)
		raceClose(t, f, func(f *mmapfile.File) error {
			if f.Fd() == ^uintptr(0) {
				return os.ErrClosed
			}
			return nil
		}, round)
	}
}

func TestClose_BesideClose(t *testing.T) {
	filetest.NeedThreads(t)
	t.Parallel()
	name := filetest.Temp(t, filetest.Pattern(1000))
	for range 200 {
		f := filetest.OpenMapped(t, name)
		var good atomic.Int32
		var closers sync.WaitGroup
		for range 4 {
			closers.Add(1)
			go func() {
				defer closers.Done()
				switch err := f.Close(); {
				case err == nil:
					good.Add(1)
				case !errors.Is(err, os.ErrClosed):
					t.Error(err)
				}
			}()
		}
		filetest.Within(t, closers.Wait)
		if n := good.Load(); n != 1 {
			t.Fatalf("%d of 4 Closes succeeded", n)
		}
	}
}

// Close does not wait for a long copy, as os.File does not.
func TestClose_DuringLongReadAt(t *testing.T) {
	filetest.NeedThreads(t)
	if runtime.GOMAXPROCS(0) < 2 {
		t.Skip("needs two processors")
	}
	if runtime.GOOS == "windows" {
		t.Skip("on Windows Close waits for a read, os.File's as well (FD.Close in internal/poll)")
	}
	const size = 64 << 20
	name := filetest.Temp(t, nil)
	if err := os.Truncate(name, size); err != nil {
		t.Skip(err)
	}
	early := 0
	for round := 0; round < 20 && early < 3; round++ {
		f := filetest.OpenReadOnly(t, name) // not kept alive, because 32 bits have little address space
		filetest.Map(t, f)
		var started, done atomic.Bool
		read := make(chan error, 1)
		go func() {
			b := make([]byte, size) // new memory, which makes the copy slow
			started.Store(true)
			n, err := f.ReadAt(b, 0)
			done.Store(true)
			if (n != size || err != nil) && !errors.Is(err, os.ErrClosed) {
				err = fmt.Errorf("ReadAt: %d, %w", n, err)
			} else {
				err = nil
			}
			read <- err
		}()
		for !started.Load() {
			runtime.Gosched()
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		if !done.Load() {
			early++
		}
		if err := <-read; err != nil {
			t.Error(err)
		}
	}
	if early == 0 {
		t.Error("Close always waited for ReadAt")
	}
}

func TestClose_BlockedPipeRead(t *testing.T) {
	filetest.NeedThreads(t)
	t.Parallel()
	if runtime.GOOS == "js" || runtime.GOOS == "wasip1" || runtime.GOOS == "windows" || runtime.GOOS == "plan9" {
		t.Skip("Close does not release a blocked read here")
	}
	for _, call := range []string{"Read", "WriteTo", "ReadFrom", "CopyBuffer"} {
		t.Run(call, func(t *testing.T) {
			t.Parallel()
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			f, err := mmapfile.New(r)
			if err != nil {
				t.Fatal(err)
			}
			dst := filetest.Open(t, filetest.Temp(t, nil))
			result := make(chan error, 1)
			go blockedRead(f, dst, call, result)
			if !filetest.Eventually(func() bool {
				b := make([]byte, 1<<20)
				for _, stack := range strings.Split(string(b[:runtime.Stack(b, true)]), "\n\n") {
					head, _, _ := strings.Cut(stack, "\n")
					// The name of the function tells this test from others.
					if strings.Contains(head, "IO wait") && strings.Contains(stack, "blockedRead") {
						return true
					}
				}
				return false
			}) {
				t.Fatal("the read did not block")
			}
			filetest.Within(t, func() {
				if _, err := f.Stat(); err != nil {
					t.Errorf("Stat: %v", err)
				}
				if f.Name() != r.Name() || f.Len() != 0 || len(f.Bytes()) != 0 {
					t.Error("Name, Len or Bytes are wrong")
				}
				if _, err := f.Seek(0, io.SeekCurrent); err == nil {
					t.Error("Seek of a pipe succeeded")
				}
				if _, err := f.SyscallConn(); err != nil {
					t.Errorf("SyscallConn: %v", err)
				}
				if f.OS() == nil {
					t.Error("OS is nil")
				}
				if err := f.Close(); err != nil {
					t.Errorf("Close: %v", err)
				}
				if err := <-result; !errors.Is(err, os.ErrClosed) {
					t.Errorf("%s ended with %v", call, err)
				}
				if call == "ReadFrom" || call == "CopyBuffer" {
					// The other side of the copy is not blocked either.
					if _, err := dst.WriteAt([]byte("x"), 0); err != nil {
						t.Error(err)
					}
				}
			})
		})
	}
}

func blockedRead(f, dst *mmapfile.File, call string, result chan<- error) {
	var err error
	switch call {
	case "Read":
		_, err = f.Read(make([]byte, 10))
	case "WriteTo":
		_, err = f.WriteTo(&bytes.Buffer{})
	case "ReadFrom":
		_, err = dst.ReadFrom(f)
	case "CopyBuffer":
		_, err = io.Copy(struct{ io.Writer }{dst}, struct{ io.Reader }{f})
	}
	result <- err
}

// The first call that can know it is os.ErrClosed, and releases the mapping. ReadAt does not know
// it before.
func TestOS_Close(t *testing.T) {
	t.Parallel()
	name := filetest.Temp(t, filetest.Pattern(3*int(page)))
	for _, c := range []struct {
		name string
		call func(f *mmapfile.File) error
	}{
		{"View", func(f *mmapfile.File) error { return f.View(0, 10, func([]byte) error { return nil }) }},
		{"View of nothing", func(f *mmapfile.File) error { return f.View(0, 0, func([]byte) error { return nil }) }},
		{"Bytes", func(f *mmapfile.File) error {
			if f.Bytes() == nil {
				return os.ErrClosed
			}
			return nil
		}},
		{"Stat", func(f *mmapfile.File) error { return discard(f.Stat()) }},
		{"Sync", (*mmapfile.File).Sync},
		{"SyncRange", func(f *mmapfile.File) error { return f.SyncRange(0, 10) }},
		{"Close", (*mmapfile.File).Close},
		{"At", func(f *mmapfile.File) error { return discard(mmapfile.At[uint64](f, 0)) }},
		{"SliceAt", func(f *mmapfile.File) error { return discard(mmapfile.SliceAt[byte](f, 0, 10)) }},
		{"Guard", func(f *mmapfile.File) error { return f.Guard(func() error { return nil }) }},
		{"Read", func(f *mmapfile.File) error { return discard(f.Read(make([]byte, 1))) }},
		{"Write", func(f *mmapfile.File) error { return discard(f.Write(make([]byte, 1))) }},
		{"Seek", func(f *mmapfile.File) error { return discard(f.Seek(0, io.SeekStart)) }},
		{"Truncate", func(f *mmapfile.File) error { return f.Truncate(5) }},
		{"ReadAt past the end", func(f *mmapfile.File) error { return discard(f.ReadAt(make([]byte, 1), 1<<20)) }},
	} {
		for _, private := range []bool{false, true} {
			f, err := mmapfile.Options{Private: private}.OpenFile(name, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			if f.Bytes() == nil {
				t.Fatal("no memory")
			}
			filetest.Map(t, f)
			b := make([]byte, 10)
			if err := f.OS().Close(); err != nil {
				t.Fatal(err)
			}
			if filetest.MapsUnasked && !private && !filetest.AccountIsShipped { // else a read may be drawn to be a system call
				if n, err := f.ReadAt(b, 0); n != len(b) || err != nil {
					t.Errorf("%s: ReadAt from the mapping: %d, %v", c.name, n, err)
				}
			}
			if err := c.call(f); !closed(err) {
				t.Errorf("%s, private %v: %v", c.name, private, err)
			}
			if filetest.Mapped(f) {
				t.Errorf("%s, private %v: still mapped", c.name, private)
			}
			if n, err := f.ReadAt(b, 0); n != 0 || !closed(err) {
				t.Errorf("%s, private %v: ReadAt after it: %d, %v", c.name, private, n, err)
			}
			if err := f.Close(); !closed(err) {
				t.Errorf("%s, private %v: Close: %v", c.name, private, err)
			}
		}
	}
}

// discard returns the error of a call alone.
func discard[T any](_ T, err error) error { return err }

// closed reports whether err is that of a closed file. On Windows os.File has other errors, too.
func closed(err error) bool {
	return errors.Is(err, os.ErrClosed) || runtime.GOOS == "windows" && err != nil
}

// Calls of other goroutines end while the inner file is closed and the mapping released.
func TestOS_CloseBesideCalls(t *testing.T) {
	filetest.NeedThreads(t)
	t.Parallel()
	name := filetest.Temp(t, filetest.Pattern(3*int(page)))
	for range 50 {
		f := filetest.OpenMapped(t, name)
		inner := f.OS()
		var readers sync.WaitGroup
		for i := range 4 {
			readers.Add(1)
			go func() {
				defer readers.Done()
				b := make([]byte, 100)
				for err := error(nil); err == nil; {
					if i%2 == 0 {
						_, err = f.Stat()
					} else {
						err = f.View(page, 100, func(p []byte) error { copy(b, p); return nil })
					}
					if err != nil && !closed(err) {
						t.Error(err)
					}
				}
			}()
		}
		if err := inner.Close(); err != nil {
			t.Error(err)
		}
		filetest.Within(t, readers.Wait)
		if filetest.Mapped(f) {
			t.Error("still mapped")
		}
	}
}

// Once the inner file is closed, the modification time cannot be moved any more.
func TestOS_CloseAfterMappedWrite(t *testing.T) {
	t.Parallel()
	if !filetest.MapsUnasked {
		t.Skip("writes are system calls here")
	}
	name := filetest.Temp(t, filetest.Pattern(3*int(page)))
	f := filetest.OpenFile(t, name, os.O_RDWR)
	filetest.Map(t, f)
	filetest.PrefaultWrites(t, f, filetest.Pattern(3*int(page)))
	write := func() time.Time {
		if _, err := f.WriteAt([]byte("mapped"), 0); err != nil {
			t.Fatal(err)
		}
		fi, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		return fi.ModTime()
	}
	write()
	first := write()                              // the kernel moves the time for the first fault, and then no more
	for time.Since(first) < 20*time.Millisecond { // the kernel's clock has a tick of up to 10 ms
		write()
	}
	if err := f.OS().Close(); err != nil {
		t.Fatal(err)
	}
	if fi, err := os.Stat(name); err != nil || !fi.ModTime().After(first) {
		t.Errorf("the time has not moved: %v, %v", fi.ModTime(), err)
	}
}

const raceSize = 64 << 10

// fileCalls has the calls that may run beside Close. Each returns the error of the call, or its
// own if the result is wrong. The file has the pattern, and writes write nothing else.
func fileCalls(whole []byte) map[string]func(f *mmapfile.File) error {
	wrong := func(format string, args ...any) error { return fmt.Errorf("wrong: "+format, args...) }
	return map[string]func(f *mmapfile.File) error{
		"ReadAt": func(f *mmapfile.File) error {
			b := make([]byte, len(whole))
			n, err := f.ReadAt(b, 0)
			if err == nil && !bytes.Equal(b, whole) || !bytes.Equal(b[:n], whole[:n]) {
				return wrong("%d bytes, %v", n, err)
			}
			return err
		},
		"ReadAtSmall": func(f *mmapfile.File) error {
			var b [16]byte
			for off := 0; off < len(whole)-16; off += 997 {
				n, err := f.ReadAt(b[:], int64(off))
				if err != nil {
					return err
				}
				if n != 16 || !bytes.Equal(b[:], whole[off:off+16]) {
					return wrong("%d bytes at %d: %v", n, off, b)
				}
			}
			return nil
		},
		"ReadAtTheEnd": func(f *mmapfile.File) error {
			var b [16]byte
			n, err := f.ReadAt(b[:], int64(len(whole)-5))
			if err == io.EOF && (n != 5 || !bytes.Equal(b[:5], whole[len(whole)-5:])) || err == nil {
				return wrong("%d bytes, %v", n, err)
			}
			if err == io.EOF {
				err = nil
			}
			return err
		},
		"Read": func(f *mmapfile.File) error {
			b := make([]byte, 700)
			n, err := f.Read(b)
			if err == io.EOF && n == 0 {
				_, err = f.Seek(0, io.SeekStart)
				return err
			}
			if err := filetest.CheckContiguous(b[:n]); err != nil {
				return wrong("%w", err)
			}
			return err
		},
		"WriteAt": func(f *mmapfile.File) error {
			n, err := f.WriteAt(whole[1000:5000], 1000)
			if err == nil && n != 4000 {
				return wrong("%d bytes", n)
			}
			return err
		},
		"Write": func(f *mmapfile.File) error {
			if pos, err := f.Seek(0, io.SeekCurrent); err != nil || pos > raceSize {
				_, err = f.Seek(0, io.SeekStart)
				return err
			}
			n, err := f.Write(whole[:300])
			if err == nil && n != 300 {
				return wrong("%d bytes", n)
			}
			return err
		},
		"WriteTo": func(f *mmapfile.File) error {
			if _, err := f.Seek(0, io.SeekStart); err != nil {
				return err
			}
			var to bytes.Buffer
			n, err := f.WriteTo(&to)
			if int(n) != to.Len() {
				return wrong("%d for %d bytes, %v", n, to.Len(), err)
			}
			// Two copies share the cursor with their seeks, so any byte of the pattern may come.
			if bytes.IndexByte(to.Bytes(), 0) >= 0 {
				return wrong("a zero among %d bytes", n)
			}
			return err
		},
		"ReadFrom": func(f *mmapfile.File) error {
			if _, err := f.Seek(0, io.SeekStart); err != nil {
				return err
			}
			n, err := f.ReadFrom(bytes.NewReader(whole[:5000]))
			if err == nil && n != 5000 {
				return wrong("%d bytes", n)
			}
			return err
		},
		"View": func(f *mmapfile.File) error {
			var same bool
			err := f.View(0, int64(len(whole)), func(p []byte) error {
				same = bytes.Equal(p, whole)
				return nil
			})
			if err == nil && !same {
				return wrong("bytes")
			}
			return err
		},
		"Stat": func(f *mmapfile.File) error {
			fi, err := f.Stat()
			if err == nil && fi.Size() != int64(len(whole)) {
				return wrong("size %d", fi.Size())
			}
			return err
		},
		"Sync":     func(f *mmapfile.File) error { return f.Sync() },
		"Truncate": func(f *mmapfile.File) error { return f.Truncate(int64(len(whole))) },
		"Len": func(f *mmapfile.File) error {
			if n := f.Len(); n != int64(len(whole)) && n != 0 {
				return wrong("%d", n)
			}
			_, err := f.Stat() // Len does not report that the file is closed
			return err
		},
		"Bytes": func(f *mmapfile.File) error {
			switch b := f.Bytes(); {
			case len(b) == 0:
				return os.ErrClosed
			case len(b) != len(whole) || cap(b) != len(whole):
				return wrong("%d bytes, capacity %d", len(b), cap(b))
			}
			return nil
		},
		"Seek": func(f *mmapfile.File) error {
			pos, err := f.Seek(-1, io.SeekEnd)
			if err == nil && pos != int64(len(whole)-1) {
				return wrong("%d", pos)
			}
			return err
		},
		"SyscallConn": func(f *mmapfile.File) error {
			c, err := f.SyscallConn()
			if err == nil && c.Control(func(uintptr) {}) != nil {
				err = os.ErrClosed // Control does not report it, as that of os.File does not
			}
			return err
		},
		"OS": func(f *mmapfile.File) error { _, err := f.OS().Stat(); return err },
	}
}

// controlCalls has the calls that os.File does not have. errors.ErrUnsupported is a valid result.
func controlCalls(whole []byte) map[string]func(f *mmapfile.File) error {
	answered := func(f *mmapfile.File, err error) error {
		if errors.Is(err, errors.ErrUnsupported) {
			_, err = f.Stat()
		}
		return err
	}
	calls := map[string]func(f *mmapfile.File) error{
		"Chunks": func(f *mmapfile.File) (err error) {
			defer func() {
				// The body reads memory of the mapping. After Close that is a fault, which can be recovered.
				if r := recover(); r != nil {
					if err = os.ErrClosed; !errors.As(r.(error), new(runtime.Error)) {
						panic(r)
					}
				}
			}()
			at := 0
			for c, err := range f.Chunks(5000) {
				if err != nil {
					return err
				}
				off, p := c.Offset, c.Data
				if int(off) != at || filetest.MapsUnasked && !bytes.Equal(p, whole[off:int(off)+len(p)]) {
					return fmt.Errorf("wrong: a window of %d bytes at %d", len(p), off)
				}
				at += len(p)
			}
			_, err = f.Stat() // Chunks does not report that the file is closed
			return err
		},
		"SyncRange": func(f *mmapfile.File) error { return f.SyncRange(5000, 10_000) },
		"LockMemory": func(f *mmapfile.File) error {
			err := f.LockMemory(0, 1000)
			if err != nil && !errors.Is(err, os.ErrClosed) {
				err = errors.ErrUnsupported // over the limit, perhaps
			}
			return answered(f, err)
		},
		"UnlockMemory": func(f *mmapfile.File) error { return answered(f, f.UnlockMemory(0, 1000)) },
		"Resident": func(f *mmapfile.File) error {
			n, err := f.Resident(0, int64(len(whole)))
			if err == nil && (n < 0 || n > int64(len(whole))) {
				return fmt.Errorf("wrong: %d bytes", n)
			}
			return answered(f, err)
		},
		"At": func(f *mmapfile.File) error { return atError[uint64](f, 800) },
		"SliceAt": func(f *mmapfile.File) error {
			s, err := mmapfile.SliceAt[uint16](f, 100, 1000)
			if err == nil && len(s) != 1000 {
				return fmt.Errorf("wrong: %d values", len(s))
			}
			return err
		},
	}
	for name, a := range advices {
		calls["Advise"+name] = func(f *mmapfile.File) error { return answered(f, f.Advise(0, int64(len(whole)), a)) }
	}
	return calls
}

func TestClose_BesideCalls(t *testing.T) {
	filetest.NeedThreads(t)
	t.Parallel()
	whole := filetest.Pattern(raceSize)
	rounds := 60
	if testing.Short() || race.Detector {
		rounds = 20
	}
	for call, do := range fileCalls(whole) {
		t.Run(call, func(t *testing.T) {
			t.Parallel()
			name := filetest.Temp(t, whole)
			for round := range rounds {
				f, err := mmapfile.OpenFile(name, os.O_RDWR, 0)
				if err != nil {
					t.Fatal(err)
				}
				if round%2 == 0 {
					filetest.Map(t, f)
				}
				if round%4 == 0 && strings.HasPrefix(call, "Write") {
					filetest.PrefaultWrites(t, f, whole)
				}
				raceClose(t, f, do, round)
				if t.Failed() {
					return
				}
				if call == "Write" {
					filetest.Write(t, name, whole) // its pieces went to any cursor
				}
			}
		})
	}
}

func TestClose_BesideControls(t *testing.T) {
	filetest.NeedThreads(t)
	t.Parallel()
	whole := filetest.Pattern(raceSize)
	rounds := 40
	if testing.Short() || race.Detector {
		rounds = 6 // each kind, mapped and unmapped
	}
	kinds := []mmapfile.Options{{}, {Private: true}, {Flush: mmapfile.FlushPolicy{Bytes: 10_000, Interval: time.Millisecond}}}
	calls := controlCalls(whole)
	for _, call := range []string{"ReadAt", "Read", "WriteAt", "WriteTo", "View", "Sync", "Seek"} {
		calls[call] = fileCalls(whole)[call]
	}
	for call, do := range calls {
		t.Run(call, func(t *testing.T) {
			t.Parallel()
			name := filetest.Temp(t, whole)
			for round := range rounds {
				f, err := kinds[round%len(kinds)].OpenFile(name, os.O_RDWR, 0)
				if err != nil {
					t.Fatal(err)
				}
				if round%2 == 0 {
					filetest.Map(t, f)
				}
				if raceClose(t, f, do, round); t.Failed() {
					return
				}
			}
			filetest.SameBytes(t, "the file", filetest.Read(t, name), whole)
		})
	}
}

// raceClose has two goroutines call do until f is closed.
func raceClose(t *testing.T, f *mmapfile.File, do func(f *mmapfile.File) error, round int) {
	t.Helper()
	var calls atomic.Int64
	var callers sync.WaitGroup
	for range 2 {
		callers.Add(1)
		go func() {
			defer callers.Done()
			for {
				err := do(f)
				calls.Add(1)
				if errors.Is(err, os.ErrClosed) || filetest.IsStatOfClosed(err) {
					return
				}
				if err != nil {
					t.Errorf("round %d: %v", round, err)
					return
				}
			}
		}()
	}
	filetest.Within(t, func() {
		for calls.Load() < int64(round%20) && !t.Failed() { // another moment in each round
			runtime.Gosched()
		}
		if err := f.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		callers.Wait()
	})
	if err := f.Close(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("the second Close: %v", err)
	}
}
