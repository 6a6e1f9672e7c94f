package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
)

// dataVersion changes whenever a dataset does: data that an older version made is not used.
const dataVersion = 1

// dataset is the input of programs. It is generated once and kept.
type dataset struct {
	name string
	// generate writes the file or directory at path. Equal scales give equal contents.
	generate func(path string, scale float64) error
}

// dataDir returns the directory of the datasets of a scale.
func dataDir(dir string, scale float64) string {
	return filepath.Join(dir, fmt.Sprintf("v%d-scale%s", dataVersion, strconv.FormatFloat(scale, 'g', -1, 64)))
}

// prepare generates the dataset unless it is there.
func (d *dataset) prepare(dir string, scale float64) error {
	path := filepath.Join(dir, d.name)
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	part := path + ".part"
	err := errors.Join(os.RemoveAll(part), os.MkdirAll(dir, 0o755))
	if err != nil {
		return err
	}
	if err := d.generate(part, scale); err != nil {
		return errors.Join(fmt.Errorf("%s: %w", d.name, err), os.RemoveAll(part))
	}
	return errors.Join(eachFile(part, (*os.File).Sync), os.Rename(part, path))
}

// eachFile calls fn with the file at path, or with every file in that directory.
func eachFile(path string, fn func(f *os.File) error) error {
	return filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		return errors.Join(fn(f), f.Close())
	})
}

var readBuffer = sync.OnceValue(func() []byte { return make([]byte, 1<<20) })

// readAll reads a file in order, which brings it into the page cache.
func readAll(f *os.File) error {
	_, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{f}, readBuffer())
	return err
}

// scaled returns n times the scale, but at least 1.
func scaled(n int, scale float64) int { return max(1, int(float64(n)*scale)) }

// random returns a source of numbers that is the same in every run.
func random(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 13)) }

// between returns a number from low to high, its logarithm being uniform: most files are small.
func between(r *rand.Rand, low, high int) int {
	n := low
	for n*2 <= high && r.IntN(2) == 0 {
		n *= 2
	}
	return n + r.IntN(n)
}

var words = [...]string{"page", "reads", "a", "the", "of", "file", "mapping", "is", "in", "memory", "kernel",
	"copy", "and", "to", "system", "call", "record", "index", "table", "cursor", "offset", "value"}

// appendText appends n bytes of words.
func appendText(p []byte, r *rand.Rand, n int) []byte {
	end := len(p) + n
	for len(p) < end {
		p = append(p, words[r.IntN(len(words))]...)
		p = append(p, ' ')
	}
	return p[:end]
}

// appendNoise appends n bytes that do not compress.
func appendNoise(p []byte, r *rand.Rand, n int) []byte {
	end := len(p) + n
	for len(p) < end {
		p = binary.LittleEndian.AppendUint64(p, r.Uint64())
	}
	return p[:end]
}

// writeFile creates a file and has fn write it through a buffer.
func writeFile(path string, fn func(w *bufio.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	return errors.Join(fn(w), w.Flush(), f.Close())
}
