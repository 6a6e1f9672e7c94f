package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
)

// program is work on one dataset. A run opens the files, does the work and closes them.
type program struct {
	name string
	what string // for the tables
	data *dataset
	run  func(e *env) (result, error)
	// processes is how many new processes run it in a round, 0 for one. Short programs have several.
	processes int
	// writes reports that a run needs an empty output directory.
	writes bool
}

// env is what a run works with.
type env struct {
	implementation
	path  string // of the dataset
	out   string // an empty directory for output
	scale float64
}

// result is what a run found: every implementation has to find the same.
type result struct {
	count, sum int64
}

func (r *result) add(n int64) {
	r.count++
	r.sum += n * (1 + r.count%1009) // the order counts as well
}

func (r result) String() string { return fmt.Sprintf("%d:%x", r.count, uint64(r.sum)) }

// withFile runs fn with the dataset, which is one file.
func (e *env) withFile(fn func(f file, res *result) error) (res result, err error) {
	f, err := e.open(e.path)
	if err != nil {
		return res, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	err = fn(f, &res)
	return res, err
}

// programs returns all programs in the order in which they run.
func programs() []program {
	return slices.Concat(archivePrograms, sqlitePrograms, levelPrograms, pebblePrograms, gitPrograms, fontPrograms,
		parquetPrograms, pagePrograms, textPrograms, servePrograms)
}

func programOf(name string) (program, error) {
	all := programs()
	i := slices.IndexFunc(all, func(p program) bool { return p.name == name })
	if i < 0 {
		return program{}, fmt.Errorf("no program %q", name)
	}
	return all[i], nil
}

// env returns what a run of the program with an implementation works with.
func (p program) env(dir string, scale float64, impl implementation) *env {
	return &env{implementation: impl, path: filepath.Join(dir, p.data.name), scale: scale}
}
