package wal

import (
	"math/rand"
	"testing"

	"github.com/hashicorp/raft"
)

// BenchmarkOurGetLog reads logs of 128 bytes at random, from segments of 1 MiB.
func BenchmarkOurGetLog(b *testing.B) {
	const logs = 100_000
	w, err := Open(b.TempDir(), WithSegmentSize(1<<20))
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	for i := 1; i <= logs; i += 1000 {
		var batch []*raft.Log
		for j := range 1000 {
			batch = append(batch, &raft.Log{Index: uint64(i + j), Data: make([]byte, 128)})
		}
		if err := w.StoreLogs(batch); err != nil {
			b.Fatal(err)
		}
	}
	random := rand.New(rand.NewSource(1))
	for b.Loop() {
		var log raft.Log
		if err := w.GetLog(uint64(1+random.Intn(logs)), &log); err != nil {
			b.Fatal(err)
		}
	}
}
