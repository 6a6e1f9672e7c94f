package mmapfile_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
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
