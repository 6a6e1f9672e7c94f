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

	"go.dw1.io/mmapfile/internal/filetest"
	"go.dw1.io/mmapfile/raftlog"
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
	full.dir = filetest.Tmpfs(t, "8m")
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
		must(t, os.Remove(filler))
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

// fill writes a file until the disk is full.
func fill(t *testing.T, dir string) (name string) {
	t.Helper()
	name = filepath.Join(dir, "filler")
	filetest.FillDisk(t, name)
	return name
}

// A disk that the log has filled is freed by a snapshot, again and again.
func TestSnapshots_DiskFull(t *testing.T) {
	mount := filetest.Tmpfs(t, "8m")
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
		must(t, os.Remove(filler))
		first, err := s.FirstIndex()
		if err == nil {
			err = s.DeleteRange(first, next-50)
		}
		must(t, err)
	}
}

// A restore that has met a full disk is completed by the same process once there is room, and
// by the next one. Meanwhile the node can be started.
func TestRestore_DiskFull(t *testing.T) {
	from := open(t, t.TempDir(), small)
	logs := newLogs(1, 12000)
	store(t, from, logs...)
	sent := take(t, from, 12000)

	for _, again := range []string{"sent", "opened", "dropped"} {
		t.Run(again, func(t *testing.T) {
			mount := filetest.Tmpfs(t, "8m")
			dir := filepath.Join(mount, "node")
			s := open(t, dir, small)
			filler := filepath.Join(mount, "filler")
			must(t, os.WriteFile(filler, make([]byte, 9<<19), 0o666))
			id := receive(t, s, 12000, sent)
			fsm := raftlog.NewFSM(s)
			if err := restore(t, s, fsm, id); !errors.Is(err, syscall.ENOSPC) {
				t.Fatal(err)
			}
			segments, _ := filepath.Glob(filepath.Join(dir, "log", "*.log"))
			for _, name := range segments {
				if fi, err := os.Stat(name); err != nil || fi.Size() > 256<<10 {
					t.Errorf("a part of the events takes space: %v, %v", fi, err)
				}
			}
			if _, err := fsm.Snapshot(); err == nil {
				t.Error("a snapshot of what was restored in part")
			}
			switch again {
			case "sent":
				id = receive(t, s, 12000, sent) // instead of the first, which leaves no room
			case "dropped": // there is no room for a part of it
				k := create(t, s, 12001)
				must(t, errOf(k.Write(sent[:1000])))
				must(t, k.Cancel())
			}
			if again != "sent" {
				s = reopen(t, s, dir, small)
				list, err := s.Snapshots().List()
				if err != nil || len(list) != 1 || list[0].Index != 12000 {
					t.Fatal(list, err)
				}
				fsm = raftlog.NewFSM(s)
				must(t, restore(t, s, fsm, list[0].ID)) // as NewRaft does
				wantLogs(t, s)
				if applied := fsm.Applied(); applied != 0 {
					t.Errorf("events up to %d", applied)
				}
				if err := s.StoreLog(newLog(12001)); err == nil {
					t.Error("the log goes on")
				}
			}
			must(t, os.Remove(filler))
			switch again {
			case "opened":
				s = reopen(t, s, dir, small)
			case "dropped":
				id = receive(t, s, 12000, sent)
				fallthrough
			case "sent":
				must(t, restore(t, s, fsm, id))
			}
			wantEvents(t, s, logs)
			wantEvents(t, reopen(t, s, dir, small), logs)
		})
	}
}

// A restore takes the space of the log that it replaces.
func TestRestore_DiskFullOfLog(t *testing.T) {
	from := open(t, t.TempDir(), small)
	logs := newLogs(5000, 100)
	store(t, from, logs...)
	sent := take(t, from, 5099)
	mount := filetest.Tmpfs(t, "8m")
	dir := filepath.Join(mount, "node")
	s := open(t, dir, small)
	store(t, s, newLogs(1, 1000)...)
	s = reopen(t, s, dir, small) // no segment has more blocks than its entries need
	id := receive(t, s, 5099, sent)
	fill(t, mount)
	// The space is released in the background.
	if err := restore(t, s, raftlog.NewFSM(s), id); err != nil && !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	wantEvents(t, reopen(t, s, dir, small), logs)
}
