package needle

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// LineWays are ways to count the lines of a file; the others are measured against the first.
func LineWays() []Way {
	return []Way{
		{Name: "readfile-count", What: "`bytes.Count` over `os.ReadFile`", Find: countReadFile},
		{Name: "chunk-count", What: "`bytes.Count` over `Read` in chunks", Find: countChunks},
		{Name: "wc", What: "`wc -l`", Find: countCommand("wc", "-l"), Missing: missingCommand("wc")},
		{Name: "grep", What: "`grep -c ''`", Find: countCommand("grep", "-c", ""), Missing: missingCommand("grep")},
		{Name: "scan", What: "`scan.Count`, with opening and mapping", Find: opened(library(scanCount)), Parallel: true},
		{Name: "scan-warm", What: "`scan.Count`, mapped before", Open: library(mappedFirst(scanCount)), Parallel: true},
	}
}

func countReadFile(path string, _ int) (int64, error) {
	p, err := os.ReadFile(path)
	return int64(bytes.Count(p, newline)), err
}

func countChunks(path string, _ int) (int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return -1, err
	}
	defer f.Close()
	p, lines := make([]byte, chunk), int64(0)
	for {
		n, err := f.Read(p)
		lines += int64(bytes.Count(p[:n], newline))
		if err == io.EOF {
			return lines, nil
		}
		if err != nil {
			return -1, err
		}
	}
}

// countCommand runs a program that prints the number first.
func countCommand(name string, args ...string) Search {
	return func(path string, _ int) (int64, error) {
		out, err := exec.Command(name, append(args, path)...).Output()
		if err != nil {
			return -1, err
		}
		number, _, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
		return strconv.ParseInt(number, 10, 64)
	}
}

func missingCommand(name string) string {
	if _, err := exec.LookPath(name); err != nil {
		return "there is no " + name + " here"
	}
	return ""
}

var newline = []byte("\n")

// WriteSources makes a file of size bytes of the Go files under root, one after the other and again
// from the start until it is full, and counts its lines. The last byte is a newline, since grep counts
// what comes after the last one, too.
func WriteSources(ctx context.Context, path, root string, size int64) (lines int64, err error) {
	var all []byte
	err = filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || filepath.Ext(name) != ".go" || int64(len(all)) >= size {
			return err
		}
		text, err := os.ReadFile(name)
		all = append(all, text...)
		return err
	})
	if err != nil {
		return 0, err
	}
	if len(all) == 0 {
		return 0, fmt.Errorf("no Go files in %s", root)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	for done := int64(0); done < size; {
		if size-done <= int64(len(all)) {
			all = all[:size-done]
			all[len(all)-1] = '\n'
		}
		n, err := f.Write(all)
		if err != nil {
			return 0, err
		}
		lines += int64(bytes.Count(all, newline))
		done += int64(n)
		if err := ctx.Err(); err != nil {
			return 0, err
		}
	}
	return lines, f.Sync()
}
