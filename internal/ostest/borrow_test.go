package ostest

import (
	"errors"
	"os"
	"testing"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/filetest"
)

// memoryCalls are the calls that need the descriptor to map the file, or for a call about its
// pages.
var memoryCalls = map[string]func(f *mmapfile.File) error{
	"View":                 func(f *mmapfile.File) error { return f.View(0, 100, func([]byte) error { return nil }) },
	"View of nothing":      func(f *mmapfile.File) error { return f.View(0, 0, func([]byte) error { return nil }) },
	"At":                   func(f *mmapfile.File) error { return discard(mmapfile.At[uint64](f, 8)) },
	"SliceAt":              func(f *mmapfile.File) error { return discard(mmapfile.SliceAt[byte](f, 0, 100)) },
	"LockMemory":           func(f *mmapfile.File) error { return f.LockMemory(0, 100) },
	"UnlockMemory":         func(f *mmapfile.File) error { return f.UnlockMemory(0, 100) },
	"Resident":             func(f *mmapfile.File) error { return discard(f.Resident(0, 100)) },
	"SyncRange":            func(f *mmapfile.File) error { return f.SyncRange(0, 100) },
	"Advise WillNeed":      func(f *mmapfile.File) error { return f.Advise(0, 100, mmapfile.WillNeed) },
	"Advise Random":        func(f *mmapfile.File) error { return f.Advise(0, 100, mmapfile.Random) },
	"Advise PopulateRead":  func(f *mmapfile.File) error { return f.Advise(0, 3*page, mmapfile.PopulateRead) },
	"Advise PopulateWrite": func(f *mmapfile.File) error { return f.Advise(0, 3*page, mmapfile.PopulateWrite) },
	"Chunks": func(f *mmapfile.File) (err error) {
		for _, err = range f.Chunks(100) {
			break
		}
		return err
	},
}

// lacks reports whether err says that the platform cannot make the call.
func lacks(call string, err error) bool {
	return mayLack(call) && errors.Is(err, errors.ErrUnsupported)
}

func TestOS_CloseBeforeMemoryCalls(t *testing.T) {
	t.Parallel()
	states := map[string]func(f *mmapfile.File){
		"fresh": func(*mmapfile.File) {},
		"read": func(f *mmapfile.File) {
			for range 3 {
				f.ReadAt(make([]byte, 3*page), 0)
			}
			f.Len()
		},
		"mapped": func(f *mmapfile.File) { f.Bytes() },
		"prefaulted": func(f *mmapfile.File) {
			filetest.Map(t, f)
			filetest.PrefaultWrites(t, f, filetest.Pattern(3*int(page)))
		},
	}
	name := filetest.Temp(t, filetest.Pattern(3*int(page)))
	for state, prepare := range states {
		for _, private := range []bool{false, true} {
			for call, fn := range memoryCalls {
				f, err := mmapfile.Options{Private: private}.OpenFile(name, os.O_RDWR, 0)
				if err != nil {
					t.Fatal(err)
				}
				prepare(f)
				if err := f.OS().Close(); err != nil {
					t.Fatal(err)
				}
				if err := fn(f); !closed(err) && !lacks(call, err) {
					t.Errorf("%s of a %s file, private %v: %v", call, state, private, err)
				}
				f.Close()
			}
		}
	}
}

// A call that has begun when the inner file is closed succeeds, or is os.ErrClosed.
func TestOS_CloseBesideMemoryCalls(t *testing.T) {
	filetest.NeedThreads(t)
	t.Parallel()
	name := filetest.Temp(t, filetest.Pattern(3*int(page)))
	for call, fn := range memoryCalls {
		for range filetest.Iterations(200) {
			f := filetest.OpenFile(t, name, os.O_RDWR)
			inner := f.OS()
			began, ended := make(chan bool), make(chan error)
			go func() {
				close(began)
				err := fn(f)
				for err == nil {
					err = fn(f)
				}
				ended <- err
			}()
			<-began
			if err := inner.Close(); err != nil {
				t.Fatal(err)
			}
			filetest.Within(t, func() {
				if err := <-ended; !closed(err) && !lacks(call, err) {
					t.Errorf("%s: %v", call, err)
				}
			})
			f.Close()
		}
	}
}
