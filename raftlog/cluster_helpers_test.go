package raftlog_test

import (
	"fmt"
	"io"
	"path/filepath"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"go.dw1.io/mmapfile/raftlog"
)

// node is a member of a cluster in this process.
type node struct {
	id    string
	dir   string
	store *raftlog.Store
	fsm   *raftlog.FSM
	raft  *raft.Raft
	trans *raft.InmemTransport
}

// cluster is one of three nodes, whose transports are connected as long as they run.
type cluster struct {
	t        testing.TB
	nodes    []*node
	trailing uint64
	wrap     func(*node) raft.LogStore // nil for the store itself

	acked map[uint64]string // number and data of the events that were applied
	last  uint64            // highest of these
	tried int
}

func newCluster(t testing.TB, trailing uint64) *cluster {
	t.Helper()
	c := &cluster{t: t, trailing: trailing, acked: map[uint64]string{}}
	dir := t.TempDir()
	for i := range 3 {
		id := fmt.Sprint("node", i)
		c.nodes = append(c.nodes, &node{id: id, dir: filepath.Join(dir, id)})
	}
	return c
}

// bootstrap starts a new cluster.
func (c *cluster) bootstrap() {
	c.t.Helper()
	servers := raft.Configuration{}
	for _, n := range c.nodes {
		c.start(n)
		servers.Servers = append(servers.Servers, raft.Server{ID: raft.ServerID(n.id), Address: raft.ServerAddress(n.id)})
	}
	if err := c.nodes[0].raft.BootstrapCluster(servers).Error(); err != nil {
		c.t.Fatal(err)
	}
}

func (c *cluster) start(n *node) {
	c.t.Helper()
	n.store = open(c.t, n.dir, small)
	n.fsm = raftlog.NewFSM(n.store)
	_, n.trans = raft.NewInmemTransportWithTimeout(raft.ServerAddress(n.id), 2*time.Second)
	for _, m := range c.nodes {
		if m != n && m.raft != nil {
			n.trans.Connect(m.trans.LocalAddr(), m.trans)
			m.trans.Connect(n.trans.LocalAddr(), n.trans)
		}
	}
	conf := raft.DefaultConfig()
	conf.LocalID = raft.ServerID(n.id)
	conf.HeartbeatTimeout, conf.ElectionTimeout, conf.LeaderLeaseTimeout = 200*time.Millisecond, 200*time.Millisecond, 200*time.Millisecond
	conf.CommitTimeout = 5 * time.Millisecond
	conf.SnapshotInterval, conf.SnapshotThreshold = time.Hour, 1<<40 // those that the test asks for
	conf.TrailingLogs = c.trailing
	conf.LogOutput = io.Discard
	logs := raft.LogStore(n.store)
	if c.wrap != nil {
		logs = c.wrap(n)
	}
	r, err := raft.NewRaft(conf, n.fsm, logs, n.store, n.store.Snapshots(), n.trans)
	if err != nil {
		c.t.Fatal(err)
	}
	n.raft = r
	c.t.Cleanup(func() { r.Shutdown().Error() })
}

func (c *cluster) stop(n *node) {
	c.t.Helper()
	for _, m := range c.nodes {
		if m != n && m.raft != nil {
			m.trans.Disconnect(n.trans.LocalAddr())
		}
	}
	if err := n.raft.Shutdown().Error(); err != nil {
		c.t.Fatal(err)
	}
	n.raft = nil
	if err := n.store.Close(); err != nil {
		c.t.Fatal(err)
	}
}

// until repeats a check until it is true.
func until(t testing.TB, what string, check func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !check(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("no end of waiting: ", what)
		}
	}
}

func (c *cluster) leader() (leader *node) {
	c.t.Helper()
	until(c.t, "a leader", func() bool {
		for _, n := range c.nodes {
			if n.raft != nil && n.raft.State() == raft.Leader && n.raft.VerifyLeader().Error() == nil {
				leader = n
			}
		}
		return leader != nil
	})
	return leader
}

// follower returns a node that runs and is not the leader.
func (c *cluster) follower() *node {
	c.t.Helper()
	leader := c.leader()
	for _, n := range c.nodes {
		if n != leader && n.raft != nil {
			return n
		}
	}
	c.t.Fatal("no follower")
	return nil
}

// apply appends events until n are applied, and notes these in acked. Of the others, which were
// lost with a leader, some may come as well.
func (c *cluster) apply(n int) {
	c.t.Helper()
	for deadline := time.Now().Add(time.Minute); n > 0; {
		if time.Now().After(deadline) {
			c.t.Fatal("the cluster does not go on")
		}
		leader := c.leader()
		var futures []raft.ApplyFuture
		var data []string
		for range n {
			c.tried++
			data = append(data, fmt.Sprintf("%d %0500d", c.tried, c.tried))
			futures = append(futures, leader.raft.Apply([]byte(data[len(data)-1]), time.Second))
		}
		for i, f := range futures {
			if f.Error() != nil {
				continue
			}
			index := f.Index()
			if got := f.Response(); got != index {
				c.t.Fatalf("response %v of index %d", got, index)
			}
			c.acked[index], c.last = data[i], max(c.last, index)
			n--
		}
	}
}

// want checks that the node's stream comes to have all events that were acknowledged, from the
// first that it has, once each.
func (c *cluster) want(n *node) {
	c.t.Helper()
	until(c.t, fmt.Sprint(n.id, " applies ", c.last), func() bool { return n.fsm.Applied() >= c.last })
	first, left, seen := n.fsm.First(), 0, map[string]uint64{}
	for seq := range c.acked {
		if seq >= first {
			left++
		}
	}
	before := uint64(0)
	for e, err := range n.fsm.Events(0) {
		if err != nil {
			c.t.Fatalf("%s: %v", n.id, err)
		}
		if data, ok := c.acked[e.Index]; ok {
			if left--; data != string(e.Data) {
				c.t.Fatalf("%s: event %d is %.50q, want %.50q", n.id, e.Index, e.Data, data)
			}
		}
		if other, ok := seen[string(e.Data)]; ok || e.Index <= before {
			c.t.Fatalf("%s: event %d, %.50q, comes after %d and is %d, too", n.id, e.Index, e.Data, before, other)
		}
		seen[string(e.Data)], before = e.Index, e.Index
	}
	if left != 0 {
		c.t.Fatalf("%s: %d events are missing", n.id, left)
	}
}
