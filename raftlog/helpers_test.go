package raftlog_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"go.dw1.io/mmapfile/raftlog"
)

// must ends the test with an error, if there is one.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// errOf is the error of a call that returns something else, too.
func errOf[T any](_ T, err error) error { return err }

// open opens a store that is closed at the end of the test, if it is not then.
func open(t testing.TB, dir string, o raftlog.Options) *raftlog.Store {
	t.Helper()
	s, err := raftlog.Open(dir, o)
	must(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

// reopen closes s and opens it again.
func reopen(t testing.TB, s *raftlog.Store, dir string, o raftlog.Options) *raftlog.Store {
	t.Helper()
	must(t, s.Close())
	return open(t, dir, o)
}

// newLog returns a log entry that its index determines.
func newLog(index uint64) *raft.Log {
	r := rand.New(rand.NewPCG(index, 1))
	l := &raft.Log{Index: index, Term: 1 + index/10, Type: raft.LogType(r.IntN(6))}
	if n := r.IntN(300); n > 0 {
		l.Data = bytes.Repeat([]byte{byte(index)}, n)
	}
	if r.IntN(3) == 0 {
		l.Extensions = []byte(fmt.Sprint("extension ", index))
	}
	if r.IntN(3) > 0 {
		l.AppendedAt = time.Unix(int64(index)<<20, int64(r.IntN(1e9))).UTC()
	}
	return l
}

// newLogs returns n entries from index first on.
func newLogs(first uint64, n int) (logs []*raft.Log) {
	for i := range uint64(n) {
		logs = append(logs, newLog(first+i))
	}
	return logs
}

func store(t testing.TB, s raft.LogStore, logs ...*raft.Log) {
	t.Helper()
	must(t, s.StoreLogs(logs))
}

func equal(a, b *raft.Log) bool {
	return a.Index == b.Index && a.Term == b.Term && a.Type == b.Type && bytes.Equal(a.Data, b.Data) &&
		bytes.Equal(a.Extensions, b.Extensions) && a.AppendedAt.Equal(b.AppendedAt)
}

// wantLogs checks that the log consists of these entries.
func wantLogs(t testing.TB, s raft.LogStore, logs ...*raft.Log) {
	t.Helper()
	first, last := uint64(0), uint64(0)
	if n := len(logs); n > 0 {
		first, last = logs[0].Index, logs[n-1].Index
	}
	gotFirst, err := s.FirstIndex()
	gotLast, lerr := s.LastIndex()
	if gotFirst != first || gotLast != last || err != nil || lerr != nil {
		t.Fatalf("indexes %d to %d, want %d to %d; %v, %v", gotFirst, gotLast, first, last, err, lerr)
	}
	for _, l := range logs {
		got := new(raft.Log)
		if err := s.GetLog(l.Index, got); err != nil || !equal(got, l) {
			t.Fatalf("index %d: %+v, %v, want %+v", l.Index, got, err, l)
		}
	}
	for _, index := range []uint64{0, first - 1, last + 1, 1 << 60} {
		if index >= first && index <= last && len(logs) > 0 {
			continue
		}
		if err := s.GetLog(index, new(raft.Log)); !errors.Is(err, raft.ErrLogNotFound) {
			t.Fatalf("index %d of %d to %d: %v", index, first, last, err)
		}
	}
}
