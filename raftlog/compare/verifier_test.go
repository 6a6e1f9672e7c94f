package compare

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"github.com/hashicorp/raft-wal/metrics"
	"github.com/hashicorp/raft-wal/verifier"

	"go.dw1.io/mmapfile/raftlog"
)

var soak = flag.Duration("soak", 5*time.Second, "how long raft-wal's verifier watches a cluster")

const checkpoint = "checkpoint"

// raft-wal's verifier compares what the leader has stored with what each node has stored, and
// reads back, while nodes take snapshots and are restarted.
func TestVerifier_Soak(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var verified, ranges atomic.Int64
	isCheckpoint := func(l *raft.Log) (bool, error) { return string(l.Data) == checkpoint, nil }
	var nodes [3]*raft.Raft
	var stores [3]*raftlog.Store
	var logs [3]*verifier.LogStore
	var transports [3]*raft.InmemTransport
	start := func(i int) {
		t.Helper()
		id := fmt.Sprint("node", i)
		s, err := raftlog.Open(filepath.Join(dir, id), raftlog.Options{SegmentSize: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		stores[i] = s
		logs[i] = verifier.NewLogStore(s, isCheckpoint, func(r verifier.VerificationReport) {
			switch {
			case r.Err == nil:
				verified.Add(int64(r.Range.End - r.Range.Start))
				ranges.Add(1)
			case r.Err == verifier.ErrRangeMismatch: // compacted meanwhile
			case errors.Is(r.Err, os.ErrClosed): // the verifier's Close does not wait for this
			default:
				t.Errorf("%s: %v", id, r.Err)
			}
		}, &metrics.NoOpCollector{})
		_, transports[i] = raft.NewInmemTransport(raft.ServerAddress(id))
		for k, tr := range transports {
			if k != i && tr != nil {
				transports[i].Connect(tr.LocalAddr(), tr)
				tr.Connect(transports[i].LocalAddr(), transports[i])
			}
		}
		conf := raft.DefaultConfig()
		conf.LocalID = raft.ServerID(id)
		conf.HeartbeatTimeout, conf.ElectionTimeout, conf.LeaderLeaseTimeout = 200*time.Millisecond, 200*time.Millisecond, 100*time.Millisecond
		conf.TrailingLogs = 2000
		conf.SnapshotThreshold, conf.SnapshotInterval = 500, time.Second
		conf.LogOutput = io.Discard
		if nodes[i], err = raft.NewRaft(conf, raftlog.NewFSM(s), logs[i], s, s.Snapshots(), transports[i]); err != nil {
			t.Fatal(err)
		}
	}
	stop := func(i int) {
		t.Helper()
		if err := nodes[i].Shutdown().Error(); err != nil {
			t.Fatal(err)
		}
		logs[i].Close() // and the store with it
	}
	servers := raft.Configuration{}
	for i := range nodes {
		start(i)
		servers.Servers = append(servers.Servers, raft.Server{
			ID: raft.ServerID(fmt.Sprint("node", i)), Address: raft.ServerAddress(fmt.Sprint("node", i)),
		})
	}
	defer func() {
		for i := range nodes {
			stop(i)
		}
	}()
	if err := nodes[0].BootstrapCluster(servers).Error(); err != nil {
		t.Fatal(err)
	}
	began, n := time.Now(), 0
	restart := time.Second
	for time.Since(began) < *soak || ranges.Load() == 0 {
		if time.Since(began) > *soak+time.Minute {
			t.Fatal("nothing was verified")
		}
		for _, r := range nodes {
			if r.State() != raft.Leader {
				continue
			}
			data := fmt.Append(nil, "event ", n)
			if n%200 == 199 {
				data = []byte(checkpoint)
			}
			if r.Apply(data, time.Second).Error() == nil { // not while leaders change
				n++
			}
		}
		if since := time.Since(began); since > restart {
			restart = since + time.Second
			stop(n % 3)
			start(n % 3)
		}
	}
	t.Logf("%d events, %d ranges with %d entries were verified", n, ranges.Load(), verified.Load())
}
