package main

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"

	"golang.org/x/perf/benchfmt"
)

// results are the raw results of one file.
type results struct {
	config map[string]string
	rows   []string                        // in the order of the file, as "Read/size=1KB"
	times  map[string]map[string][]float64 // row, implementation or way: seconds per operation
	// row: percent of the file that was in memory before, where that was measured
	resident map[string][]float64
	// row, implementation: major faults, where they were counted
	faults map[string]map[string][]float64
	// row, implementation: what warming up has cost, where that was measured
	warm map[string]map[string]*warmed
}

func readResults(file string) (*results, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	res := &results{
		config:   map[string]string{},
		times:    map[string]map[string][]float64{},
		resident: map[string][]float64{},
		faults:   map[string]map[string][]float64{},
		warm:     map[string]map[string]*warmed{},
	}
	r := benchfmt.NewReader(f, file)
	for r.Scan() {
		switch rec := r.Result().(type) {
		case *benchfmt.SyntaxError:
			return nil, rec
		case *benchfmt.Result:
			res.add(rec)
		}
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	if len(res.rows) == 0 {
		return nil, fmt.Errorf("%s: no results", file)
	}
	return res, nil
}

func (res *results) add(rec *benchfmt.Result) {
	for _, c := range rec.Config {
		res.config[c.Key] = string(c.Value)
	}
	base, parts := rec.Name.Parts()
	row, impl, policy := string(base), "", ""
	for _, part := range parts {
		switch part := string(part); {
		case strings.HasPrefix(part, "/impl="):
			impl = strings.TrimPrefix(part, "/impl=")
		case strings.HasPrefix(part, "/way="):
			impl = strings.TrimPrefix(part, "/way=")
		case string(base) == "Policy" && strings.HasPrefix(part, "/policy="):
			policy = strings.TrimPrefix(part, "/policy=")
		case strings.HasPrefix(part, "/"):
			row += part
		}
	}
	if policy != "" && impl != "os" { // of several in one run
		impl = policy
	}
	sec, ok := rec.Value("sec/op")
	if impl == "" || !ok {
		return
	}
	if res.times[row] == nil {
		res.rows = append(res.rows, row)
		res.times[row] = map[string][]float64{}
	}
	res.times[row][impl] = append(res.times[row][impl], sec)
	if n, ok := rec.Value(faultUnit); ok {
		if res.faults[row] == nil {
			res.faults[row] = map[string][]float64{}
		}
		res.faults[row][impl] = append(res.faults[row][impl], n)
	}
	res.addWarm(row, impl, rec.Value)
	if percent, ok := rec.Value("resident-%"); ok {
		res.resident[row] = append(res.resident[row], percent)
	}
}

// median is the median time per operation in seconds, 0 if it was not measured.
func (res *results) median(row, impl string) float64 {
	return median(res.times[row][impl])
}

// ratio is how long impl takes for row relative to base, 0 if one of them was not measured.
func (res *results) ratio(row, impl, base string) float64 {
	if b := res.median(row, base); b > 0 {
		return res.median(row, impl) / b
	}
	return 0
}

// rounds is how often the row was measured that was measured least.
func (res *results) rounds() int {
	n := math.MaxInt
	for _, impls := range res.times {
		for _, times := range impls {
			n = min(n, len(times))
		}
	}
	return n
}

// geomean is the geometric mean of mmapfile against base over those of the rows that were
// measured, and their number.
func (res *results) geomean(rows []string, base string) (mean float64, n int) {
	var ratios []float64
	for _, row := range rows {
		if r := res.ratio(row, "mmapfile", base); r > 0 {
			ratios = append(ratios, r)
		}
	}
	return geomean(ratios), len(ratios)
}

// fullGeomean is the mean of a complete run, 0 for a selection: the limits are not meant for those.
func (res *results) fullGeomean(rows []string, base string) float64 {
	if _, n := res.geomean(published(), base); n < len(published()) {
		return 0
	}
	mean, _ := res.geomean(rows, base)
	return mean
}

// noise is how much os.File differs from itself in a row: in this row, if it was measured twice
// there, but no less than in the middle one of all rows.
func (res *results) noise(row string) float64 {
	return max(res.ownNoise(row), res.typicalNoise())
}

func (res *results) ownNoise(row string) float64 {
	if r := res.ratio(row, "os-again", "os"); r > 0 {
		return math.Abs(math.Log(r))
	}
	return 0
}

func (res *results) typicalNoise() float64 {
	var all []float64
	for _, row := range res.rows {
		if len(res.times[row]["os-again"]) > 0 {
			all = append(all, res.ownNoise(row))
		}
	}
	return median(all)
}

func median(values []float64) float64 {
	n := len(values)
	if n == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

func geomean(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sum := 0.0
	for _, v := range values {
		sum += math.Log(v)
	}
	return math.Exp(sum / float64(len(values)))
}

// published are the rows of the benchmark that was published for this package's predecessor.
func published() []string {
	var rows []string
	for _, name := range []string{"Read", "ReadAt", "ReadAtParallel", "Write", "WriteAt", "ReadFrom"} {
		for _, size := range []string{"1KB", "10KB", "100KB", "1MB", "10MB", "100MB", "500MB", "1GB"} {
			rows = append(rows, name+"/size="+size)
		}
	}
	return append(rows, "Seek", "WriteTo", "Stat", "Sync", "Close")
}
