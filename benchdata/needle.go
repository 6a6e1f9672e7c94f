package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.dw1.io/mmapfile/benchdata/internal/needle"
)

// measureNeedle looks for a word at the end of a file of zeros in many ways.
func measureNeedle(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("needle", flag.ExitOnError)
	out := flags.String("out", "needle.txt", "`file` for the raw results")
	rounds := flags.Int("rounds", 5, "number of rounds")
	sizeText := flags.String("size", "1G", "size of the file, with K, M or G behind it")
	flags.Parse(args)
	size, err := parseSize(*sizeText)
	if err != nil {
		return err
	}

	dir, err := scratch()
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	raw := filepath.Join(dir, "raw.txt")
	if err := searchTo(ctx, raw, dir, size, *rounds); err != nil {
		if ctx.Err() != nil {
			return errors.New("interrupted")
		}
		return err
	}
	res, err := store(raw, *out)
	if err != nil {
		return err
	}
	if err := reportNeedle(os.Stdout, res); err != nil {
		return err
	}
	where := *out
	if !filepath.IsAbs(where) {
		where = "benchdata/" + where
	}
	fmt.Printf("\nRaw results: %s\n", where)
	return nil
}

// searchTo makes the file in dir, and measures all ways round by round into raw.
func searchTo(ctx context.Context, raw, dir string, size int64, rounds int) error {
	f, err := os.Create(raw)
	if err != nil {
		return err
	}
	defer f.Close()
	writeMachine(f, dir, needleConfig(size, slices.Concat(needle.Ways(), needle.LineWays()))...)

	p := newProgress(os.Stderr, rounds)
	defer p.end()
	fmt.Fprintf(os.Stderr, "writing a file of %s\n", sizeName(formatSize(size)))
	writing := func(done int64) error {
		if done%(64<<20) == 0 {
			p.show(fmt.Sprintf("writing the file, %d%%", 100*done/size))
		}
		return ctx.Err()
	}
	zeros := &searches{name: "Needle", ways: needle.Ways(), cold: true, want: size - int64(needle.WordSize),
		out: f, path: filepath.Join(dir, "zeros"), size: size, p: p}
	if err := needle.WriteFile(zeros.path, size, writing); err != nil {
		return err
	}
	lines := &searches{name: "Lines", ways: needle.LineWays(), out: f, path: filepath.Join(dir, "sources"), size: size, p: p}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return err
	}
	sources := filepath.Join(strings.TrimSpace(string(root)), "src")
	if lines.want, err = needle.WriteSources(lines.path, sources, size, writing); err != nil {
		return err
	}
	files := []*searches{zeros, lines}
	for _, place := range needle.LoopPlaces() {
		loops := *zeros
		loops.name, loops.ways, loops.cold, loops.allProcs = loopRows+place, needle.Loops(place), false, true
		files = append(files, &loops)
	}
	for p.round = 0; p.round <= rounds; p.round++ {
		for _, s := range files {
			if err := s.round(ctx); err != nil {
				return err
			}
		}
	}
	return f.Close()
}

// needleConfig is what belongs to these results alone, and what the tests of Go print themselves.
func needleConfig(size int64, ways []needle.Way) [][2]string {
	config := [][2]string{
		{"goos", runtime.GOOS},
		{"goarch", runtime.GOARCH},
		{"cpu", processor()},
		{"size", formatSize(size)},
		{"workers", strconv.Itoa(runtime.GOMAXPROCS(0))},
	}
	for _, w := range ways {
		if w.Missing != "" {
			config = append(config, [2]string{"missing-" + w.Name, w.Missing})
		} else if w.Note != "" {
			config = append(config, [2]string{"note-" + w.Name, w.Note})
		}
	}
	if needle.MissingCold != "" {
		config = append(config, [2]string{"missing-cold", needle.MissingCold})
	}
	return config
}

// processor is the name that Linux has for it.
func processor() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(line, ":")
		if strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

// loopRows is what the benchmarks of the bare loops begin with, before the place that they run in.
const loopRows = "Loop"

// searches measures on one file.
type searches struct {
	name string // of the benchmark
	ways []needle.Way
	cold bool // also while the file is not in memory
	// allProcs says that parallel ways are measured with one worker for each processor alone.
	allProcs bool
	want     int64 // what each way has to find
	out      io.Writer
	path     string
	size     int64
	p        *progress
}

// round measures each way once, with all numbers of workers, on a warm file and on a cold one. Round
// 0 is for warming up: nothing of it is written.
func (s *searches) round(ctx context.Context) error {
	if err := s.warm(); err != nil {
		return err
	}
	for _, w := range s.ways {
		if err := s.way(ctx, w, "warm"); err != nil {
			return fmt.Errorf("%s: %w", w.Name, err)
		}
	}
	if s.p.round == 0 || !s.cold || needle.MissingCold != "" {
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
	if needle.MissingCold == "" {
		if err := needle.Drop(s.path); err != nil {
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
	if s.allProcs {
		workers = []int{runtime.GOMAXPROCS(0)}
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
	if s.p.round > 0 {
		s.p.show(name)
	} else {
		s.p.show("warming up: " + way)
	}
	if state == "cold" {
		if err := needle.Drop(s.path); err != nil {
			return err
		}
	}
	resident := ""
	if needle.MissingCold == "" {
		share, err := needle.Resident(s.path)
		if err != nil {
			return err
		}
		resident = fmt.Sprintf("\t%7.2f resident-%%", 100*share)
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
	if s.p.round == 0 {
		return nil
	}
	if procs := runtime.GOMAXPROCS(0); procs > 1 {
		name += fmt.Sprintf("-%d", procs)
	}
	took = max(took, 1)
	_, err = fmt.Fprintf(s.out, "Benchmark%-60s\t%8d\t%12d ns/op\t%9.2f MB/s%s\n",
		name, 1, took.Nanoseconds(), float64(s.size)/1e6/took.Seconds(), resident)
	return err
}

var sizeUnits = []struct {
	name  string
	bytes int64
}{{"G", 1 << 30}, {"M", 1 << 20}, {"K", 1 << 10}, {"", 1}}

// parseSize reads a size like 4G, 256M or 1000.
func parseSize(text string) (int64, error) {
	for _, u := range sizeUnits {
		if digits, ok := strings.CutSuffix(text, u.name); ok {
			n, err := strconv.ParseInt(digits, 10, 32)
			if err != nil || n <= 0 {
				break
			}
			return n * u.bytes, nil
		}
	}
	return 0, fmt.Errorf("size %q is not like 4G or 256M", text)
}

// formatSize is what parseSize reads.
func formatSize(size int64) string {
	for _, u := range sizeUnits {
		if size%u.bytes == 0 {
			return strconv.FormatInt(size/u.bytes, 10) + u.name
		}
	}
	return ""
}

// sizeName is a size for people.
func sizeName(size string) string {
	digits := strings.TrimRight(size, "GMK")
	unit := strings.TrimPrefix(size, digits)
	return digits + " " + cmp.Or(unit, "bytes") + strings.Repeat("iB", len(unit))
}
