package raftlog_test

import (
	"context"
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
		n := int64(0)
		for e, err := range fsm.Follow(ctx, 0) {
			if err != nil {
				t.Errorf("after event %d: %v", n, err)
				break
			}
			if n++; e.Seq != n {
				t.Errorf("event %d, want %d", e.Seq, n)
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
	if err != nil {
		t.Fatal(err)
	}
	<-started
	if err := fsm.Restore(r); err != nil {
		t.Fatal(err)
	}
	<-done
}
