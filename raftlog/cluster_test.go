package raftlog_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"go.dw1.io/mmapfile/eventlog"
	"go.dw1.io/mmapfile/raftlog"
)

func TestCluster_Restarts(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1<<40)
	c.bootstrap()
	c.apply(200)
	for round := range 6 {
		n := c.nodes[round%3]
		c.stop(n)
		c.apply(50)
		if round%2 == 0 {
			must(t, c.leader().raft.Snapshot().Error())
		}
		c.start(n)
		c.apply(50)
		for _, n := range c.nodes {
			c.want(n)
		}
	}
}

// A node that lags further than the log of the leader reaches gets a snapshot, also when
// it is restarted after it, and again.
func TestCluster_FarBehind(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 40)
	c.bootstrap()
	c.apply(100)
	lagging := c.follower()
	for range 2 {
		c.stop(lagging)
		last := c.last
		for range 4 {
			c.apply(100)
			for _, n := range c.nodes {
				if n != lagging {
					c.want(n)
					must(t, n.raft.Snapshot().Error())
				}
			}
		}
		if first := c.leader().fsm.First(); first <= last {
			t.Fatalf("the leader has all from %d on, the other up to %d", first, last)
		}
		c.start(lagging)
		c.apply(10)
		for _, n := range c.nodes {
			c.want(n)
		}
		if lagging.fsm.First() <= last {
			t.Fatal("no snapshot was sent")
		}
		c.stop(lagging)
		c.apply(10)
		c.start(lagging)
		c.want(lagging)
		// Its own snapshot, with the same events, is the next that others get.
		must(t, lagging.raft.Snapshot().Error())
		c.want(lagging)
	}
}

// A follower of a node sees all events once and in order, in whatever the cluster does.
func TestFollow_LeaderChanges(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1<<40)
	c.bootstrap()
	c.apply(10)
	n := c.follower()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	got, ended := make(chan raftlog.Event, 1000), make(chan error, 1)
	go func() {
		for e, err := range n.fsm.Follow(ctx, 0) {
			if err != nil {
				ended <- err
				return
			}
			e.Data = append([]byte(nil), e.Data...)
			got <- e
		}
	}()
	for range 3 {
		if err := c.leader().raft.LeadershipTransfer().Error(); err != nil {
			t.Log(err) // another is elected anyway
		}
		c.apply(50)
	}
	before := uint64(0)
	for left := len(c.acked); left > 0; {
		select {
		case e := <-got:
			if e.Index <= before {
				t.Fatalf("event %d after %d", e.Index, before)
			}
			before = e.Index
			if age := time.Since(e.Time); age < 0 || age > time.Hour {
				t.Fatalf("event %d is of %v", e.Index, e.Time)
			}
			if data, ok := c.acked[e.Index]; ok {
				if left--; data != string(e.Data) {
					t.Fatalf("event %d is %q, want %q", e.Index, e.Data, data)
				}
			}
		case err := <-ended:
			t.Fatal(err)
		case <-time.After(time.Minute):
			t.Fatalf("%d events are missing", left)
		}
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// Events that a snapshot has dropped are an error, not silence.
func TestEvents_Truncated(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 5)
	c.bootstrap()
	c.apply(100)
	n := c.leader()
	must(t, n.raft.Snapshot().Error())
	for _, err := range n.fsm.Events(3) {
		if !errors.Is(err, eventlog.ErrTruncated) {
			t.Fatal(err)
		}
	}
	if n.fsm.First() < 90 {
		t.Errorf("events from %d on are kept", n.fsm.First())
	}
}

// The snapshot of one cluster is restored into another. On a busy machine the leader may change
// meanwhile. raft then leaves the cluster as it is, and a new one takes its place.
func TestCluster_UserRestore(t *testing.T) {
	t.Parallel()
	err := raft.ErrLeadershipLost
	for n := 0; n < 5 && errors.Is(err, raft.ErrLeadershipLost); n++ {
		err = userRestore(t)
	}
	must(t, err)
}

