package raftlog_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
	must(t, raft.RecoverCluster(conf, raftlog.NewFSM(s), s, s, s.Snapshots(), trans, only))
	must(t, s.Close())
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
					must(t, n.raft.Snapshot().Error())
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
			must(t, n.raft.AddVoter(raft.ServerID(other.id), raft.ServerAddress(other.id), 0, 0).Error())
			c.want(other)
			if first := other.fsm.First(); first != 1 {
				t.Fatal("the other node lacks the events before ", first)
			}
		})
	}
}

// A log that is lost is noticed, also by a second Open: the node would be a leader without the
// events that it has voted for.
func TestOpen_LostLog(t *testing.T) {
	t.Parallel()
	for _, lost := range []string{"all", "all after a snapshot", "the end", "nothing"} {
		dir := t.TempDir()
		s := open(t, dir, small)
		store(t, s, newLogs(1, 1000)...)
		must(t, s.SetUint64([]byte("CurrentTerm"), 3))
		if lost != "all" {
			take(t, s, 1000)
		}
		must(t, s.Close())
		switch segments, _ := filepath.Glob(filepath.Join(dir, "log", "*.log")); lost {
		case "the end":
			must(t, os.Remove(segments[len(segments)-1]))
		case "nothing":
		default:
			must(t, os.RemoveAll(filepath.Join(dir, "log")))
		}
		for range 2 {
			s, err := raftlog.Open(dir, small)
			if (err == nil) != (lost == "nothing") {
				t.Errorf("%s is lost: %v", lost, err)
			}
			if err == nil {
				s.Close()
			}
		}
	}
}

// A segment that is lost before the last is noticed as well, and by its number. Once it is back,
// nothing is lost.
func TestOpen_LostSegment(t *testing.T) {
	t.Parallel()
	for _, killed := range []bool{false, true} {
		for _, at := range []int{0, 1, -3, -2} { // negative: from the end
			for _, snapshot := range []uint64{0, 10, 900} {
				dir := t.TempDir()
				s := open(t, dir, small)
				logs := newLogs(1, 2000)
				for i := range 40 {
					store(t, s, logs[i*50:i*50+50]...)
				}
				if snapshot > 0 {
					take(t, s, snapshot)
				}
				begin, err := filepath.Glob(filepath.Join(dir, "log", "00000000000000000000.log"))
				for ; len(begin) > 0; begin, err = filepath.Glob(begin[0]) {
					time.Sleep(time.Millisecond) // the stream removes it in the background
				}
				must(t, err)
				if killed { // so that the last segment is not closed
					image := t.TempDir()
					must(t, os.CopyFS(image, os.DirFS(dir)))
					dir = image
				}
				must(t, s.Close())
				if killed && at == -2 {
					continue // a crash may leave that
				}
				segments, _ := filepath.Glob(filepath.Join(dir, "log", "*.log"))
				name := segments[(at+len(segments))%len(segments)]
				hidden := name + ".hidden"
				must(t, os.Rename(name, hidden))
				var first int
				fmt.Sscanf(filepath.Base(name), "%d", &first)
				for range 2 {
					if s, err := raftlog.Open(dir, small); err == nil {
						s.Close()
						t.Errorf("segment %d of %d is lost, killed %v, snapshot %d: no error", at, len(segments), killed, snapshot)
					} else if !strings.Contains(err.Error(), fmt.Sprint(" ", first, " to ")) {
						t.Errorf("segment of %d is lost: %v", first, err)
					}
				}
				must(t, os.Rename(hidden, name))
				wantLogs(t, open(t, dir, small), logs...)
			}
		}
	}
}

// Without meta the stream begins with its first segment. The snapshot tells that one is lost.
func TestOpen_LostBegin(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, small)
	for i := range uint64(20) {
		store(t, s, newLogs(1+i*50, 50)...)
	}
	take(t, s, 10)
	must(t, s.Close())
	segments, _ := filepath.Glob(filepath.Join(dir, "log", "*.log"))
	for _, name := range []string{segments[0], filepath.Join(dir, "log", "meta")} {
		must(t, os.Remove(name))
	}
	for range 2 {
		if s, err := raftlog.Open(dir, small); err == nil || !strings.Contains(err.Error(), " 11 to ") {
			t.Error(err)
			if err == nil {
				s.Close()
			}
		}
	}
}

// The leader may send an older snapshot than the node has: the stream ends with that.
func TestSnapshots_OlderSent(t *testing.T) {
	t.Parallel()
	from := open(t, t.TempDir(), small)
	logs := newLogs(1, 100)
	store(t, from, logs...)
	sent := take(t, from, 90)
	dir := t.TempDir()
	to := open(t, dir, small)
	store(t, to, logs...)
	take(t, to, 95)
	take(t, to, 100)
	_, r, err := to.Snapshots().Open(receive(t, to, 90, sent))
	must(t, err)
	must(t, raftlog.NewFSM(to).Restore(r))
	to = reopen(t, to, dir, small)
	if list, err := to.Snapshots().List(); err != nil || len(list) != 1 || list[0].Index != 90 {
		t.Error(list, err)
	}
	wantEvents(t, to, logs[:90])
}

// If only some of the newer snapshots are removed when an older one is sent, the newest is left:
// the log begins after it.
func TestSnapshots_OlderSentInPart(t *testing.T) {
	t.Parallel()
	from := open(t, t.TempDir(), small)
	logs := newLogs(1, 101)
	store(t, from, logs[:100]...)
	sent := take(t, from, 90)
	dir := t.TempDir()
	to := open(t, dir, small)
	store(t, to, logs[:100]...)
	take(t, to, 95)
	list, err := to.Snapshots().List()
	must(t, err)
	take(t, to, 100)
	must(t, to.DeleteRange(1, 100))
	inTheWay := filepath.Join(dir, "snapshots", list[0].ID+".tmp")
	must(t, os.MkdirAll(filepath.Join(inTheWay, "full"), 0o777))
	k := create(t, to, 90)
	must(t, errOf(k.Write(sent)))
	if err := k.Close(); err == nil {
		t.Fatal("no error")
	}
	to = reopen(t, to, dir, small)
	if list, err := to.Snapshots().List(); err != nil || list[0].Index != 100 {
		t.Error(list, err)
	}
	store(t, to, logs[100])
	wantLogs(t, to, logs[100])
}
