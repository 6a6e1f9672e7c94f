package live

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/filetest"
)

func TestChildProcess(t *testing.T) { filetest.ChildProcess(t) }

// size of the files: not a multiple of a page.
const size = 8<<10 + 512

// content returns a file all of whose words are n.
func content(n uint64) []byte {
	return bytes.Repeat(binary.LittleEndian.AppendUint64(nil, n), size/8)
}

// words is the value of the tests.
type words struct {
	p        []byte
	released *atomic.Int32
}

// number returns the word that all of p is, or an error.
func (w words) number() (uint64, error) {
	if len(w.p) != size {
		return 0, fmt.Errorf("%d bytes", len(w.p))
	}
	first := binary.LittleEndian.Uint64(w.p)
	for off := 8; off < size; off += 8 {
		if n := binary.LittleEndian.Uint64(w.p[off:]); n != first {
			return 0, fmt.Errorf("%d at the beginning, and %d at %d", first, n, off)
		}
	}
	return first, nil
}

func load(f *mmapfile.File) (words, error) {
	w := words{p: f.Bytes(), released: new(atomic.Int32)}
	_, err := w.number()
	return w, err
}

// copies is Options.Copy of tests that replace a file: Windows replaces no other.
const copies = runtime.GOOS == "windows"

// manual are options without looks in the background.
func manual() Options[words] { return Options[words]{Interval: -1, Copy: copies} }

// open writes version 1 to a new file, and opens it. It is closed at the end of the test.
func open(t testing.TB, o Options[words], load func(f *mmapfile.File) (words, error)) (v *Value[words], name string) {
	t.Helper()
	name = filetest.Temp(t, content(1))
	v, err := o.Open(name, load)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { v.Close() })
	return v, name
}

// replace renames a new file to name.
func replace(t testing.TB, name string, b []byte) {
	t.Helper()
	filetest.Write(t, name+".new", b)
	if err := rename(name+".new", name); err != nil {
		t.Fatal(err)
	}
}

// rewrite writes b to the file name in place, and gives it a modification time that it never had, also where times
// are coarse.
func rewrite(t testing.TB, name string, b []byte) {
	t.Helper()
	filetest.Write(t, name, b)
	if err := os.Chtimes(name, time.Time{}, time.Now().Add(-10*time.Second*time.Duration(rewrites.Add(1)))); err != nil {
		t.Fatal(err)
	}
}

var rewrites atomic.Int64

// rename is os.Rename. Windows replaces no file that is open, so there it waits until none is.
func rename(from, to string) error {
	err := os.Rename(from, to)
	for runtime.GOOS == "windows" && err != nil {
		runtime.Gosched()
		err = os.Rename(from, to)
	}
	return err
}

// refresh fails the test if Refresh returns something else.
func refresh(t testing.TB, v *Value[words], changed bool) {
	t.Helper()
	if got, err := v.Refresh(); got != changed || err != nil {
		t.Fatalf("Refresh returned %v, %v instead of %v", got, err, changed)
	}
}

// sure keeps the current version from being loaded again two seconds after its last change.
func sure(v *Value[words]) {
	v.state.looking.Lock()
	defer v.state.looking.Unlock()
	v.state.taken.at = v.state.taken.last().Add(coarse)
}

// uses fails the test if Use gets something else than version n.
func uses(t testing.TB, v *Value[words], n uint64) {
	t.Helper()
	err := v.Use(func(w words) error {
		got, err := w.number()
		if err == nil && got != n {
			err = fmt.Errorf("version %d instead of %d", got, n)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// eventually fails the test if ok does not become true.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	if !filetest.Eventually(func() bool {
		if runtime.GOARCH == "wasm" {
			os.Stat(".") // lets calls of other goroutines end, which wait for JavaScript
		}
		return ok()
	}) {
		t.Fatal("not within 20 seconds: " + what)
	}
}

// within fails the test if fn does not return.
func within(t testing.TB, fn func()) {
	t.Helper()
	filetest.Within(t, fn)
}

var errTest = errors.New("an error of the test")

// copiesIn returns the names of copies in dir.
func copiesIn(t testing.TB, dir string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, "live-*"))
	if err != nil {
		t.Fatal(err)
	}
	return list
}
