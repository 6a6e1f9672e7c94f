package compare

import (
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	boltdb "github.com/hashicorp/raft-boltdb/v2"
	wal "github.com/hashicorp/raft-wal"
	raftbench "github.com/hashicorp/raft/bench"

	"go.dw1.io/mmapfile/raftlog"
)

// logStore is what all of them are.
type logStore interface {
	raft.LogStore
	raft.StableStore
	io.Closer
}

// impls are all with their defaults: durable when StoreLogs returns.
var impls = []struct {
	name string
	open func(dir string) (logStore, error)
}{
	{"raftlog", func(dir string) (logStore, error) { return raftlog.Open(dir, raftlog.Options{}) }},
	{"raft-wal", func(dir string) (logStore, error) { return wal.Open(dir, wal.WithLogger(hclog.NewNullLogger())) }},
	{"raft-boltdb", func(dir string) (logStore, error) { return boltdb.NewBoltStore(filepath.Join(dir, "raft.db")) }},
}

var turn = flag.Int("turn", 0, "`number` of the store that is the first one in each row")

// opener opens a store of one kind in a new directory, and closes it at the end of the benchmark.
type opener func(b *testing.B) logStore

// each runs a row with each store.
func each(b *testing.B, row string, fn func(b *testing.B, open opener)) {
	for i := range impls {
		impl := impls[(i+*turn)%len(impls)]
		b.Run(row+"/impl="+impl.name, func(b *testing.B) {
			fn(b, func(b *testing.B) logStore {
				dir, err := os.MkdirTemp(os.Getenv("BENCH_DIR"), "raftlog-bench-")
				if err != nil {
					b.Fatal(err)
				}
				b.Cleanup(func() { os.RemoveAll(dir) })
				s, err := impl.open(dir)
				if err != nil {
					b.Fatal(err)
				}
				b.Cleanup(func() { s.Close() })
				return s
			})
		})
	}
}

func BenchmarkRaft(b *testing.B) {
	for _, size := range []int{128, 1 << 10, 64 << 10} {
		for _, batch := range []int{1, 8, 64} {
			each(b, fmt.Sprintf("StoreLogs/batch=%d/size=%d", batch, size), func(b *testing.B, open opener) { storeLogs(b, open(b), batch, size) })
		}
	}
	for _, where := range []string{"first", "middle", "last"} {
		each(b, "GetLog/at="+where, func(b *testing.B, open opener) { getLog(b, open(b), where) })
	}
	for _, own := range []struct { // raft's own
		name string
		run  func(*testing.B, logStore)
	}{
		{"FirstIndex", func(b *testing.B, s logStore) { raftbench.FirstIndex(b, s) }},
		{"LastIndex", func(b *testing.B, s logStore) { raftbench.LastIndex(b, s) }},
		{"GetLog", func(b *testing.B, s logStore) { raftbench.GetLog(b, s) }},
		{"StoreLog", func(b *testing.B, s logStore) { raftbench.StoreLog(b, fromOne{s}) }},
		{"StoreLogs", func(b *testing.B, s logStore) { raftbench.StoreLogs(b, s) }},
		{"Set", func(b *testing.B, s logStore) { raftbench.Set(b, s) }},
		{"Get", func(b *testing.B, s logStore) { raftbench.Get(b, s) }},
		{"SetUint64", func(b *testing.B, s logStore) { raftbench.SetUint64(b, s) }},
		{"GetUint64", func(b *testing.B, s logStore) { raftbench.GetUint64(b, s) }},
	} {
		each(b, "RaftBench/"+own.name, func(b *testing.B, open opener) {
			s := open(b)
			b.ResetTimer()
			own.run(b, s)
		})
	}
	for _, where := range []string{"front", "back"} {
		each(b, "DeleteRange/entries=1000000/at="+where, func(b *testing.B, open opener) { deleteMillion(b, open(b), where) })
	}
	each(b, "Cluster/goroutines=64/size=1024", cluster)
}

// storeLogs measures single calls, and what the slower ones take. The first ones warm up.
func storeLogs(b *testing.B, s logStore, batch, size int) {
	logs, next := newEntries(batch, size), uint64(1)
	store := func() {
		if err := s.StoreLogs(logs.from(next)); err != nil {
			b.Fatal(err)
		}
		next += uint64(batch)
	}
	for range 4 {
		store()
	}
	var times []time.Duration
	for b.Loop() {
		began := time.Now()
		store()
		times = append(times, time.Since(began))
	}
	slices.Sort(times)
	for _, percent := range []int{50, 99} {
		b.ReportMetric(float64(times[(len(times)-1)*percent/100].Nanoseconds()), fmt.Sprintf("p%d-ns", percent))
	}
}

// getLog measures GetLog of entries near one place.
func getLog(b *testing.B, s logStore, where string) {
	const n, near = 100_000, 1000
	fill(b, s, n, 100, 1<<10)
	first := map[string]uint64{"first": 1, "middle": n / 2, "last": n - near + 1}[where]
	l, r := new(raft.Log), rand.New(rand.NewPCG(1, 2))
	for i := range uint64(near) {
		if err := s.GetLog(first+i, l); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if err := s.GetLog(first+r.Uint64N(near), l); err != nil {
			b.Fatal(err)
		}
	}
}

// deleteMillion measures one DeleteRange of a million entries. Filling the store takes longer than any benchmark time,
// so it runs once.
func deleteMillion(b *testing.B, s logStore, where string) {
	const n = 1_000_000
	fill(b, s, n+1000, 1000, 16)
	first := map[string]uint64{"front": 1, "back": 1001}[where]
	began := time.Now()
	if err := s.DeleteRange(first, first+n-1); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(time.Since(began).Nanoseconds()), "ns/op")
}

// fromOne is a log for raft's StoreLog, which begins with index 0. Raft's logs begin with 1.
type fromOne struct{ raft.LogStore }

func (s fromOne) StoreLog(l *raft.Log) error {
	l.Index++
	return s.LogStore.StoreLog(l)
}

// entries are logs of batch entries, which from renumbers.
type entries []*raft.Log

func newEntries(batch, size int) (logs entries) {
	data := []byte(strings.Repeat("x", size))
	for range batch {
		logs = append(logs, &raft.Log{Term: 1, Data: data, AppendedAt: time.Now()})
	}
	return logs
}

// from gives the entries the indexes from first on.
func (logs entries) from(first uint64) []*raft.Log {
	for i, l := range logs {
		l.Index = first + uint64(i)
	}
	return logs
}

// fill stores n entries in batches.
func fill(b *testing.B, s raft.LogStore, n, batch, size int) {
	logs := newEntries(batch, size)
	for at := 1; at <= n; at += batch {
		if err := s.StoreLogs(logs.from(uint64(at))); err != nil {
			b.Fatal(err)
		}
	}
}
