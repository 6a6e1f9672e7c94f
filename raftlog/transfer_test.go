package raftlog_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"go.dw1.io/mmapfile/raftlog"
)

// What is sent has no room for deleted entries in the first segment.
func TestSnapshots_SizeOfDeleted(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), raftlog.Options{})
	logs := newLogs(1, 2000)
	store(t, s, logs...)
	must(t, s.DeleteRange(1, 1900))
	sent := take(t, s, 1950)
	if padding := len(sent) - len(bytes.TrimRight(sent, "\x00")); padding > 64 {
		t.Errorf("%d of %d bytes are zeros at the end", padding, len(sent))
	}
	to := open(t, t.TempDir(), small)
	_, r, err := to.Snapshots().Open(receive(t, to, 1950, sent))
	must(t, err)
	must(t, raftlog.NewFSM(to).Restore(r))
	wantEvents(t, to, logs[1900:1950])
}

// A snapshot whose events a failed restore has dropped is not sent as an empty one.
func TestSnapshots_OpenDropped(t *testing.T) {
	t.Parallel()
	from := open(t, t.TempDir(), raftlog.Options{})
	store(t, from, newLogs(1, 200)...)
	dir := t.TempDir()
	s := open(t, dir, raftlog.Options{})
	store(t, s, newLogs(1, 100)...)
	take(t, s, 100)
	list, err := s.Snapshots().List()
	must(t, err)
	id := receive(t, s, 200, take(t, from, 200))
	name := filepath.Join(dir, "snapshots", id, "events")
	b, err := os.ReadFile(name)
	if err == nil {
		b[len(b)/2] ^= 1
		err = os.WriteFile(name, b, 0o666)
	}
	must(t, err)
	_, r, err := s.Snapshots().Open(id)
	must(t, err)
	if err := raftlog.NewFSM(s).Restore(r); err == nil {
		t.Fatal("no error")
	}
	meta, r, err := s.Snapshots().Open(list[0].ID)
	must(t, err)
	defer r.Close()
	if p, err := io.ReadAll(r); err == nil || meta.Size < 0 {
		t.Errorf("%d bytes of %d, %v", len(p), meta.Size, err)
	}
}
