package mmapfile_test

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
)

const ftRaceSize = 64 << 10

// ftCalls is every call that Close may race. Each returns the call's error, or one of its own if
// the call was answered wrongly. The file holds the pattern, and keeps it: its writes write nothing else.
func ftCalls(whole []byte) map[string]func(f *mmapfile.File) error {
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
			if err := ftContiguous(b[:n]); err != nil {
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
			if pos, err := f.Seek(0, io.SeekCurrent); err != nil || pos > ftRaceSize {
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
			// Two copies and their seeks share the cursor, piece by piece: any of the bytes may come.
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
			if n := f.Len(); n != len(whole) && n != 0 {
				return wrong("%d", n)
			}
			_, err := f.Stat() // Len itself does not say that the file is closed
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
				err = os.ErrClosed // which Control does not say, nor does os.File's
			}
			return err
		},
		"OS": func(f *mmapfile.File) error { _, err := f.OS().Stat(); return err },
	}
}

func TestCloseRacesEveryCall(t *testing.T) {
	ftNeedsThreads(t)
	t.Parallel()
	whole := ftPattern(ftRaceSize)
	rounds := 60
	if testing.Short() || mmapfile.RaceDetector {
		rounds = 20
	}
	for call, do := range ftCalls(whole) {
		t.Run(call, func(t *testing.T) {
			t.Parallel()
			name := ftTemp(t, whole)
			for round := range rounds {
				f, err := mmapfile.OpenFile(name, os.O_RDWR, 0)
				if err != nil {
					t.Fatal(err)
				}
				if round%2 == 0 {
					ftMap(t, f)
				}
				if round%4 == 0 && strings.HasPrefix(call, "Write") {
					ftHeat(t, f, whole)
				}
				ftRaceClose(t, f, do, round)
				if t.Failed() {
					return
				}
				if call == "Write" {
					ftPut(t, name, whole) // its pieces went wherever the cursor was
				}
			}
		})
	}
}

