package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	raftbench "github.com/hashicorp/raft/bench"
)

// row is one thing that is measured.
type row struct {
	name   string
	rounds int // 0 for as many as asked for
	times  int // in a round, 0 for once
	skip   map[string]bool
	run    func(k kind, dir string) (metrics string, err error)
	all    func(dir string, order []kind) (metrics map[string]string, err error) // instead of run
}

func rows() (all []row) {
	for _, size := range []int{128, 1 << 10, 64 << 10} {
		for _, batch := range []int{1, 8, 64} {
			all = append(all, row{
				name: fmt.Sprintf("StoreLogs/batch=%d/size=%d", batch, size),
				all: func(dir string, order []kind) (map[string]string, error) {
					return storeLatency(dir, order, batch, size)
				},
			})
		}
	}
	for _, where := range []string{"first", "middle", "last"} {
		all = append(all, row{
			name: "GetLog/at=" + where,
			run:  func(k kind, dir string) (string, error) { return getLatency(k, dir, where) },
		})
	}
	for _, b := range []struct {
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
		all = append(all, row{
			name: "RaftBench/" + b.name,
			run:  func(k kind, dir string) (string, error) { return raftBench(k, dir, b.run) },
		})
	}
	for _, where := range []string{"front", "back"} {
		all = append(all, row{
			name: "DeleteRange/entries=1000000/at=" + where, rounds: 3,
			run: func(k kind, dir string) (string, error) { return deleteMillion(k, dir, where) },
		})
	}
	all = append(all,
		row{name: "Memory/entries=10000000", rounds: 1, skip: map[string]bool{"raft-boltdb": true, "raft-wal": true}, run: memory},
	)
	// The rate of one store differs by half from one time to the next.
	return append(all, row{name: "Cluster/goroutines=64/size=1024", times: 3, run: clusterRate})
}

// fromOne is a log for raft's StoreLog, which begins with index 0. Raft's logs begin with 1.
type fromOne struct{ raft.LogStore }

func (s fromOne) StoreLog(l *raft.Log) error {
	l.Index++
	return s.LogStore.StoreLog(l)
}

// entries are logs of batch entries, which next renumbers.
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
func fill(s raft.LogStore, n, batch, size int) error {
	logs := newEntries(batch, size)
	for at := 1; at <= n; at += batch {
		if err := s.StoreLogs(logs.from(uint64(at))); err != nil {
			return err
		}
	}
	return nil
}
