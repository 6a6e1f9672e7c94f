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
	"go.dw1.io/mmapfile/internal/filetest"
)

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
			if n := f.Len(); n != len(whole) && n != 0 {
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
				if int(off) != at || mmapfile.MapsUnasked && !bytes.Equal(p, whole[off:int(off)+len(p)]) {
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
	if testing.Short() || mmapfile.RaceDetector {
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
					mustMap(t, f)
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
	if testing.Short() || mmapfile.RaceDetector {
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
					mustMap(t, f)
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
	filetest.Within(t, time.Minute, func() {
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
