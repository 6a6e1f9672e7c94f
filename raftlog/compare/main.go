// Command compare measures raftlog beside raft-wal and raft-boltdb, in one interleaved run, and
// makes tables of the results.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

func main() {
	testing.Init() // for the flags of testing.Benchmark
	rounds := flag.Int("rounds", 5, "how often each row is measured")
	out := flag.String("out", "results.txt", "file for the raw results")
	only := flag.String("row", "", "regular expression of the rows to measure")
	dir := flag.String("dir", os.TempDir(), "directory on the disk that is to be measured")
	table := flag.Bool("table", false, "make the tables of results.txt again, in README.md")
	flag.Parse()
	err := error(nil)
	if *table {
		err = writeTables("README.md", "results.txt")
	} else {
		err = measure(*rounds, *out, *only, *dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// measure runs all rows, each with all stores before the next.
func measure(rounds int, out, only, dir string) error {
	match, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	dir, err = os.MkdirTemp(dir, "raftlog-compare")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	machine := describe() // first: the results make the tree dirty
	f, err := os.Create(out)
	if err != nil {
		return err
	}
	defer f.Close()
	to := io.MultiWriter(f, os.Stdout)
	fmt.Fprint(to, machine)
	began := time.Now()
	for round := range rounds {
		fmt.Fprintf(os.Stderr, "round %d of %d", round+1, rounds)
		if elapsed := time.Since(began); round > 0 { // some rows have fewer rounds
			left := elapsed / time.Duration(round) * time.Duration(rounds-round)
			fmt.Fprintf(os.Stderr, ", at most about %v left", left.Round(time.Second))
		}
		fmt.Fprintln(os.Stderr)
		for _, r := range rows() {
			if !match.MatchString(r.name) || round >= r.rounds && r.rounds > 0 {
				continue
			}
			for n := range max(r.times, 1) {
				first := (round + n) % len(stores)
				order := append(slices.Clone(stores[first:]), stores[:first]...)
				metrics, err := r.measure(filepath.Join(dir, "store"), order)
				if err != nil {
					return fmt.Errorf("%s: %w", r.name, err)
				}
				for _, k := range stores {
					if m := metrics[k.name]; m != "" {
						fmt.Fprintf(to, "Benchmark%s/store=%s 1 %s\n", r.name, k.name, m)
					}
				}
			}
		}
	}
	return f.Close()
}

// measure measures a row with all stores, in that order.
func (r *row) measure(dir string, order []kind) (map[string]string, error) {
	if r.all != nil {
		defer os.RemoveAll(dir)
		return r.all(dir, order)
	}
	metrics := map[string]string{}
	for _, k := range order {
		if r.skip[k.name] {
			continue
		}
		m, err := r.run(k, dir)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", k.name, err)
		}
		metrics[k.name] = m
		if err := os.RemoveAll(dir); err != nil {
			return nil, err
		}
	}
	return metrics, nil
}

// describe says when and on what the results are measured.
func describe() string {
	commit, _ := exec.Command("git", "describe", "--always", "--dirty", "--abbrev=12").Output()
	kernel, _ := exec.Command("uname", "-sr").Output()
	return fmt.Sprintf("date: %s\ncommit: %s\nkernel: %s\ngo: %s\ncores: %d\n", time.Now().UTC().Format(time.RFC3339),
		strings.TrimSpace(string(commit)), strings.TrimSpace(string(kernel)), runtime.Version(), runtime.NumCPU())
}
