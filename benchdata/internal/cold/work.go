// Package cold is the work on files that are not in memory, that are larger than it, or that are read
// once. It is done in a process of its own, which may be in a control group: the command benchdata starts
// itself as that process.
package cold

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	edsrzf "github.com/edsrzf/mmap-go"
	"go.dw1.io/mmapfile"
)

// Command is the argument by which benchdata is started as the process that does the work.
const Command = "cold-work"

// Implementations of reading at an offset. A mapping is a plain copy from mapped memory, and os-again is
// os.File once more: what it differs by is the noise.
const (
	OS       = "os"
	Mmapfile = "mmapfile"
	Mapping  = "mapping"
	OSAgain  = "os-again"
)

// Work is a row that is measured in a process.
type Work struct {
	Row     `json:"-"`
	RowKey  string
	Impl    string
	Path    string
	Procs   string // the file cgroup.procs of the group to join
	Reclaim string // a file, and what is written into it to have the group's pages evicted
	Amount  string
	For     time.Duration
}

// Figure is one result of the work.
type Figure struct {
	Name string // empty if there is one figure only
	NS   float64
}

func one(ns float64) []Figure { return []Figure{{"", ns}} }

// Args are the arguments that Run turns into the work again.
func (w *Work) Args() ([]string, error) {
	w.RowKey = w.Key
	text, err := json.Marshal(w)
	return []string{Command, string(text)}, err
}

// Run does the work that the arguments describe, and writes its figures.
func Run(args []string, out io.Writer) error {
	var w Work
	if err := json.Unmarshal([]byte(strings.Join(args, "")), &w); err != nil {
		return err
	}
	rows := Rows()
	i := slices.IndexFunc(rows, func(r Row) bool { return r.Key == w.RowKey })
	if i < 0 {
		return fmt.Errorf("no row %q", w.RowKey)
	}
	w.Row = rows[i]
	figures, err := w.run()
	if err != nil {
		return fmt.Errorf("%s, %s: %w", w.Key, w.Impl, err)
	}
	return json.NewEncoder(out).Encode(figures)
}

func (w *Work) run() (figures []Figure, err error) {
	if w.Procs != "" {
		if err := os.WriteFile(w.Procs, fmt.Append(nil, os.Getpid()), 0); err != nil {
			return nil, err
		}
	}
	if w.Piece > 0 {
		defer func() { err = errors.Join(err, os.Remove(w.Path)) }()
		if err := WriteFile(context.Background(), w.Path, w.Size, w.Piece); err != nil {
			return nil, err
		}
	}
	if !w.Events {
		info, err := os.Stat(w.Path)
		if err != nil {
			return nil, err
		}
		w.Size = info.Size()
	}
	return w.do(w)
}

// file is what an *os.File and a *mmapfile.File have.
type file interface {
	io.ReadSeekCloser
	io.ReaderAt
}

// mapping copies from mapped memory, and does nothing else.
type mapping struct {
	file
	mem edsrzf.MMap
}

func (m mapping) ReadAt(p []byte, off int64) (int, error) { return copy(p, m.mem[off:]), nil }
func (m mapping) Close() error                            { return m.mem.Unmap() }

// open opens the file of the work.
func (w *Work) open(impl string) (file, error) {
	switch impl {
	case OS:
		return os.Open(w.Path)
	case Mmapfile:
		return mmapfile.Open(w.Path)
	case Mapping:
		f, err := os.Open(w.Path)
		if err != nil {
			return nil, err
		}
		mem, err := edsrzf.Map(f, edsrzf.RDONLY, 0)
		return mapping{mem: mem}, errors.Join(err, f.Close())
	}
	return nil, fmt.Errorf("no implementation %q", impl)
}

// opened calls fn with the file of the work.
func (w *Work) opened(fn func(f file) ([]Figure, error)) ([]Figure, error) {
	f, err := w.open(w.Impl)
	if err != nil {
		return nil, err
	}
	figures, err := fn(f)
	runtime.KeepAlive(f)
	if w.Throttled {
		return figures, err // its goroutines read on, and closing would wait for them
	}
	return figures, errors.Join(err, f.Close())
}

// timed measures fn once.
func timed(fn func() error) ([]Figure, error) {
	began := time.Now()
	err := fn()
	return one(float64(time.Since(began).Nanoseconds())), err
}

// repeated measures a short call: the time of one, again and again for some time.
func (w *Work) repeated(call func() error) ([]Figure, error) {
	run := func(atLeast time.Duration) (n int, took time.Duration, err error) {
		for began := time.Now(); took < atLeast; took = time.Since(began) {
			for range 64 {
				if err := call(); err != nil {
					return 0, 0, err
				}
			}
			n += 64
		}
		return n, took, nil
	}
	if _, _, err := run(w.For / 2); err != nil { // what there is to learn is learned here
		return nil, err
	}
	n, took, err := run(w.For)
	return one(float64(took.Nanoseconds()) / float64(max(n, 1))), err
}
