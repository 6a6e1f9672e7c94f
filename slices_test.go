package mmapfile_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"go.dw1.io/mmapfile"
)

// What Bytes has handed out stays good as far as the file still reaches, also where the system takes
// every mapping away for a truncation (Windows).
func TestSlicesOfBytesSurviveOurOwnTruncation(t *testing.T) {
	t.Parallel()
	const size, half = 300_000, 150_001
	whole := ftPattern(size)
	name := ftTemp(t, whole)
	f := ftOpen(t, name)
	first := f.Bytes()
	if len(first) != size {
		t.Fatalf("Bytes gave %d bytes of %d", len(first), size)
	}
	if err := f.Truncate(half); err != nil {
		t.Fatal(err)
	}
	ftSame(t, "what is left of the first slice", first[:half], whole[:half])
	second := f.Bytes()
	ftSame(t, "Bytes after the cut", second, whole[:half])
	ftSame(t, "the file", ftGet(t, name), whole[:half])
	if _, err := f.WriteAt(whole[half:], half); err != nil {
		t.Fatal(err)
	}
	third := f.Bytes()
	ftSame(t, "Bytes after the file grew again", third, whole)
	for i, b := range [][]byte{first[:half], second, third} {
		b[i] = 'A' + byte(i)
		if err := f.Sync(); err != nil {
			t.Error(err)
		}
		if got := ftGet(t, name); got[i] != b[i] {
			t.Errorf("a store into slice %d is not in the file", i)
		}
	}
	if err := f.Truncate(0); err != nil {
		t.Error(err)
	}
	if b := f.Bytes(); b != nil {
		t.Errorf("Bytes of an empty file has %d bytes", len(b))
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if err := os.Remove(name); err != nil {
		t.Errorf("the file cannot be removed after Close: %v", err)
	}
}

func TestViewGoesOnAfterATruncationInItsFunction(t *testing.T) {
	t.Parallel()
	whole := ftPattern(100_000)
	f := ftOpen(t, ftTemp(t, whole))
	err := f.View(10, 80_000, func(p []byte) error {
		if err := f.Truncate(70_000); err != nil {
			return err
		}
		ftSame(t, "the view", p[:69_990], whole[10:70_000])
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// Calls alone leave a file to others as os.File does: they may cut it, and where they may not remove it
// with os.File, they may not here.
func TestHotFileIsToOthersWhatOSFileIs(t *testing.T) {
	t.Parallel()
	whole := ftPattern(100_000)
	results := map[string][]string{}
	ftBoth(t, whole, func(t *testing.T, kind, name string, f ftFile) {
		buf := make([]byte, 100)
		for i := range 200 {
			if _, err := f.WriteAt(whole[i:i+100], int64(i)); err != nil {
				t.Fatal(err)
			}
			if _, err := f.ReadAt(buf, int64(i)); err != nil || !bytes.Equal(buf, whole[i:i+100]) {
				t.Fatalf("ReadAt: %v", err)
			}
		}
		other := ""
		for _, err := range []error{
			os.Truncate(name, 50_000), os.WriteFile(name, whole[:10], 0o600), os.Rename(name, name+"2"),
			os.Remove(name), os.Remove(name + "2"),
		} {
			for next := err; next != nil; next = errors.Unwrap(next) {
				err = next
			}
			other += fmt.Sprintf(" %T %v", err, err)
		}
		results[kind] = append(results[kind], other)
	})
	if a, b := results["os.File"], results["File"]; a[0] != b[0] {
		t.Errorf("with os.File open, others get\n%s\nand with File\n%s", a[0], b[0])
	}
}

// ftBoth runs fn with an os.File and with a File, each of a file of its own with that content.
func ftBoth(t *testing.T, content []byte, fn func(t *testing.T, kind, name string, f ftFile)) {
	t.Helper()
	name := ftTemp(t, content)
	o, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	fn(t, "os.File", name, o)
	o.Close()
	name = ftTemp(t, content)
	m, err := mmapfile.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	fn(t, "File", name, m)
	m.Close()
}

// What was stored into Bytes reaches the file whatever calls come before Sync, also where it is a copy.
func TestStoresIntoBytesSurviveEveryCall(t *testing.T) {
	t.Parallel()
	for _, flag := range []int{os.O_RDWR, os.O_RDWR | os.O_APPEND} {
		if runtime.GOOS == "windows" && mmapfile.CanMap && flag&os.O_APPEND != 0 {
			continue // maps for reading alone, as its handle is for appending alone
		}
		for what, call := range map[string]func(f *mmapfile.File) error{
			"Write":       func(f *mmapfile.File) error { _, err := f.Write([]byte("more")); return err },
			"WriteString": func(f *mmapfile.File) error { _, err := f.WriteString("more"); return err },
			"Bytes":       func(f *mmapfile.File) error { f.Bytes(); return nil },
			"Truncate":    func(f *mmapfile.File) error { return f.Truncate(5000) },
			"Read":        func(f *mmapfile.File) error { _, err := f.Read(make([]byte, 10)); return err },
			"ReadAt":      func(f *mmapfile.File) error { _, err := f.ReadAt(make([]byte, 10), 40); return err },
			"ReadFrom":    func(f *mmapfile.File) error { _, err := f.ReadFrom(strings.NewReader("more")); return err },
			"Fd":          func(f *mmapfile.File) error { f.Fd(); return nil },
			"View": func(f *mmapfile.File) error {
				return f.View(0, 100, func(p []byte) error { p[60] = 'V'; return nil })
			},
		} {
			name := ftTemp(t, ftPattern(10_000))
			f, err := mmapfile.OpenFile(name, flag, 0)
			if err != nil {
				t.Fatal(err)
			}
			b := f.Bytes()
			b[50] = 'B'
			if err := call(f); err != nil {
				t.Errorf("%s, flag %#x: %v", what, flag, err)
			}
			b[70] = 'C'
			if err := f.Sync(); err != nil {
				t.Errorf("%s, flag %#x: Sync: %v", what, flag, err)
			}
			if got := ftGet(t, name); got[50] != 'B' || got[70] != 'C' || what == "View" && got[60] != 'V' {
				t.Errorf("%s, flag %#x: the file has %q, %q, %q", what, flag, got[50], got[60], got[70])
			}
			b[90] = 'D'
			if err := f.Close(); err != nil {
				t.Errorf("%s, flag %#x: Close: %v", what, flag, err)
			}
			if got := ftGet(t, name); got[90] != 'D' {
				t.Errorf("%s, flag %#x: the file has %q after Close", what, flag, got[90])
			}
		}
	}
}

// Others write between two bytes that are stored: theirs stay.
func TestNothingIsWrittenBackThatWasNotStored(t *testing.T) {
	t.Parallel()
	whole := ftPattern(100_000)
	other := []byte("OTHER")
	check := func(t *testing.T, use func(f *mmapfile.File, theirs func())) {
		t.Helper()
		name := ftTemp(t, whole)
		f := ftOpen(t, name)
		use(f, func() {
			o, err := os.OpenFile(name, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer o.Close()
			if _, err := o.WriteAt(other, 50); err != nil {
				t.Fatal(err)
			}
			if _, err := o.WriteAt(other, 50_000); err != nil {
				t.Fatal(err)
			}
		})
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		want := bytes.Clone(whole)
		copy(want[50:], other)
		copy(want[50_000:], other)
		want[10], want[99], want[99_999] = 'a', 'b', 'c'
		ftSame(t, "the file", ftGet(t, name), want)
	}
	t.Run("View", func(t *testing.T) {
		check(t, func(f *mmapfile.File, theirs func()) {
			err := f.View(0, 100_000, func(p []byte) error {
				p[10], p[99], p[99_999] = 'a', 'b', 'c'
				theirs()
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	})
	t.Run("Bytes", func(t *testing.T) {
		check(t, func(f *mmapfile.File, theirs func()) {
			b := f.Bytes()
			b[10], b[99], b[99_999] = 'a', 'b', 'c'
			theirs()
			if err := f.Sync(); err != nil {
				t.Error(err)
			}
		})
	})
}

func TestViewDoesNotExtendAFileThatWasCutMeanwhile(t *testing.T) {
	t.Parallel()
	name := ftTemp(t, ftPattern(100))
	f := ftOpen(t, name)
	err := f.View(0, 100, func(p []byte) error {
		p[90] = 'x'
		return f.Truncate(10)
	})
	if fi, serr := f.Stat(); serr != nil || fi.Size() != 10 {
		t.Errorf("the file has %d bytes, %v; View: %v", fi.Size(), serr, err)
	}
}

// Goroutines that only read what Bytes gives are no race.
func TestBytesMayBeCalledWhileOthersReadTheirs(t *testing.T) {
	t.Parallel()
	whole := ftPattern(50_000)
	f := ftOpen(t, ftTemp(t, whole))
	ftTogether(t, 4, func(int) error {
		for range ftLess(80) {
			if !bytes.Equal(f.Bytes(), whole) {
				return errors.New("other bytes")
			}
		}
		return nil
	})
}
