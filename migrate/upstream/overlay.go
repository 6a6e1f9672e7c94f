package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// countVar names the environment variable with the file that grows by a byte for each mapping.
const countVar = "MMAPFILE_UPSTREAM_COUNT"

// countAnchor is in internal/file/mapping.go, where a mapping is published. countCall is added before it.
const (
	countAnchor = "\tevictions.Watch(vm.Mapped)\n"
	countCall   = "\tcountMapping()\n"
)

// counter is added to package internal/file.
const counter = `package file

import "os"

var mappingsTo, _ = os.OpenFile(os.Getenv("` + countVar + `"), os.O_WRONLY|os.O_APPEND, 0)

func countMapping() { mappingsTo.Write([]byte{'m'}) } // an error if it is nil
`

// overlay writes a file for go build -overlay into dir, and returns its name. The package
// in root then counts its mappings.
func overlay(root, dir string) (string, error) {
	mapping := filepath.Join(root, "internal", "file", "mapping.go")
	source, err := os.ReadFile(mapping)
	if err != nil {
		return "", err
	}
	if bytes.Count(source, []byte(countAnchor)) != 1 {
		return "", fmt.Errorf("%q is not once in %s: mappings cannot be counted", countAnchor, mapping)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	replace := map[string]string{}
	for original, content := range map[string][]byte{
		filepath.Join(root, "internal", "file", "upstream_count.go"): []byte(counter),
		mapping: bytes.Replace(source, []byte(countAnchor), []byte(countCall+countAnchor), 1),
	} {
		replace[original] = filepath.Join(dir, filepath.Base(original))
		if err := os.WriteFile(replace[original], content, 0o644); err != nil {
			return "", err
		}
	}
	b, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "overlay.json")
	return name, os.WriteFile(name, b, 0o644)
}