func userRestore(t *testing.T) error {
	t.Helper()
	one, two := newCluster(t, 1<<40), newCluster(t, 1<<40)
	one.bootstrap()
	two.bootstrap()
	one.apply(100)
	snapshot := one.leader().raft.Snapshot()
	must(t, snapshot.Error())
	meta, from, err := snapshot.Open()
	must(t, err)
	two.apply(150)
	two.acked = one.acked
	for range 2 {
		err := two.leader().raft.Restore(meta, from, time.Minute)
		from.Close()
		if err != nil {
			return err
		}
		two.apply(20)
		for _, n := range two.nodes {
			two.want(n)
		}
		for _, n := range two.nodes {
			two.stop(n)
			two.start(n)
		}
		two.apply(20)
		for _, n := range two.nodes {
			two.want(n)
		}
		// And the snapshot of that once more.
		snapshot := two.leader().raft.Snapshot()
		must(t, snapshot.Error())
		if meta, from, err = snapshot.Open(); err != nil {
			t.Fatal(err)
		}
	}
	return from.Close()
}

// A stream does not begin before what it has dropped. So a snapshot with such events is refused,
// and those that there are stay.
func TestCluster_UserRestoreDropped(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 10)
	c.bootstrap()
	c.apply(100)
	old := c.leader().raft.Snapshot()
	must(t, old.Error())
	meta, from, err := old.Open()
	must(t, err)
	sent, err := io.ReadAll(from)
	must(t, err)
	from.Close()
	c.apply(100)
	leader := c.leader()
	must(t, leader.raft.Snapshot().Error())
	before := leader.fsm.First()
	if before <= 100 {
		t.Fatal("first event ", before)
	}
	if err := leader.raft.Restore(meta, bytes.NewReader(sent), time.Minute); err == nil {
		t.Error("restored without its events")
	}
	c.apply(10)
	for _, n := range c.nodes {
		c.want(n)
	}
	if first := leader.fsm.First(); first != before {
		t.Errorf("first event %d, want %d", first, before)
	}
}

// FSM takes no snapshots but those of its Store: the others have no events.
func TestFSM_ForeignSnapshots(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1<<40)
	c.bootstrap()
	c.apply(10)
	n := c.leader()
	foreign := raft.NewInmemSnapshotStore()
	k, err := foreign.Create(raft.SnapshotVersionMax, 5, 1, raft.Configuration{}, 1, n.trans)
	must(t, err)
	snapshot, err := n.fsm.Snapshot()
	must(t, err)
	if snapshot.Persist(k) == nil {
		t.Error("a snapshot without events")
	}
	snapshot.Release()
	_, from, err := foreign.Open(k.ID())
	must(t, err)
	if n.fsm.Restore(io.NopCloser(from)) == nil {
		t.Error("restored without events")
	}
}

var lates = flag.Int("raftlog.lates", 3, "how often a disk is late")

// slow is a log on a disk that is late.
type slow struct {
	raft.LogStore
	most *atomic.Int64 // delay in ns
}

func (s slow) IsMonotonic() bool { return true }

func (s slow) StoreLogs(logs []*raft.Log) error {
	if most := s.most.Load(); most > 0 {
		time.Sleep(time.Duration(rand.Int64N(most))) // that is the disk
	}
	return s.LogStore.StoreLogs(logs)
}

// The disk of one node is late, be it the leader or not.
func TestCluster_DiskLate(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1000)
	most := map[*node]*atomic.Int64{}
	for _, n := range c.nodes {
		most[n] = new(atomic.Int64)
	}
	c.wrap = func(n *node) raft.LogStore { return slow{n.store, most[n]} }
	c.bootstrap()
	for round := range *lates {
		late := c.nodes[round%3]
		most[late].Store(int64(time.Duration(50<<(round%4)) * time.Millisecond))
		c.apply(100)
		if round%2 == 1 {
			c.stop(late)
			c.start(late)
			c.apply(50)
		}
		most[late].Store(0)
		for _, n := range c.nodes {
			c.want(n)
		}
	}
}
