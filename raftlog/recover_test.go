package raftlog_test

import (
	"fmt"
	"io"
	"testing"

	"github.com/hashicorp/raft"

	"go.dw1.io/mmapfile/raftlog"
)

// recoverCluster makes node n the only member of the cluster, as an operator does who has lost
// the others.
func recoverCluster(t testing.TB, n *node) {
	t.Helper()
	s := open(t, n.dir, small)
	conf := raft.DefaultConfig()
	conf.LocalID, conf.LogOutput = raft.ServerID(n.id), io.Discard
	_, trans := raft.NewInmemTransport(raft.ServerAddress(n.id))
	only := raft.Configuration{Servers: []raft.Server{{ID: raft.ServerID(n.id), Address: raft.ServerAddress(n.id)}}}
	if err := raft.RecoverCluster(conf, raftlog.NewFSM(s), s, s, s.Snapshots(), trans, only); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// raft.RecoverCluster deletes the whole log, all of which is in the snapshot that it takes. The
// events stay.
func TestCluster_Recovered(t *testing.T) {
	t.Parallel()
	for _, snapshot := range []bool{false, true} {
		t.Run(fmt.Sprint("snapshot ", snapshot), func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, 1000)
			c.bootstrap()
			c.apply(100)
			if snapshot {
				for _, n := range c.nodes {
					c.want(n)
					if err := n.raft.Snapshot().Error(); err != nil {
						t.Fatal(err)
					}
				}
				c.apply(20)
			}
			for _, n := range c.nodes {
				c.want(n)
			}
			for _, n := range c.nodes {
				c.stop(n)
			}
			n := c.nodes[0]
			for range 2 {
				recoverCluster(t, n)
				c.start(n)
				c.apply(10)
				c.want(n)
				if first := n.fsm.First(); first != 1 {
					t.Fatal("events before ", first, " are lost")
				}
				c.stop(n)
			}
			// Another node gets them all.
			c.start(n)
			c.apply(1)
			other := c.nodes[1]
			other.dir = t.TempDir()
			c.start(other)
			if err := n.raft.AddVoter(raft.ServerID(other.id), raft.ServerAddress(other.id), 0, 0).Error(); err != nil {
				t.Fatal(err)
			}
			c.want(other)
			if first := other.fsm.First(); first != 1 {
				t.Fatal("the other node lacks the events before ", first)
			}
		})
	}
}