// ftRaceClose has two goroutines call do until the file is closed under them.
func ftRaceClose(t *testing.T, f *mmapfile.File, do func(f *mmapfile.File) error, round int) {
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
				if errors.Is(err, os.ErrClosed) || ftStatOfClosed(err) {
					return
				}
				if err != nil {
					t.Errorf("round %d: %v", round, err)
					return
				}
			}
		}()
	}
	ftWithin(t, time.Minute, func() {
		for calls.Load() < int64(round%20) && !t.Failed() { // a different moment each round
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

// Not parallel: a race inside os would be charged to every test that runs beside it.
func TestCloseRacesFd(t *testing.T) {
	ftNeedsThreads(t)
	name := ftTemp(t, ftPattern(ftRaceSize))
	for round := range 60 {
		f := ftOpenMapped(t, name)
		ftRaceClose(t, f, func(f *mmapfile.File) error {
			if f.Fd() == ^uintptr(0) {
				return os.ErrClosed
			}
			return nil
		}, round)
	}
}

func TestCloseRacesClose(t *testing.T) {
	ftNeedsThreads(t)
	t.Parallel()
	name := ftTemp(t, ftPattern(1000))
	for range 200 {
		f := ftOpenMapped(t, name)
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
		ftWithin(t, time.Minute, closers.Wait)
		if n := good.Load(); n != 1 {
			t.Fatalf("%d of 4 Closes succeeded", n)
		}
	}
}

// Close may not wait for a long copy; os.File's does not either.
func TestCloseDoesNotWaitForALongReadAt(t *testing.T) {
	ftNeedsThreads(t)
	if runtime.GOMAXPROCS(0) < 2 {
		t.Skip("needs two processors")
	}
	if runtime.GOOS == "windows" {
		t.Skip("on Windows Close waits for a read, os.File's as well (FD.Close in internal/poll)")
	}
	const size = 64 << 20
	name := ftTemp(t, nil)
	if err := os.Truncate(name, size); err != nil {
		t.Skip(err)
	}
	early := 0
	for round := 0; round < 20 && early < 3; round++ {
		f := ftOpenUnmapped(t, name) // kept alive by nobody: 32 bits have little room for what is closed
		ftMap(t, f)
		var started, done atomic.Bool
		read := make(chan error, 1)
		go func() {
			b := make([]byte, size) // fresh memory, which makes the copy take its time
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
		t.Error("Close never returned before the ReadAt that ran")
	}
}

func TestBlockedReadOfAPipeBlocksNobodyAndIsReleasedByClose(t *testing.T) {
	ftNeedsThreads(t)
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
			dst := ftOpen(t, ftTemp(t, nil))
			result := make(chan error, 1)
			go ftBlockedRead(f, dst, call, result)
			if !ftUntil(20*time.Second, func() bool {
				b := make([]byte, 1<<20)
				for _, stack := range strings.Split(string(b[:runtime.Stack(b, true)]), "\n\n") {
					head, _, _ := strings.Cut(stack, "\n")
					// Which of the parallel siblings it is the last line but some tells.
					if strings.Contains(head, "IO wait") && strings.Contains(stack, "ftBlockedRead") {
						return true
					}
				}
				return false
			}) {
				t.Fatal("the read did not block")
			}
			ftWithin(t, 20*time.Second, func() {
				if _, err := f.Stat(); err != nil {
					t.Errorf("Stat: %v", err)
				}
				if f.Name() != r.Name() || f.Len() != 0 || len(f.Bytes()) != 0 {
					t.Error("Name, Len or Bytes are wrong")
				}
				if _, err := f.Seek(0, io.SeekCurrent); err == nil {
					t.Error("a pipe was sought")
				}
				if _, err := f.SyscallConn(); err != nil {
					t.Errorf("SyscallConn: %v", err)
				}
				if f.OS() == nil {
					t.Error("no inner file")
				}
				if err := f.Close(); err != nil {
					t.Errorf("Close: %v", err)
				}
				if err := <-result; !errors.Is(err, os.ErrClosed) {
					t.Errorf("%s ended with %v", call, err)
				}
				if call == "ReadFrom" || call == "CopyBuffer" {
					// The other side of the copy is not stuck either.
					if _, err := dst.WriteAt([]byte("x"), 0); err != nil {
						t.Error(err)
					}
				}
			})
		})
	}
}

func ftBlockedRead(f, dst *mmapfile.File, call string, result chan<- error) {
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

func TestNoLockIsHeldWhileAForeignReaderOrWriterIsCalled(t *testing.T) {
	ftNeedsThreads(t)
	t.Parallel()
	name := ftTemp(t, ftPattern(ftRaceSize))
	f := ftOpenMapped(t, name)
	use := func() {
		if _, err := f.ReadAt(make([]byte, 10), 5); err != nil {
			t.Error(err)
		}
		if _, err := f.WriteAt([]byte("abc"), 5); err != nil {
			t.Error(err)
		}
		if _, err := f.Stat(); err != nil {
			t.Error(err)
		}
		if f.Len() < ftRaceSize || f.Bytes() == nil {
			t.Error("Len or Bytes are wrong")
		}
		if err := f.Truncate(ftRaceSize + 10); err != nil {
			t.Error(err)
		}
		if err := f.Sync(); err != nil {
			t.Error(err)
		}
	}
	ftWithin(t, 30*time.Second, func() {
		if _, err := f.WriteTo(ftFunc(func([]byte) (int, error) { use(); return 1, io.ErrClosedPipe })); err != io.ErrClosedPipe {
			t.Errorf("WriteTo: %v", err)
		}
		if _, err := f.ReadFrom(ftFunc(func([]byte) (int, error) { use(); return 0, io.EOF })); err != nil {
			t.Errorf("ReadFrom: %v", err)
		}
		err := f.View(0, 100, func([]byte) error { use(); return nil })
		if err != nil {
			t.Errorf("View: %v", err)
		}
	})
}

// ftFunc is a reader and a writer.
type ftFunc func(b []byte) (int, error)

func (f ftFunc) Read(b []byte) (int, error)  { return f(b) }
func (f ftFunc) Write(b []byte) (int, error) { return f(b) }
