package run

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"go.dw1.io/mmapfile/benchdata/internal/pagecache"
	"go.dw1.io/mmapfile/benchdata/internal/regret"
	"go.dw1.io/mmapfile/benchdata/internal/results"
)

// regretRun searches for programs that are slower with a File.
type regretRun struct {
	opt         *options
	random      *rand.Rand
	cold, tmpfs bool
	dirs        map[string]string // by file system
	binaries    map[string]string // by implementation; base is mmapfile at another commit
	losers      []loser
}

type loser struct {
	regret.Program
	ratio float64
}

// losersKept is the number of losers that are mutated.
const losersKept = 8

// Regret measures random programs, and those that it makes of the losers.
func Regret(ctx context.Context, args []string) (res *results.Set, err error) {
	flags, opt := newFlags("regret", 7, "", "")
	seed := flags.Uint64("seed", 1, "of the random programs")
	n := flags.Int("n", 200, "number of programs; each fourth one is made of a loser")
	text := flags.String("program", "", "measure this `program` alone")
	base := flags.String("base", "", "`commit` to compare with, in the same run")
	flags.Parse(args)
	if regret.Missing != "" {
		fmt.Fprintln(os.Stderr, "nothing was measured:", regret.Missing)
		return nil, nil
	}
	dir, err := scratch()
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	run := &regretRun{opt: opt, random: rand.New(rand.NewPCG(*seed, 0)), cold: pagecache.Missing == "",
		dirs: map[string]string{"disk": dir}, binaries: map[string]string{"os": self, "os-again": self, "mmapfile": self}}
	if shm, err := os.MkdirTemp("/dev/shm", "mmapfile-bench-"); err == nil {
		defer os.RemoveAll(shm)
		run.tmpfs, run.dirs["tmpfs"] = true, shm
	}
	if *base != "" {
		root, remove, err := worktree(ctx, dir, *base, "base-tree")
		if err != nil {
			return nil, err
		}
		defer remove()
		modfile, err := moduleWith(ctx, filepath.Join(dir, "base"), root)
		if err != nil {
			return nil, err
		}
		run.binaries["base"] = filepath.Join(dir, "base.exe")
		if err := build(ctx, "build", "-modfile="+modfile, "-mod=mod", "-o", run.binaries["base"], "."); err != nil {
			return nil, err
		}
	}
	least := opt.rounds
	opt.rounds, opt.unit = *n, "program"
	config := ownConfig([2]string{"seed", fmt.Sprint(*seed)}, [2]string{"programs", fmt.Sprint(*n)})
	if *text != "" {
		p, err := regret.Parse(*text)
		if err != nil {
			return nil, err
		}
		opt.rounds = 1
		return opt.keep(ctx, dir, config, func(r *recording) error { return run.program(ctx, r, "given", p, max(least, 11)) })
	}
	return opt.keep(ctx, dir, config, func(r *recording) error {
		how, p := "drawn", regret.Draw(run.random, run.cold, run.tmpfs)
		if r.round%4 == 0 && len(run.losers) > 0 {
			how, p = "mutated", run.losers[run.random.IntN(len(run.losers))].Mutate(run.random, run.cold, run.tmpfs)
		}
		return run.program(ctx, r, how, p, least)
	})
}

// program measures p in at least so many rounds, and up to four times as many while it is not known whether
// p loses.
func (run *regretRun) program(ctx context.Context, r *recording, how string, p regret.Program, least int) (err error) {
	path := filepath.Join(run.dirs[p.FS], "program")
	if path == "program" {
		return fmt.Errorf("there is no %s here", p.FS)
	}
	if err := p.Make(path); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(path)) }()
	if p.Cold == 1 { // the first to read it fills the caches of the disk, and of the host
		if _, err := run.measure(ctx, "os", path, p); err != nil {
			return err
		}
	}
	impls := slices.Sorted(maps.Keys(run.binaries))
	r.show(p.String())
	fmt.Fprintf(r, "%s%d: %s %s\n", results.RegretProgram, r.round, how, p)
	times := map[string][]float64{}
	for round := range 4 * least {
		for _, impl := range turns(impls, round) {
			figures, err := run.measure(ctx, impl, path, p)
			if err != nil {
				return fmt.Errorf("%s with %s: %w", p, impl, err)
			}
			judged := figures[1] // CPU time
			if p.Cold == 1 {
				judged = figures[0]
			}
			times[impl] = append(times[impl], judged)
			for j, figure := range []string{"wall", "cpu"} {
				name := fmt.Sprintf("%sprogram=%d/figure=%s/impl=%s", results.RegretRows, r.round, figure, impl)
				if err := writeResult(r, name, 1, figures[j]); err != nil {
					return err
				}
			}
		}
		ratio := results.Median(times["mmapfile"]) / results.Median(times["os"])
		switch {
		case round+1 < least:
		case ratio < results.Regretted:
			return nil
		case results.Lost(times):
			run.losers = append(run.losers, loser{p, ratio})
			slices.SortFunc(run.losers, func(a, b loser) int { return cmp.Compare(b.ratio, a.ratio) })
			run.losers = run.losers[:min(len(run.losers), losersKept)]
			return nil
		}
	}
	return nil
}

// measure runs p once, in a process of its own, and returns the wall time and the CPU time.
func (run *regretRun) measure(ctx context.Context, impl, path string, p regret.Program) (figures [2]float64, err error) {
	if p.Cold == 1 {
		if err := pagecache.Drop(path); err != nil {
			return figures, err
		}
	}
	name := map[string]string{"os-again": "os", "base": "mmapfile"}[impl]
	cmd := exec.CommandContext(ctx, run.binaries[impl], regret.Args(p, cmp.Or(name, impl), path)...)
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err == nil {
		_, err = fmt.Fscan(bytes.NewReader(text), &figures[0], &figures[1])
	}
	return figures, err
}
