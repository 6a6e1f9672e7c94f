package raftlog_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/hashicorp/raft"
)

var fulls = flag.Int("raftlog.fulls", 3, "how often a disk is full")

// errorCounter counts the calls of StoreLogs that fail.
type errorCounter struct {
	raft.LogStore
	n *atomic.Int64
}

func (c errorCounter) IsMonotonic() bool { return true }

func (c errorCounter) StoreLogs(logs []*raft.Log) error {
	err := c.LogStore.StoreLogs(logs)
	if errors.Is(err, syscall.ENOSPC) {
		c.n.Add(1)
	}
	return err
}

// The disk of one node is full for a while, be it the leader or not, and the node is started
// again meanwhile. The cluster goes on, and loses nothing.
func TestCluster_DiskFull(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1000)
	full := c.nodes[1]
	mountSmall(t, full.dir)
	failed := new(atomic.Int64)
	c.wrap = func(n *node) raft.LogStore {
		if n == full {
			return errorCounter{n.store, failed}
		}
		return n.store
	}
	c.bootstrap()
	for round := range *fulls {
		c.apply(50)
		if round%3 == 1 { // the leader's disk
			c.leader().raft.LeadershipTransferToServer(raft.ServerID(full.id), raft.ServerAddress(full.id)).Error()
		}
		filler := fill(t, full.dir)
		before := failed.Load()
		for range 20 {
			c.apply(50)
			if failed.Load() > before {
				break
			}
		}
		if round%2 == 1 {
			c.stop(full)
			c.start(full)
			c.apply(50)
		}
		if err := os.Remove(filler); err != nil {
			t.Fatal(err)
		}
		c.apply(50)
		for _, n := range c.nodes {
			c.want(n)
			// The log is compacted by that.
			if err := n.raft.Snapshot().Error(); err != nil && !errors.Is(err, raft.ErrNothingNewToSnapshot) {
				t.Fatal(err)
			}
		}
	}
	t.Logf("%d events; %d calls failed", len(c.acked), failed.Load())
	if failed.Load() == 0 {
		t.Error("no call has met a full disk")
	}
}

// mountSmall makes dir a small file system.
func mountSmall(t *testing.T, dir string) {
	t.Helper()
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=8m"); err != nil {
		t.Skip("cannot mount: ", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}

// fill writes a file until the disk is full.
func fill(t *testing.T, dir string) (name string) {
	t.Helper()
	name = filepath.Join(dir, "filler")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for size := 1 << 20; size > 0; {
		if _, err = f.Write(make([]byte, size)); errors.Is(err, syscall.ENOSPC) {
			size /= 2
		} else if err != nil {
			t.Fatal(err)
		}
	}
	return name
}

// A disk that the log has filled is freed by a snapshot, again and again.
func TestSnapshots_DiskFull(t *testing.T) {
	t.Parallel()
	mount := filepath.Join(t.TempDir(), "mount")
	mountSmall(t, mount)
	s := open(t, filepath.Join(mount, "node"), small)
	next := uint64(1)
	for range 3 {
		var err error
		for err == nil {
			if err = s.StoreLogs(newLogs(next, 50)); err == nil {
				next += 50
			}
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
		filler := fill(t, mount)
		take(t, s, next-1)
		if err := os.Remove(filler); err != nil {
			t.Fatal(err)
		}
		first, err := s.FirstIndex()
		if err == nil {
			err = s.DeleteRange(first, next-50)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
