package compare

import (
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"go.dw1.io/mmapfile/raftlog"
)

// cluster measures what three nodes, on TCP and on one disk, take for an event while 64 goroutines apply. The state
// machine of raftlog is its log. With the others it does nothing.
func cluster(b *testing.B, open opener) {
	const goroutines, lasts = 64, 3 * time.Second // longer than any benchmark time, so that it runs once
	var nodes []*raft.Raft
	var conf raft.Configuration
	for i := range 3 {
		s := open(b)
		trans, err := raft.NewTCPTransport("127.0.0.1:0", nil, 3, 10*time.Second, io.Discard)
		if err != nil {
			b.Fatal(err)
		}
		c := raft.DefaultConfig()
		c.LocalID, c.LogOutput = raft.ServerID(fmt.Sprint("node", i)), io.Discard
		fsm, snapshots := raft.FSM(none{}), raft.SnapshotStore(raft.NewInmemSnapshotStore())
		if s, ok := s.(*raftlog.Store); ok {
			fsm, snapshots = raftlog.NewFSM(s), s.Snapshots()
		}
		r, err := raft.NewRaft(c, fsm, s, s, snapshots, trans)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { r.Shutdown().Error() })
		nodes = append(nodes, r)
		conf.Servers = append(conf.Servers, raft.Server{ID: c.LocalID, Address: trans.LocalAddr()})
	}
	if err := nodes[0].BootstrapCluster(conf).Error(); err != nil {
		b.Fatal(err)
	}
	leader := leaderOf(nodes)
	if leader == nil {
		b.Fatal("no node leads")
	}
	var group sync.WaitGroup
	var counts [goroutines]int
	var failed [goroutines]error
	began := time.Now()
	for i := range goroutines {
		group.Go(func() {
			for data := make([]byte, 1024); time.Since(began) < lasts && failed[i] == nil; counts[i]++ {
				failed[i] = leader.Apply(data, time.Minute).Error()
			}
		})
	}
	group.Wait()
	events := 0
	for i, err := range failed {
		if err != nil {
			b.Fatal(err)
		}
		events += counts[i]
	}
	b.ReportMetric(float64(time.Since(began).Nanoseconds())/float64(events), "ns/op")
}

func leaderOf(nodes []*raft.Raft) *raft.Raft {
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		for _, r := range nodes {
			if r.State() == raft.Leader && r.VerifyLeader().Error() == nil {
				return r
			}
		}
	}
	return nil
}

// none is a state machine without a state.
type none struct{}

func (none) Apply(*raft.Log) any                 { return nil }
func (none) Snapshot() (raft.FSMSnapshot, error) { return none{}, nil }
func (none) Restore(r io.ReadCloser) error       { return r.Close() }
func (none) Persist(k raft.SnapshotSink) error   { return k.Close() }
func (none) Release()                            {}
