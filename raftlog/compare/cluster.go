package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"go.dw1.io/mmapfile/raftlog"
)

// clusterRate measures what a cluster of three nodes, on TCP and on one disk, appends in a second.
// The state machine of raftlog is its log. With the others it does nothing.
func clusterRate(k kind, dir string) (string, error) {
	c := &cluster{}
	defer c.close()
	for i := range 3 {
		if err := c.add(k, filepath.Join(dir, fmt.Sprint("node", i))); err != nil {
			return "", err
		}
	}
	if err := c.nodes[0].BootstrapCluster(raft.Configuration{Servers: c.servers}).Error(); err != nil {
		return "", err
	}
	leader, err := c.leader()
	if err != nil {
		return "", err
	}
	const goroutines, lasts = 64, 3 * time.Second
	var appended atomic.Int64
	var failed atomic.Pointer[error]
	var group sync.WaitGroup
	began := time.Now()
	for range goroutines {
		group.Go(func() {
			data := make([]byte, 1024)
			for time.Since(began) < lasts {
				if err := leader.Apply(data, time.Minute).Error(); err != nil {
					failed.Store(&err)
					return
				}
				appended.Add(1)
			}
		})
	}
	group.Wait()
	if err := failed.Load(); err != nil {
		return "", *err
	}
	return fmt.Sprintf("%.0f events/s", float64(appended.Load())/time.Since(began).Seconds()), nil
}

type cluster struct {
	nodes   []*raft.Raft
	servers []raft.Server
	stores  []logStore
}

func (c *cluster) add(k kind, dir string) error {
	s, err := k.open(dir)
	if err != nil {
		return err
	}
	c.stores = append(c.stores, s)
	trans, err := raft.NewTCPTransport("127.0.0.1:0", nil, 3, 10*time.Second, io.Discard)
	if err != nil {
		return err
	}
	conf := raft.DefaultConfig()
	conf.LocalID = raft.ServerID(dir)
	conf.LogOutput = io.Discard
	fsm, snapshots := raft.FSM(none{}), raft.SnapshotStore(raft.NewInmemSnapshotStore())
	if s, ok := s.(*raftlog.Store); ok {
		fsm, snapshots = raftlog.NewFSM(s), s.Snapshots()
	}
	r, err := raft.NewRaft(conf, fsm, s, s, snapshots, trans)
	if err != nil {
		return err
	}
	c.nodes = append(c.nodes, r)
	c.servers = append(c.servers, raft.Server{ID: conf.LocalID, Address: trans.LocalAddr()})
	return nil
}

func (c *cluster) leader() (*raft.Raft, error) {
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		for _, r := range c.nodes {
			if r.State() == raft.Leader && r.VerifyLeader().Error() == nil {
				return r, nil
			}
		}
	}
	return nil, os.ErrDeadlineExceeded
}

func (c *cluster) close() {
	for _, r := range c.nodes {
		r.Shutdown().Error()
	}
	for _, s := range c.stores {
		s.Close()
	}
}

// none is a state machine without a state.
type none struct{}

func (none) Apply(*raft.Log) any                 { return nil }
func (none) Snapshot() (raft.FSMSnapshot, error) { return none{}, nil }
func (none) Restore(r io.ReadCloser) error       { return r.Close() }
func (none) Persist(k raft.SnapshotSink) error   { return k.Close() }
func (none) Release()                            {}
