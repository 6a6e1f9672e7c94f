package raftlog_test

import (
	"testing"

	"github.com/hashicorp/raft"
	raftbench "github.com/hashicorp/raft/bench"

	"go.dw1.io/mmapfile/raftlog"
)

// BenchmarkRaft is raft's own benchmark, but for DeleteRange, which needs gaps between indexes.
func BenchmarkRaft(b *testing.B) {
	for name, run := range map[string]func(*testing.B, *raftlog.Store){
		"FirstIndex": func(b *testing.B, s *raftlog.Store) { raftbench.FirstIndex(b, s) },
		"LastIndex":  func(b *testing.B, s *raftlog.Store) { raftbench.LastIndex(b, s) },
		"GetLog":     func(b *testing.B, s *raftlog.Store) { raftbench.GetLog(b, s) },
		"StoreLog":   func(b *testing.B, s *raftlog.Store) { raftbench.StoreLog(b, fromOne{s}) },
		"StoreLogs":  func(b *testing.B, s *raftlog.Store) { raftbench.StoreLogs(b, s) },
		"Set":        func(b *testing.B, s *raftlog.Store) { raftbench.Set(b, s) },
		"Get":        func(b *testing.B, s *raftlog.Store) { raftbench.Get(b, s) },
		"SetUint64":  func(b *testing.B, s *raftlog.Store) { raftbench.SetUint64(b, s) },
		"GetUint64":  func(b *testing.B, s *raftlog.Store) { raftbench.GetUint64(b, s) },
	} {
		b.Run(name, func(b *testing.B) { run(b, open(b, b.TempDir(), raftlog.Options{})) })
	}
}

// fromOne is a log for raft's StoreLog, which begins with index 0. Raft's logs begin with 1.
type fromOne struct{ raft.LogStore }

func (s fromOne) StoreLog(l *raft.Log) error {
	l.Index++
	return s.LogStore.StoreLog(l)
}
