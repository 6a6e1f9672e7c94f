package raftlog

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func newStable(t *testing.T, name string) *stable {
	t.Helper()
	s, err := openStable(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.close() })
	return s
}

func (s *stable) want(t *testing.T, key, value string) {
	t.Helper()
	if got, err := s.get([]byte(key)); string(got) != value || err != nil {
		t.Fatalf("%s is %q, %v, want %q", key, got, err, value)
	}
}

func (s *stable) put(t *testing.T, key, value string) {
	t.Helper()
	if err := s.set([]byte(key), []byte(value)); err != nil {
		t.Fatal(err)
	}
}

func TestStable_Reopened(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "stable")
	s := newStable(t, name)
	s.want(t, "term", "")
	s.put(t, "term", "1")
	s.put(t, "vote", "me")
	s.put(t, "term", "2")
	if err := s.setBase(77); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		s.want(t, "term", "2")
		s.want(t, "vote", "me")
		s.want(t, "none", "")
		s.close()
		if s = newStable(t, name); s.base != 77 {
			t.Errorf("base %d", s.base)
		}
	}
}

// A value larger than the slot moves the map to a larger file.
func TestStable_Grows(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "stable")
	s := newStable(t, name)
	for i := range 300 {
		s.put(t, fmt.Sprint("key ", i), fmt.Sprint("value ", i))
	}
	large := string(bytes.Repeat([]byte("large"), 20_000))
	s.put(t, "large", large)
	s.put(t, "key 7", "changed")
	s.close()
	s = newStable(t, name)
	s.want(t, "large", large)
	s.want(t, "key 7", "changed")
	s.want(t, "key 299", "value 299")
	if err := s.set([]byte("huge"), make([]byte, maxSlot)); err == nil {
		t.Error("a value larger than any slot")
	}
	s.want(t, "huge", "")
	s.put(t, "key 7", "again")
}

// Whatever of a write a crash leaves, the value is the one before or the new one.
func TestStable_TornWrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, "stable")
	s := newStable(t, name)
	for i := range 6 {
		before := read(t, name)
		s.put(t, "term", fmt.Sprint("term ", i))
		s.put(t, "filler", string(bytes.Repeat([]byte{byte(i)}, 700*i)))
		between := read(t, name)
		s.put(t, "term", fmt.Sprint("term ", i+1))
		after := read(t, name)
		if len(before) != len(after) {
			t.Fatalf("the file grew to %d bytes", len(after))
		}
		for from := 0; from < len(after); from += 64 {
			for _, size := range []int{64, 512, len(after)} {
				torn := bytes.Clone(between)
				copy(torn[from:min(from+size, len(torn))], after[from:])
				other := filepath.Join(dir, "torn")
				if err := os.WriteFile(other, torn, 0o600); err != nil {
					t.Fatal(err)
				}
				o := newStable(t, other)
				got, err := o.get([]byte("term"))
				if v := string(got); err != nil || v != fmt.Sprint("term ", i) && v != fmt.Sprint("term ", i+1) {
					t.Fatalf("bytes %d to %d: %q, %v", from, from+size, got, err)
				}
				o.close()
			}
		}
	}
}

func TestStable_Damaged(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "stable")
	s := newStable(t, name)
	s.put(t, "vote", "me")
	s.close()
	whole := read(t, name)
	for _, b := range [][]byte{nil, {1}, make([]byte, len(whole)), whole[:len(whole)/2]} {
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := openStable(name); err == nil {
			t.Errorf("%d bytes without a vote were opened", len(b))
		}
	}
}

// After a flush of the directory has failed, a crash may bring the file before back, so nothing
// is acknowledged until the store is opened again.
func TestStable_FailedFlushOfDirectory(t *testing.T) {
	old, fails, flushes := syncDir, true, 0
	syncDir = func(name string) error {
		if flushes++; fails {
			return syscall.EIO
		}
		return old(name)
	}
	defer func() { syncDir = old }()
	name := filepath.Join(t.TempDir(), "stable")
	for range 2 { // without the file, and with it
		if _, err := openStable(name); !errors.Is(err, syscall.EIO) {
			t.Fatalf("open: %v, want EIO", err)
		}
	}
	fails = false
	s := newStable(t, name)
	s.put(t, "term", "1")
	fails = true
	if err := s.set([]byte("large"), make([]byte, minSlot)); !errors.Is(err, syscall.EIO) {
		t.Errorf("set: %v, want EIO", err)
	}
	fails = false
	if err := s.set([]byte("vote"), []byte("me")); err == nil {
		t.Error("a vote was acknowledged in a file whose name is not durable")
	}
	s.close()
	flushes = 0
	s = newStable(t, name)
	s.want(t, "term", "1")
	s.put(t, "vote", "me")
	if flushes != 1 {
		t.Errorf("%d flushes of the directory by open, want 1", flushes)
	}
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
