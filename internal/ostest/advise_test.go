package ostest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"runtime"
	"sync/atomic"
	"testing"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/filetest"
)

var advices = map[string]mmapfile.Advice{
	"Normal": mmapfile.Normal, "Sequential": mmapfile.Sequential, "Random": mmapfile.Random, "WillNeed": mmapfile.WillNeed,
	"DontNeed": mmapfile.DontNeed, "HugePages": mmapfile.HugePages, "PopulateRead": mmapfile.PopulateRead, "PopulateWrite": mmapfile.PopulateWrite,
}

func TestAdvice_String(t *testing.T) {
	t.Parallel()
	for name, a := range advices {
		if got := a.String(); got != name {
			t.Errorf("Advice(%d).String() = %q, want %q", int(a), got, name)
		}
	}
	for a, want := range map[mmapfile.Advice]string{-1: "Advice(-1)", mmapfile.Advice(len(advices)): "Advice(8)"} {
		if got := a.String(); got != want {
			t.Errorf("Advice(%d).String() = %q, want %q", int(a), got, want)
		}
	}
}

// controlErrors makes all calls on a memory range that do not change the file.
func controlErrors(f *mmapfile.File, off, n int64) map[string]error {
	errs := map[string]error{"LockMemory": f.LockMemory(off, n), "UnlockMemory": f.UnlockMemory(off, n)}
	for name, a := range advices {
		errs["Advise "+name] = f.Advise(off, n, a)
	}
	_, errs["Resident"] = f.Resident(off, n)
	return errs
}

// mayLack reports whether this platform may return errors.ErrUnsupported for a call.
func mayLack(call string) bool {
	switch {
	case !filetest.CanMap:
		return true
	case call == "Advise HugePages":
		return true // a build option of the kernel
	case call == "Resident":
		return runtime.GOOS != "linux" && runtime.GOOS != "darwin" && runtime.GOOS != "freebsd" || filetest.Emulator != ""
	case runtime.GOOS == "windows":
		return call != "Advise Normal" && call != "Advise PopulateRead" && call != "Advise PopulateWrite"
	}
	return false
}

func TestMemory_ContentUnchanged(t *testing.T) {
	t.Parallel()
	size := 5*page + 17
	content := filetest.Pattern(int(size))
	name := filetest.Temp(t, content)
	f := filetest.Open(t, name)
	ranges := [][2]int64{{0, 0}, {0, size}, {0, math.MaxInt64}, {1, 1}, {page - 1, 2}, {page, page}, {3, 3 * page}, {size - 1, 1},
		{size - 1, 100}, {size, 1}, {size + 100*page, page}, {math.MaxInt64, math.MaxInt64}, {5 * page, 17}}
	for _, r := range ranges {
		for call, err := range controlErrors(f, r[0], r[1]) {
			if err != nil && !(errors.Is(err, errors.ErrUnsupported) && mayLack(call)) {
				t.Errorf("%s of %d bytes at %d: %v", call, r[1], r[0], err)
			}
		}
		if err := f.SyncRange(r[0], r[1]); err != nil {
			t.Errorf("SyncRange of %d bytes at %d: %v", r[1], r[0], err)
		}
		if got, err := io.ReadAll(io.NewSectionReader(f, 0, size)); err != nil || !bytes.Equal(got, content) {
			t.Fatalf("after %v the file has another content (%v)", r, err)
		}
	}
	filetest.SameBytes(t, "the file", filetest.Read(t, name), content)
	if _, err := f.WriteAt([]byte("new"), 2*page); err != nil {
		t.Fatal(err)
	}
	if err := f.Advise(0, size, mmapfile.DontNeed); err != nil && !mayLack("Advise DontNeed") {
		t.Error(err)
	}
	if copy(content[2*page:], "new"); !bytes.Equal(filetest.Read(t, name), content) {
		t.Error("DontNeed dropped what was written")
	}
}

func TestMemory_BadRange(t *testing.T) {
	t.Parallel()
	name := filetest.Temp(t, filetest.Pattern(100))
	f := filetest.Open(t, name)
	for _, r := range [][2]int64{{-1, 1}, {0, -1}, {math.MinInt64, math.MinInt64}} {
		errs := controlErrors(f, r[0], r[1])
		errs["SyncRange"] = f.SyncRange(r[0], r[1])
		errs["View"] = f.View(r[0], r[1], func([]byte) error { return nil })
		for call, err := range errs {
			var pe *fs.PathError
			if !errors.Is(err, fs.ErrInvalid) || !errors.As(err, &pe) || pe.Path != name {
				t.Errorf("%s%v: %v", call, r, err)
			}
		}
	}
	for _, a := range []mmapfile.Advice{-1, mmapfile.PopulateWrite + 1, 1000} {
		if err := f.Advise(0, 1, a); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("%v: %v", a, err)
		}
	}
	f.Close()
	errs := controlErrors(f, 0, 10)
	errs["SyncRange"] = f.SyncRange(0, 10)
	for call, err := range errs {
		if !errors.Is(err, os.ErrClosed) && !(mayLack(call) && errors.Is(err, errors.ErrUnsupported)) {
			t.Errorf("%s after Close: %v", call, err)
		}
	}
	var none *mmapfile.File
	errs = controlErrors(none, 0, 10)
	errs["SyncRange"] = none.SyncRange(0, 10)
	for call, err := range errs {
		if err != os.ErrInvalid {
			t.Errorf("%s of nil: %v", call, err)
		}
	}
	dir, err := mmapfile.Open(filetest.Dir(t))
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	for call, err := range controlErrors(dir, 0, 10) {
		if !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s of a directory: %v", call, err)
		}
	}
}

func TestAdvise_PopulateWriteReadOnly(t *testing.T) {
	t.Parallel()
	if !filetest.CanMap {
		t.Skip("nothing can be populated")
	}
	f, err := mmapfile.Open(filetest.Temp(t, filetest.Pattern(3*int(page))))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Advise(0, page, mmapfile.PopulateWrite); !errors.Is(err, fs.ErrPermission) {
		t.Error(err)
	}
	if err := f.Advise(0, page, mmapfile.PopulateRead); err != nil {
		t.Error(err)
	}
	filetest.SameBytes(t, "Bytes", f.Bytes(), filetest.Pattern(3*int(page)))
}

// A page that is truncated while it is populated, locked or counted is an error, not a crash.
func TestMemory_BesideTruncation(t *testing.T) {
	filetest.NeedThreads(t)
	t.Parallel()
	filetest.NeedForeignTruncate(t)
	name := filetest.Temp(t, filetest.Pattern(64*int(page)))
	f := filetest.OpenMapped(t, name)
	var stop atomic.Bool
	filetest.Together(t, 2, func(i int) error {
		if i == 0 {
			for r := int64(0); filetest.KeepGoing(&stop); r++ {
				if err := errors.Join(os.Truncate(name, page*(r%64)), os.Truncate(name, 64*page)); err != nil {
					return err
				}
			}
			return nil
		}
		defer stop.Store(true)
		for range filetest.Iterations(300) {
			for call, err := range controlErrors(f, page, 60*page) {
				if call == "LockMemory" || err == nil || errors.Is(err, io.ErrUnexpectedEOF) || mayLack(call) && errors.Is(err, errors.ErrUnsupported) {
					continue
				}
				return fmt.Errorf("%s: %w", call, err)
			}
			for c, err := range f.Chunks(int(page)) {
				if err != nil {
					return err
				}
				_ = c
			}
			if err := f.SyncRange(page, 5*page); err != nil {
				return err
			}
		}
		return nil
	})
}
