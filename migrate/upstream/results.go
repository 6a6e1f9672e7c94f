package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// resultsFile has the raw results of the last run of each project.
var resultsFile = filepath.Join("migrate", "upstream", "results.json")

// record is the result of a project.
type record struct {
	Path, Version string
	Run           string // when and where
	Go            string // the go line in go.mod on all sides
	Calls         int    // calls that open a file, tests included
	Migrated      int    // calls that migrate rewrites without any edit
	Edits         int    // edits by hand
	Suites        []suiteRecord
	BenchmarkRun  string      `json:",omitempty"` // when and where the benchmarks ran
	Benchmarks    []benchmark `json:",omitempty"`
}

// suiteRecord is the result of a suite.
type suiteRecord struct {
	Variant              string
	Passed, Failed, Skip int
	Packages             int
	Mappings             int64
	Seconds              int
	Differ               []string `json:",omitempty"` // tests that ended in another way than over os.File
	Flaky                []string `json:",omitempty"` // and did not when they ran again
}

// The variants of a suite.
const (
	onOS     = "os.File"
	migrated = "migrate"
	edited   = "edited"
	eagerly  = "eager"
)

// eagerTag builds package mmapfile with the eager policy of its tests: it maps a file as soon as it can.
const eagerTag = "-tags=mmapfile_eager"

// benchmark has the nanoseconds of an operation in each round.
type benchmark struct {
	Name     string
	OS, File []float64
}

// verdict returns an error if the suite proves nothing, or another thing.
func (r *record) verdict() error {
	var errs []error
	for _, s := range r.Suites {
		if len(s.Differ) > 0 {
			errs = append(errs, fmt.Errorf("%s: %d tests end in another way than over os.File: %v", s.Variant, len(s.Differ), s.Differ[:min(len(s.Differ), 10)]))
		}
		if s.Variant == eagerly && s.Mappings == 0 {
			errs = append(errs, errors.New("the suite mapped no file: it proves nothing"))
		}
	}
	return errors.Join(errs...)
}

// suite returns the result of a variant, or nil.
func (r *record) suite(variant string) *suiteRecord {
	i := slices.IndexFunc(r.Suites, func(s suiteRecord) bool { return s.Variant == variant })
	if i < 0 {
		return nil
	}
	return &r.Suites[i]
}

// readResults reads the records of all projects that are still in the list, in its order.
func readResults(name string) (list []*record, err error) {
	b, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return list, json.Unmarshal(b, &list)
}

// writeResults writes them in the order of the list of projects.
func writeResults(name string, list []*record) error {
	var sorted []*record
	for _, p := range projects {
		for _, r := range list {
			if r.Path == p.path {
				sorted = append(sorted, r)
			}
		}
	}
	b, err := json.MarshalIndent(sorted, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(name, append(b, '\n'), 0o644)
}
