package raftlog_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/hashicorp/raft"

	"go.dw1.io/mmapfile/eventlog"
	"go.dw1.io/mmapfile/raftlog"
)

var small = raftlog.Options{SegmentSize: 64 << 10}

func TestOpen_Empty(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, small)
	wantLogs(t, s)
	if !s.IsMonotonic() {
		t.Error("the log may have gaps")
	}
	s = reopen(t, s, dir, small)
	wantLogs(t, s)
	store(t, s, newLog(1))
	wantLogs(t, s, newLog(1))
}

func TestOpen_Locked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	open(t, dir, small)
	if _, err := raftlog.Open(dir, small); !errors.Is(err, eventlog.ErrLocked) {
		t.Errorf("opened twice: %v", err)
	}
}

// A store that cannot be opened is an error, and left unlocked.
func TestOpen_Damaged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, small)
	store(t, s, newLog(1))
	s.Close()
	name := filepath.Join(dir, "stable")
	whole, err := os.ReadFile(name)
	must(t, err)
	must(t, os.WriteFile(name, make([]byte, len(whole)), 0o600))
	for range 2 {
		if s, err := raftlog.Open(dir, small); s != nil || err == nil || errors.Is(err, eventlog.ErrLocked) {
			t.Fatalf("opened: %v", err)
		}
	}
	must(t, os.WriteFile(name, whole, 0o600))
	wantLogs(t, open(t, dir, small), newLog(1))
}

// Without its term and vote a node could vote twice, also one whose log has no entry yet.
func TestOpen_StableMissing(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 3} {
		dir := t.TempDir()
		s := open(t, dir, raftlog.Options{})
		must(t, s.StoreLogs(newLogs(1, n)))
		must(t, s.Close())
		must(t, os.Remove(filepath.Join(dir, "stable")))
		if s, err := raftlog.Open(dir, raftlog.Options{}); err == nil {
			s.Close()
			t.Errorf("opened without its stable store, with %d entries", n)
		}
	}
}

func TestFollow_Close(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), raftlog.Options{})
	ended := make(chan error)
	go func() {
		for _, err := range raftlog.NewFSM(s).Follow(context.Background(), 0) {
			ended <- err
		}
	}()
	must(t, s.Close())
	if err := <-ended; !errors.Is(err, os.ErrClosed) {
		t.Errorf("%v", err)
	}
}

func TestStoreLogs_Reopened(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, small)
	logs := newLogs(1, 1000) // several segments
	for part := range slices.Chunk(logs, 37) {
		store(t, s, part...)
	}
	store(t, s)
	wantLogs(t, s, logs...)
	s = reopen(t, s, dir, small)
	wantLogs(t, s, logs...)
	must(t, s.StoreLog(newLog(1001)))
	wantLogs(t, s, append(logs, newLog(1001))...)
}

func TestStoreLogs_Gap(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), small)
	store(t, s, newLogs(1, 5)...)
	for _, logs := range [][]*raft.Log{
		{newLog(5)}, {newLog(7)}, {newLog(6), newLog(8)}, {newLog(6), newLog(6)}, {newLog(0)},
	} {
		if err := s.StoreLogs(logs); !errors.Is(err, raftlog.ErrGap) {
			t.Errorf("stored index %d after 5: %v", logs[0].Index, err)
		}
	}
	wantLogs(t, s, newLogs(1, 5)...)
}

// An empty log continues after the snapshot that has replaced it. Raft may still count entries that the log had before,
// if the last step of the restore has failed.
func TestStoreLogs_GapAfterSnapshot(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, small)
	store(t, s, newLogs(1, 8)...)
	sent := take(t, s, 6)
	must(t, s.DeleteRange(1, 6))
	must(t, restore(t, s, raftlog.NewFSM(s), receive(t, s, 6, sent)))
	for range 2 {
		if err := s.StoreLog(newLog(9)); !errors.Is(err, raftlog.ErrGap) {
			t.Errorf("stored index 9 after a snapshot of 6: %v", err)
		}
		wantLogs(t, s)
		s = reopen(t, s, dir, small)
	}
	store(t, s, newLogs(7, 3)...)
	wantLogs(t, s, newLogs(7, 3)...)
}

func TestStoreLogs_AnyFirstIndex(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, small)
	store(t, s, newLogs(1000, 3)...)
	wantLogs(t, s, newLogs(1000, 3)...)
	s = reopen(t, s, dir, small)
	wantLogs(t, s, newLogs(1000, 3)...)
	must(t, s.DeleteRange(1, 5000))
	wantLogs(t, s)
	store(t, s, newLogs(70_000, 3)...)
	wantLogs(t, s, newLogs(70_000, 3)...)
}

