package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"time"
)

// benchmarks runs p's own benchmarks in both copies, in turn.
func (u *upstream) benchmarks(ctx context.Context, p *project, base, changed string) ([]benchmark, error) {
	ctx, cancel := context.WithTimeout(ctx, u.limit)
	defer cancel()
	sides := []*side{{dir: base}, {dir: changed}}
	for i, s := range sides {
		s.program = filepath.Join(u.dir, fmt.Sprintf("bench%d.exe", i))
		if p.ours != "" {
			b, err := os.ReadFile(filepath.Join(u.root, "migrate", "upstream", "testdata", p.ours))
			if err != nil {
				return nil, err
			}
			if err := os.WriteFile(filepath.Join(s.dir, filepath.FromSlash(p.benchPackage), "our_bench_test.go"), b, 0o644); err != nil {
				return nil, err
			}
		}
		if _, err := runIn(s.dir, "go", "test", "-c", "-vet=off", "-o", s.program, p.benchPackage); err != nil {
			return nil, err
		}
	}
	all := map[string]*benchmark{}
	for round := range u.rounds {
		for i := range sides {
			at := (i + round) % 2 // each side begins every other round
			results, err := u.benchmark(ctx, p, sides[at])
			if err != nil {
				return nil, err
			}
			for name, ns := range results {
				b := all[name]
				if b == nil {
					b = &benchmark{Name: name}
					all[name] = b
				}
				if at == 0 {
					b.OS = append(b.OS, ns)
				} else {
					b.File = append(b.File, ns)
				}
			}
		}
		u.progress(p, "round %d of %d of the benchmarks", round+1, u.rounds)
	}
	var list []benchmark
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if b := all[name]; len(b.OS) != u.rounds || len(b.File) != u.rounds {
			return nil, fmt.Errorf("%s ran %d times on os.File and %d times on File", name, len(b.OS), len(b.File))
		}
		list = append(list, *all[name])
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("no benchmark matches %s", p.bench)
	}
	return list, nil
}

type side struct{ dir, program string }

var benchLine = regexp.MustCompile(`(?m)^(Benchmark\S+?)(?:-\d+)?\s+\d+\s+([\d.]+) ns/op`)

// benchmark runs the benchmarks once on one side, and returns nanoseconds per operation.
func (u *upstream) benchmark(ctx context.Context, p *project, s *side) (map[string]float64, error) {
	tmp := filepath.Join(u.dir, "tmp")
	if err := os.MkdirAll(tmp, 0o755); err != nil {
		return nil, err
	}
	defer removeAll(tmp)
	cmd := command(ctx, filepath.Join(s.dir, filepath.FromSlash(p.benchPackage)), s.program,
		"-test.run=^$", "-test.bench="+p.bench, "-test.benchtime=200ms", "-test.timeout="+u.limit.String())
	cmd.Env = append(append(cmd.Env, "TMPDIR="+tmp), p.env...)
	cmd.WaitDelay = 10 * time.Second
	killAll(cmd)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("benchmarks in %s: %w\n%s", s.dir, err, out)
	}
	return parseBenchmarks(out)
}

// parseBenchmarks returns the nanoseconds per operation that a test binary printed.
func parseBenchmarks(out []byte) (map[string]float64, error) {
	results := map[string]float64{}
	for _, m := range benchLine.FindAllSubmatch(out, -1) {
		ns, err := strconv.ParseFloat(string(m[2]), 64)
		if err != nil {
			return nil, err
		}
		results[string(m[1])] = ns
	}
	return results, nil
}

// ratios returns the median of the paired ratios of File to os.File, and the range without
// the lowest and the highest.
func (b benchmark) ratios() (median, low, high float64) {
	var all []float64
	for i := range b.OS {
		all = append(all, b.File[i]/b.OS[i])
	}
	slices.Sort(all)
	n := len(all)
	median = (all[(n-1)/2] + all[n/2]) / 2
	if n > 2 {
		all = all[1 : n-1]
	}
	return median, all[0], all[len(all)-1]
}
