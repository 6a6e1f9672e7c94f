package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
)

// adapterPrograms are the programs whose figures stand in the comments of packages of ../adapters.
var adapterPrograms = []named{
	{"git-log", "billyfs/fs.go"},
	{"leveldb", "leveldbstorage/storage.go"},
	{"pebble", "pebblevfs/fs.go"},
}

// adapterLine is the line of a package's comment that has the figures.
var adapterLine = regexp.MustCompile(`(?m)^// Relative to os\.File: .*$`)

// publishAdapters puts the figures into the comments of the adapters.
func publishAdapters(res *results, dir string, check bool) error {
	for _, p := range adapterPrograms {
		if !slices.Contains(res.programNames(), p.row) {
			continue
		}
		ratio := func(state int) string {
			return number(res.ratio(programRow(p.row, programStates[state].row), "mmapfile", "os"))
		}
		line := fmt.Sprintf("// Relative to os.File: %s in one process, %s in new processes, %s if the files are not in memory.",
			ratio(0), ratio(1), ratio(2))
		path := filepath.Join(dir, "..", "adapters", filepath.FromSlash(p.what))
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if !adapterLine.Match(text) {
			return fmt.Errorf("%s has no line of figures", path)
		}
		if err := (artifact{path, adapterLine.ReplaceAllLiteral(text, []byte(line))}).put(check); err != nil {
			return err
		}
	}
	return nil
}
