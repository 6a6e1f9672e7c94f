package run

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.dw1.io/mmapfile/benchdata/internal/needle"
	"go.dw1.io/mmapfile/benchdata/internal/pagecache"
	"go.dw1.io/mmapfile/benchdata/internal/results"
)

// Needle looks for a word at the end of a file of zeros in many ways.
func Needle(ctx context.Context, args []string) (*results.Set, error) {
	flags, opt := newFlags("needle", 5, "", "the ways") // a row is one search
	sizeText := flags.String("size", "1G", "size of the file, with K, M or G after it")
	flags.Parse(args)
	size, err := results.ParseSize(*sizeText)
	if err != nil {
		return nil, err
	}
	dir, err := scratch()
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	match, err := regexp.Compile(opt.row)
	if err != nil {
		return nil, err
	}
	files, err := searchedFiles(ctx, dir, size)
	if err != nil {
		return nil, err
	}
	for _, s := range files {
		s.ways = slices.DeleteFunc(slices.Clone(s.ways), func(w needle.Way) bool { return !match.MatchString(w.Name) })
	}
	return opt.keep(ctx, dir, needleConfig(size, slices.Concat(needle.Ways(), needle.LineWays())), func(r *recording) error {
		for _, warmup := range []bool{true, false} {
			if warmup && r.round > 1 {
				continue
			}
			for _, s := range files {
				s.r, s.warmup = r, warmup
				if err := s.round(ctx); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// searchedFiles makes the files in dir.
func searchedFiles(ctx context.Context, dir string, size int64) ([]*searches, error) {
	fmt.Fprintf(os.Stderr, "writing a file of %s\n", results.SizeName(results.FormatSize(size)))
	zeros := &searches{name: "Needle", ways: needle.Ways(), cold: true, want: size - int64(needle.WordSize),
		path: filepath.Join(dir, "zeros"), size: size}
	if err := needle.WriteFile(ctx, zeros.path, size); err != nil {
		return nil, err
	}
	lines := &searches{name: "Lines", ways: needle.LineWays(), path: filepath.Join(dir, "sources"), size: size}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, err
	}
	sources := filepath.Join(strings.TrimSpace(string(root)), "src")
	if lines.want, err = needle.WriteSources(ctx, lines.path, sources, size); err != nil {
		return nil, err
	}
	return []*searches{zeros, lines}, nil
}

// needleConfig is what belongs to these results.
func needleConfig(size int64, ways []needle.Way) [][2]string {
	config := ownConfig([2]string{"size", results.FormatSize(size)}, [2]string{"workers", strconv.Itoa(runtime.GOMAXPROCS(0))})
	for _, w := range ways {
		if w.Missing != "" {
			config = append(config, [2]string{"missing-" + w.Name, w.Missing})
		} else if w.Note != "" {
			config = append(config, [2]string{"note-" + w.Name, w.Note})
		}
	}
	if pagecache.Missing != "" {
		config = append(config, [2]string{"missing-cold", pagecache.Missing})
	}
	return config
}

// searches measures on one file.
type searches struct {
	name   string // of the benchmark
	ways   []needle.Way
	cold   bool  // also while the file is not in memory
	want   int64 // what each way has to find
	path   string
	size   int64
	r      *recording
	warmup bool // nothing is written
}

// round measures each way once, with all numbers of workers, on a warm file and on a cold one.
func (s *searches) round(ctx context.Context) error {
	if err := s.warm(); err != nil {
		return err
	}
	for _, w := range s.ways {
		if err := s.way(ctx, w, "warm"); err != nil {
			return fmt.Errorf("%s: %w", w.Name, err)
		}
	}
	if s.warmup || !s.cold || pagecache.Missing != "" {
		return nil
	}
	for _, w := range s.ways {
		if w.Open != nil {
			continue
		}
		if err := s.way(ctx, w, "cold"); err != nil {
			return fmt.Errorf("%s: %w", w.Name, err)
		}
	}
	return nil
}

// warm reads the file into memory, in the same manner in each round: how large the pieces are that
// the system keeps it in depends on how it got there.
func (s *searches) warm() error {
	if pagecache.Missing == "" {
		if err := pagecache.Drop(s.path); err != nil {
			return err
		}
	}
	f, err := os.Open(s.path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(io.Discard, bufio.NewReaderSize(f, 1<<20))
	return err
}

// way measures one way with each number of workers that it is measured with.
func (s *searches) way(ctx context.Context, w needle.Way, state string) (err error) {
	if w.Missing != "" {
		return nil
	}
	find := func(workers int) (int64, error) { return w.Find(s.path, workers) }
	if w.Open != nil {
		opened, closeFile, openErr := w.Open(s.path)
		if openErr != nil {
			return openErr
		}
		defer func() { err = errors.Join(err, closeFile()) }()
		find = opened
	}
	workers := []int{1}
	if w.Parallel {
		workers = workerCounts(runtime.GOMAXPROCS(0))
	}
	for _, n := range workers {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.search(w.Name, state, n, find); err != nil {
			return err
		}
	}
	return nil
}

// workerCounts are those of the table, and one for each processor.
func workerCounts(procs int) []int {
	counts := []int{1, 2, 4, 8, procs}
	slices.Sort(counts)
	return slices.Compact(counts)
}

// search measures one search and writes a line in Go's benchmark format. Beside the usual figures
// it has how much of the file was in memory before.
func (s *searches) search(way, state string, workers int, find func(workers int) (int64, error)) error {
	name := fmt.Sprintf("%s/way=%s/state=%s/workers=%d", s.name, way, state, workers)
	if s.warmup {
		s.r.show("warming up: " + way)
	} else {
		s.r.show(name)
	}
	if state == "cold" {
		if err := pagecache.Drop(s.path); err != nil {
			return err
		}
	}
	var resident []string
	if pagecache.Missing == "" {
		share, err := pagecache.Resident(s.path)
		if err != nil {
			return err
		}
		resident = []string{fmt.Sprintf("%.2f resident-%%", 100*share)}
	}
	debug.FreeOSMemory() // what the way before has left must not cost or help this one

	began := time.Now()
	off, err := find(workers)
	took := time.Since(began)
	if err != nil {
		return err
	}
	if off != s.want {
		return fmt.Errorf("found %d, and it is %d", off, s.want)
	}
	if s.warmup {
		return nil
	}
	return writeResult(s.r, name, 1, float64(max(took, 1).Nanoseconds()), resident...)
}