func TestDeleteRange_Cases(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		first, last uint64 // entries to delete from 10 to 19
		left        []*raft.Log
		err         error
	}{
		{1, 9, newLogs(10, 10), nil},
		{20, 30, newLogs(10, 10), nil},
		{15, 12, newLogs(10, 10), nil},
		{10, 10, newLogs(11, 9), nil},
		{1, 14, newLogs(15, 5), nil},
		{15, 19, newLogs(10, 5), nil},
		{15, 100, newLogs(10, 5), nil},
		{10, 19, nil, nil},
		{1, 100, nil, nil},
		{11, 18, newLogs(10, 10), raftlog.ErrRange},
		{12, 12, newLogs(10, 10), raftlog.ErrRange},
	} {
		dir := t.TempDir()
		s := open(t, dir, small)
		store(t, s, newLogs(10, 10)...)
		if err := s.DeleteRange(c.first, c.last); !errors.Is(err, c.err) || c.err == nil && err != nil {
			t.Errorf("%d to %d: %v, want %v", c.first, c.last, err, c.err)
		}
		wantLogs(t, s, c.left...)
		s = reopen(t, s, dir, small)
		wantLogs(t, s, c.left...)
		if n := len(c.left); n > 0 {
			next := newLog(c.left[n-1].Index + 1)
			next.Term += 100 // other than what stood there
			store(t, s, next)
			wantLogs(t, s, append(c.left, next)...)
		}
		s.Close()
	}
}

// Random calls give what they give on a slice, and the log is the same when it is opened again.
func TestStore_Model(t *testing.T) {
	t.Parallel()
	seeds := uint64(8)
	if testing.Short() {
		seeds = 2
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 7))
		dir := t.TempDir()
		s := open(t, dir, small)
		model := []*raft.Log(nil)
		next := uint64(1)
		for range 150 {
			switch r.IntN(8) {
			case 0:
				s = reopen(t, s, dir, small)
			case 1:
				if n := len(model); n > 0 {
					k := r.IntN(n + 1)
					must(t, s.DeleteRange(model[0].Index-uint64(r.IntN(2)), model[0].Index+uint64(k)-1))
					model = model[k:]
				}
			case 2:
				if n := len(model); n > 1 {
					k := 1 + r.IntN(n-1)
					must(t, s.DeleteRange(model[k].Index, model[n-1].Index+uint64(r.IntN(2))))
					model = model[:k:k]
					next = model[k-1].Index + 1
				}
			default:
				if len(model) == 0 {
					next += uint64(r.IntN(1000))
				}
				logs := newLogs(next, 1+r.IntN(60))
				for _, l := range logs {
					l.Term += uint64(r.IntN(1000))
				}
				store(t, s, logs...)
				model = append(model, logs...)
				next += uint64(len(logs))
			}
			wantLogs(t, s, model...)
		}
		s.Close()
	}
}

func TestStore_Closed(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), small)
	must(t, s.Close())
	_, first := s.FirstIndex()
	_, last := s.LastIndex()
	_, key := s.Get([]byte("key"))
	for i, err := range []error{
		first, last, key, s.GetLog(1, new(raft.Log)), s.StoreLog(newLog(1)), s.DeleteRange(1, 1),
		s.Set([]byte("key"), nil), s.Close(),
	} {
		if !errors.Is(err, os.ErrClosed) {
			t.Errorf("call %d: %v", i, err)
		}
	}
}

func TestGetLog_OwnMemory(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), small)
	l := &raft.Log{Index: 1, Data: []byte("data"), Extensions: []byte("more")}
	store(t, s, l)
	got := new(raft.Log)
	must(t, s.GetLog(1, got))
	got.Data = append(got.Data, 'x')
	got.Extensions[0], got.Data[0] = 'x', 'x'
	wantLogs(t, s, l)
	must(t, s.DeleteRange(1, 1))
	if string(got.Data) != "xatax" || string(got.Extensions) != "xore" {
		t.Errorf("changed to %q, %q", got.Data, got.Extensions)
	}
}

// With RestoreCommittedLogs raft forgets members, see the package comment. It refuses a log that
// does not track commits.
func TestStore_RestoreCommittedLogs(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), small)
	conf := raft.DefaultConfig()
	conf.LocalID, conf.LogOutput, conf.RestoreCommittedLogs = "node", io.Discard, true
	_, trans := raft.NewInmemTransport("node")
	r, err := raft.NewRaft(conf, raftlog.NewFSM(s), s, s, s.Snapshots(), trans)
	if !errors.Is(err, raft.ErrIncompatibleLogStore) {
		t.Errorf("error %v, want %v", err, raft.ErrIncompatibleLogStore)
	}
	if err == nil {
		r.Shutdown().Error()
	}
}
