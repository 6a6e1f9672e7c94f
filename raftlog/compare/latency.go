package main

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

// percentiles are in the units of Go's benchmarks.
func percentiles(times []time.Duration) string {
	slices.Sort(times)
	at := func(p float64) int64 { return times[int(p*float64(len(times)-1))].Nanoseconds() }
	return fmt.Sprintf("%d p50-ns %d p99-ns %d p999-ns", at(0.5), at(0.99), at(0.999))
}

// storeLatency measures single calls of StoreLogs. The stores take turns of some calls, for
// whatever else the machine does to be shared by all.
func storeLatency(dir string, order []kind, batch, size int) (map[string]string, error) {
	const turn = 20
	n := max(min(2000, (128<<20)/(batch*size)), 2*turn)
	logs := newEntries(batch, size)
	all := make([]logStore, len(order))
	for i, k := range order {
		s, err := k.open(filepath.Join(dir, k.name))
		if err != nil {
			return nil, err
		}
		defer s.Close()
		all[i] = s
	}
	times := make([][]time.Duration, len(order))
	for at := 0; at < n+n/10; at += turn {
		for k, s := range all {
			for i := range turn {
				next := logs.from(uint64(1 + (at+i)*batch))
				began := time.Now()
				if err := s.StoreLogs(next); err != nil {
					return nil, err
				}
				// The first turns warm up, and so does the first call of each.
				if at >= n/10 && i > 0 {
					times[k] = append(times[k], time.Since(began))
				}
			}
		}
	}
	metrics := map[string]string{}
	for i, k := range order {
		metrics[k.name] = percentiles(times[i])
	}
	return metrics, nil
}

// getLatency measures GetLog of entries near one place.
func getLatency(k kind, dir, where string) (string, error) {
	s, err := k.open(dir)
	if err != nil {
		return "", err
	}
	defer s.Close()
	const n, near = 100_000, 1000
	if err := fill(s, n, 100, 1<<10); err != nil {
		return "", err
	}
	first := map[string]uint64{"first": 1, "middle": n / 2, "last": n - near + 1}[where]
	l := new(raft.Log)
	for i := range uint64(near) {
		if err := s.GetLog(first+i, l); err != nil {
			return "", err
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	result := testing.Benchmark(func(b *testing.B) {
		for b.Loop() {
			if err = s.GetLog(first+r.Uint64N(near), l); err != nil {
				b.FailNow()
			}
		}
	})
	return fmt.Sprintf("%.1f ns/op", nanoseconds(result)), err
}

func nanoseconds(r testing.BenchmarkResult) float64 {
	return float64(r.T.Nanoseconds()) / float64(max(r.N, 1))
}

// raftBench runs one of raft's own benchmarks.
func raftBench(k kind, dir string, run func(*testing.B, logStore)) (string, error) {
	var err error
	n := 0
	result := testing.Benchmark(func(b *testing.B) {
		n++
		var s logStore
		if s, err = k.open(fmt.Sprint(dir, "/", n)); err != nil {
			b.FailNow()
		}
		defer s.Close()
		b.ResetTimer()
		run(b, s)
		b.StopTimer()
	})
	if err == nil && result.N == 0 {
		err = fmt.Errorf("benchmark failed")
	}
	return fmt.Sprintf("%.1f ns/op", nanoseconds(result)), err
}

// deleteMillion measures one DeleteRange of a million entries.
func deleteMillion(k kind, dir, where string) (string, error) {
	s, err := k.open(dir)
	if err != nil {
		return "", err
	}
	defer s.Close()
	const n = 1_000_000
	if err := fill(s, n+1000, 1000, 16); err != nil {
		return "", err
	}
	first := map[string]uint64{"front": 1, "back": 1001}[where]
	began := time.Now()
	if err := s.DeleteRange(first, first+n-1); err != nil {
		return "", err
	}
	return fmt.Sprintf("%d ns/op", time.Since(began).Nanoseconds()), nil
}

// memory measures the heap of an open store with ten million entries, of which some were read,
// and the time to open it.
func memory(k kind, dir string) (string, error) {
	s, err := k.open(dir)
	if err != nil {
		return "", err
	}
	const n = 10_000_000
	err = fill(s, n, 20_000, 16)
	written := heap()
	if cerr := s.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return "", err
	}
	s = nil
	before := heap()
	began := time.Now()
	if s, err = k.open(dir); err != nil {
		return "", err
	}
	defer s.Close()
	opened := time.Since(began)
	for i := uint64(1); i <= n; i += 1000 {
		if err := s.GetLog(i, new(raft.Log)); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%d open-ns %d written-bytes %d read-bytes", opened.Nanoseconds(),
		max(written-before, 0), max(heap()-before, 0)), nil
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
