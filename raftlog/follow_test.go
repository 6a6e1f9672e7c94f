package raftlog_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"go.dw1.io/mmapfile/raftlog"
)

// A snapshot that has the events that a reader has not seen yet does not end its loop.
func TestFollow_Restore(t *testing.T) {
	t.Parallel()
	var logs []*raft.Log
	for i := range uint64(20000) {
		logs = append(logs, &raft.Log{Index: i + 1, Term: 1, Type: raft.LogCommand, Data: []byte("some data")})
	}
	from := open(t, t.TempDir(), small)
	store(t, from, logs...)
	p := take(t, from, 20000)
	s := open(t, t.TempDir(), small)
	store(t, s, logs[:5000]...)
	fsm := raftlog.NewFSM(s)
	fsm.Apply(logs[4999])
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	done := make(chan struct{})
	started := make(chan struct{})
	go func() {
		defer close(done)
		n := uint64(0)
		for e, err := range fsm.Follow(ctx, 0) {
			if err != nil {
				t.Errorf("after event %d: %v", n, err)
				break
			}
			if n++; e.Index != n {
				t.Errorf("event %d, want %d", e.Index, n)
				break
			}
			if n == 3000 {
				close(started)
				time.Sleep(time.Millisecond)
			}
			if n > 3000 && n < 3100 {
				time.Sleep(100 * time.Microsecond)
			}
			if n == 20000 {
				break
			}
		}
	}()
	id := receive(t, s, 20000, p)
	_, r, err := s.Snapshots().Open(id)
	must(t, err)
	<-started
	must(t, fsm.Restore(r))
	<-done
}

// A loop from the first event on begins with that of the snapshot that comes before any event.
func TestFollow_SnapshotFirst(t *testing.T) {
	t.Parallel()
	var logs []*raft.Log
	for i := range uint64(100) {
		logs = append(logs, &raft.Log{Index: i + 1, Term: 1, Type: raft.LogCommand, Data: []byte("some data")})
	}
	from := open(t, t.TempDir(), small)
	store(t, from, logs...)
	must(t, from.DeleteRange(1, 49))
	p := take(t, from, 100)
	for _, had := range []int{0, 1} { // entries of raft, which are not yielded
		s := open(t, t.TempDir(), small)
		fsm := raftlog.NewFSM(s)
		for i := range uint64(had) {
			l := &raft.Log{Index: i + 1, Term: 1, Type: raft.LogNoop}
			store(t, s, l)
			fsm.Apply(l)
		}
		id := receive(t, s, 100, p)
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		waits := &notify{Context: ctx, c: make(chan struct{})}
		seq, failed := make(chan uint64, 1), make(chan error, 1)
		go func() {
			for e, err := range fsm.Follow(waits, 0) {
				seq <- e.Index
				failed <- err
				return
			}
		}()
		<-waits.c
		if _, r, err := s.Snapshots().Open(id); err != nil {
			t.Fatal(err)
		} else if err := fsm.Restore(r); err != nil {
			t.Fatal(err)
		}
		if seq, err := <-seq, <-failed; seq != 50 || err != nil {
			t.Errorf("event %d, %v", seq, err)
		}
	}
}

// notify is a context that tells when it is waited for.
type notify struct {
	context.Context
	c    chan struct{}
	once sync.Once
}

func (n *notify) Done() <-chan struct{} {
	n.once.Do(func() { close(n.c) })
	return n.Context.Done()
}

// A restore that fails shows none of its events. Follow waits for the next one, and for its context.
func TestFollow_FailedRestore(t *testing.T) {
	t.Parallel()
	newLogs := func(n int, data string) (logs []*raft.Log) {
		for i := range uint64(n) {
			logs = append(logs, &raft.Log{Index: i + 1, Term: 1, Type: raft.LogCommand, Data: []byte(data)})
		}
		return logs
	}
	from := open(t, t.TempDir(), raftlog.Options{})
	store(t, from, newLogs(20000, strings.Repeat("new", 400))...)
	p := take(t, from, 20000)
	dir := t.TempDir()
	s := open(t, dir, raftlog.Options{})
	old := newLogs(5000, "old")
	store(t, s, old...)
	fsm := raftlog.NewFSM(s)
	fsm.Apply(old[len(old)-1])

	id := receive(t, s, 20000, p)
	f, err := os.OpenFile(filepath.Join(dir, "snapshots", id, "events"), os.O_RDWR, 0)
	must(t, err)
	_, err = f.WriteAt([]byte("damage"), int64(len(p))*9/10)
	must(t, errors.Join(err, f.Close()))
	failed, looked := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(looked)
		for more := true; more; {
			select {
			case <-failed:
				more = false
			default:
			}
			for e, err := range fsm.Events(1) {
				if err == nil && string(e.Data) != "old" {
					t.Errorf("event %d of a restore that fails", e.Index)
					return
				}
			}
		}
	}()
	_, r, err := s.Snapshots().Open(id)
	must(t, err)
	if err := fsm.Restore(r); err == nil {
		t.Error("Restore of a snapshot that is damaged: no error")
	}
	close(failed)
	select {
	case <-looked:
	case <-time.After(20 * time.Second):
		t.Fatal("Events does not end")
	}
	ctx, cancel := context.WithCancel(context.Background())
	waits := &notify{Context: ctx, c: make(chan struct{})}
	ended := make(chan error)
	go func() {
		for _, err := range fsm.Follow(waits, 0) {
			ended <- err
		}
	}()
	select {
	case <-waits.c:
	case <-time.After(20 * time.Second):
		t.Fatal("Follow does not wait")
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("Follow: %v", err)
	}
}
