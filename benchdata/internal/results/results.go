// Package results reads raw results in Go's benchmark format, and compares what was measured: medians,
// their ratios, the noise, and whether a difference is significant.
package results

import (
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"

	"golang.org/x/perf/benchfmt"
)

// Set is what one file of raw results has.
type Set struct {
	File   string
	Config map[string]string
	Rows   []string                        // in the order of the file, as "Read/size=1KB"
	Times  map[string]map[string][]float64 // row, implementation or way: seconds per operation
	// row, implementation: bytes that an open file takes of the heap and of page tables, where that was measured
	Memory map[string]map[string][]float64
	// row: percent of the file that was in memory before, where that was measured
	Resident map[string][]float64
	// row, implementation: what warming up has cost, where that was measured
	Warm map[string]map[string]*Warmed
	runs map[string]map[string]string // row: the configuration of its run, where a file has several
}

// Read reads a file of raw results.
func Read(file string) (*Set, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return Parse(f, file)
}

// Parse reads raw results. Errors have the name of the file.
func Parse(text io.Reader, file string) (*Set, error) {
	res := &Set{
		File:     file,
		Config:   map[string]string{},
		Times:    map[string]map[string][]float64{},
		Memory:   map[string]map[string][]float64{},
		Resident: map[string][]float64{},
		Warm:     map[string]map[string]*Warmed{},
		runs:     map[string]map[string]string{},
	}
	r := benchfmt.NewReader(text, file)
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
	if len(res.Rows) == 0 {
		return nil, fmt.Errorf("%s: no results", file)
	}
	return res, nil
}

func (res *Set) add(rec *benchfmt.Result) {
	if date := rec.GetConfig("date"); date != res.Config["date"] { // another run begins
		res.Config = map[string]string{}
	}
	for _, c := range rec.Config {
		res.Config[c.Key] = string(c.Value)
	}
	base, parts := rec.Name.Parts()
	row, impl := string(base), ""
	for _, part := range parts {
		switch part := string(part); {
		case strings.HasPrefix(part, "/impl="):
			impl = strings.TrimPrefix(part, "/impl=")
		case strings.HasPrefix(part, "/way="):
			impl = strings.TrimPrefix(part, "/way=")
		case strings.HasPrefix(part, "/"):
			row += part
		}
	}
	if tree := rec.GetConfig("tree"); tree != "" { // one implementation, at several commits
		impl = tree
	}
	if impl == "" {
		return
	}
	if heap, ok := rec.Value("heap-B/op"); ok {
		pageTables, _ := rec.Value("page-tables-B/op")
		res.addValue(res.Memory, row, impl, heap+pageTables)
	}
	for _, v := range rec.Values {
		figure, ok := strings.CutSuffix(v.Unit, "-sec") // as p99-ns
		if ok {
			res.addValue(res.Times, row+"/figure="+figure, impl, v.Value)
		}
	}
	sec, ok := rec.Value("sec/op")
	if !ok {
		return
	}
	res.addValue(res.Times, row, impl, sec)
	res.addWarm(row, impl, rec.Value)
	if percent, ok := rec.Value("resident-%"); ok {
		res.Resident[row] = append(res.Resident[row], percent)
	}
}

// addValue adds a value to those of a row, which are res.Times or others.
func (res *Set) addValue(values map[string]map[string][]float64, row, impl string, value float64) {
	if values[row] == nil {
		res.Rows = append(res.Rows, row)
		res.runs[row] = res.Config
		values[row] = map[string][]float64{}
	}
	values[row][impl] = append(values[row][impl], value)
}

// Only returns the results of the rows that are wanted, with the configuration of the run of the last one.
func (res *Set) Only(wanted func(row string) bool) *Set {
	part := *res
	part.Rows, part.Times = nil, map[string]map[string][]float64{}
	for _, row := range res.Rows {
		if wanted(row) {
			part.Config = res.runs[row]
			part.Rows = append(part.Rows, row)
			part.Times[row] = res.Times[row]
		}
	}
	return &part
}

// Run returns the results of the run that a row is of. What is compared is always within one.
func (res *Set) Run(row string) *Set {
	return res.Only(func(other string) bool { return res.runs[other]["date"] == res.runs[row]["date"] })
}

// Complete is an error unless mmapfile was measured in all of these rows.
func (res *Set) Complete(rows []string) error {
	for _, row := range rows {
		if res.Median(row, "mmapfile") == 0 {
			return fmt.Errorf("%s was not measured", row)
		}
	}
	return nil
}

// Median is the median time per operation in seconds, 0 if it was not measured.
func (res *Set) Median(row, impl string) float64 {
	return Median(res.Times[row][impl])
}

// Ratio is how long impl takes for row relative to base, 0 if one of them was not measured.
func (res *Set) Ratio(row, impl, base string) float64 {
	if b := res.Median(row, base); b > 0 {
		return res.Median(row, impl) / b
	}
	return 0
}

// Rounds is how often the row was measured that was measured least.
func (res *Set) Rounds() int {
	n := math.MaxInt
	for _, row := range res.Rows {
		for _, values := range []map[string][]float64{res.Times[row], res.Memory[row]} {
			for _, list := range values {
				n = min(n, len(list))
			}
		}
	}
	return n
}

// Geomean is the geometric mean of mmapfile against base over those of the rows that were
// measured, and their number.
func (res *Set) Geomean(rows []string, base string) (mean float64, n int) {
	var ratios []float64
	for _, row := range rows {
		if r := res.Ratio(row, "mmapfile", base); r > 0 {
			ratios = append(ratios, r)
		}
	}
	return Geomean(ratios), len(ratios)
}

// Noise is how much os.File differs from itself in a row: in this row, if it was measured twice
// there, but no less than in the middle one of all rows.
func (res *Set) Noise(row string) float64 {
	return max(res.OwnNoise(row), res.TypicalNoise())
}

func (res *Set) OwnNoise(row string) float64 {
	if r := res.Ratio(row, "os-again", "os"); r > 0 {
		return math.Abs(math.Log(r))
	}
	return 0
}

func (res *Set) TypicalNoise() float64 {
	var all []float64
	for _, row := range res.Rows {
		if len(res.Times[row]["os-again"]) > 0 {
			all = append(all, res.OwnNoise(row))
		}
	}
	return Median(all)
}

// Median returns the middle one of the values, 0 if there is none.
func Median(values []float64) float64 {
	n := len(values)
	if n == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// Geomean returns the geometric mean of the values, 0 if there is none.
func Geomean(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sum := 0.0
	for _, v := range values {
		sum += math.Log(v)
	}
	return math.Exp(sum / float64(len(values)))
}
