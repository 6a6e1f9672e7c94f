package mmapfile_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"go.dw1.io/mmapfile"
)

// ftControlCalls is ftCalls for what os.File does not have. errors.ErrUnsupported counts as an answer.
func ftControlCalls(whole []byte) map[string]func(f *mmapfile.File) error {
	answered := func(f *mmapfile.File, err error) error {
		if errors.Is(err, errors.ErrUnsupported) {
			_, err = f.Stat()
		}
		return err
	}
	calls := map[string]func(f *mmapfile.File) error{
		"Chunks": func(f *mmapfile.File) (err error) {
			defer func() {
				// The body touches raw memory: that it is gone is a panic, which can be recovered.
				if r := recover(); r != nil {
					if err = os.ErrClosed; !errors.As(r.(error), new(runtime.Error)) {
						panic(r)
					}
				}
			}()
			at := 0
			for off, p := range f.Chunks(5000) {
				if int(off) != at || mmapfile.MapsUnasked && !bytes.Equal(p, whole[off:int(off)+len(p)]) {
					return fmt.Errorf("wrong: a window of %d bytes at %d", len(p), off)
				}
				at += len(p)
			}
			_, err = f.Stat() // Chunks does not say that the file is closed
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
		"At": func(f *mmapfile.File) error { return ftAt[uint64](f, 800) },
		"SliceAt": func(f *mmapfile.File) error {
			s, err := mmapfile.SliceAt[uint16](f, 100, 1000)
			if err == nil && len(s) != 1000 {
				return fmt.Errorf("wrong: %d values", len(s))
			}
			return err
		},
	}
	for name, a := range ftAdvices {
		calls["Advise"+name] = func(f *mmapfile.File) error { return answered(f, f.Advise(0, int64(len(whole)), a)) }
	}
	return calls
}

func TestCloseRacesEveryControl(t *testing.T) {
	ftNeedsThreads(t)
	t.Parallel()
	whole := ftPattern(ftRaceSize)
	rounds := 40
	if testing.Short() || mmapfile.RaceDetector {
		rounds = 6 // each kind, mapped and not
	}
	kinds := []mmapfile.Options{{}, {Private: true}, {Flush: mmapfile.FlushPolicy{Bytes: 10_000, Interval: time.Millisecond}}}
	calls := ftControlCalls(whole)
	for _, call := range []string{"ReadAt", "Read", "WriteAt", "WriteTo", "View", "Sync", "Seek"} {
		calls[call] = ftCalls(whole)[call]
	}
	for call, do := range calls {
		t.Run(call, func(t *testing.T) {
			t.Parallel()
			name := ftTemp(t, whole)
			for round := range rounds {
				f, err := kinds[round%len(kinds)].OpenFile(name, os.O_RDWR, 0)
				if err != nil {
					t.Fatal(err)
				}
				if round%2 == 0 {
					ftMap(t, f)
				}
				if ftRaceClose(t, f, do, round); t.Failed() {
					return
				}
			}
			ftSame(t, "the file", ftGet(t, name), whole)
		})
	}
}
