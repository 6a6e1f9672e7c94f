// Package cold is the work on files that are not in memory, or that are larger than it. It is done
// in a process of its own, which may be in a control group: the command benchdata starts itself as
// that process.
package cold

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"
)

// Command is the argument by which benchdata is started as the process that does the work.
const Command = "cold-work"

// Implementations of reading at an offset. A mapping is a plain copy from mapped memory.
const (
	OS       = "os"
	Mmapfile = "mmapfile"
	Mapping  = "mapping"
)

// Impls take turns. os-again is os.File once more: what it differs by is the noise.
var Impls = []string{OS, Mmapfile, Mapping, "os-again"}

// The sizes of the files, and the limits.
const (
	Size        = 256 << 20
	LargeSize   = 2 << 30
	LargeMemory = 512 << 20
	SweepMemory = 128 << 20
	SweepRounds = 3   // the picture needs no more
	TickReads   = 300 // a second
)

// SweepPercents are the sizes of the files of the picture, in percent of the memory.
var SweepPercents = []int{25, 50, 75, 100, 125, 150, 200, 300, 400}

// Work is one measurement.
type Work struct {
	What       string
	Impl       string
	File       string
	Procs      string // the list of cgroup.procs files to join, with commas between
	Reclaim    string // a file, and what is written into it to have the group's pages evicted
	Amount     string
	Memory     int64 // limit of memory, for the pages that are brought in first
	Goroutines int
	Reads      int
	Piece      int // bytes of a call
	For        time.Duration
}

// NoLimit is the memory of a group that has all memory, and can be told to evict pages.
const NoLimit = -1

// flags describes the work as flags of a command, with its values as defaults.
func (w *Work) flags() *flag.FlagSet {
	flags := flag.NewFlagSet(Command, flag.ContinueOnError)
	flags.StringVar(&w.What, "what", w.What, "")
	flags.StringVar(&w.Impl, "impl", w.Impl, "")
	flags.StringVar(&w.File, "file", w.File, "")
	flags.StringVar(&w.Procs, "procs", w.Procs, "")
	flags.StringVar(&w.Reclaim, "reclaim", w.Reclaim, "")
	flags.StringVar(&w.Amount, "amount", w.Amount, "")
	flags.Int64Var(&w.Memory, "memory", w.Memory, "")
	flags.IntVar(&w.Goroutines, "goroutines", w.Goroutines, "")
	flags.IntVar(&w.Reads, "reads", w.Reads, "")
	flags.IntVar(&w.Piece, "piece", w.Piece, "")
	flags.DurationVar(&w.For, "for", w.For, "")
	return flags
}

// Args are the arguments that Run turns into the work again.
func (w *Work) Args() []string {
	args := []string{Command}
	w.flags().VisitAll(func(f *flag.Flag) { args = append(args, "-"+f.Name+"="+f.Value.String()) })
	return args
}

// Figure is one result of the work.
type Figure struct {
	Name   string // empty if there is one figure only
	NS     float64
	Faults float64
}

// works by their names.
var works = map[string]func(w *Work, r reader) ([]Figure, error){
	"evicted-random":  func(w *Work, r reader) ([]Figure, error) { return evicted(w, r, readAnywhere) },
	"evicted-order":   func(w *Work, r reader) ([]Figure, error) { return evicted(w, r, readInOrder) },
	"larger":          larger,
	"ticker":          func(w *Work, r reader) ([]Figure, error) { return ticker(w, r.ReadAt) },
	"ticker-view":     tickerView,
	"ticker-populate": tickerPopulate,

	"advise-in-memory": adviseInMemory,
	"uniform":          uniform,
	"moving":           moving,
	"evicted-back":     evictedBack,
	"hot-anywhere":     hotAnywhere,
	"hot-order":        hotOrder,
}

// droppedWorks are passes over a file that was dropped from the page cache.
var droppedWorks = map[string]pass{
	"dropped-random": readAnywhere,
	"dropped-order":  readInOrder,

	"order-read-4KB":    order(readBlocks(4 << 10)),
	"order-read-64KB":   order(readBlocks(64 << 10)),
	"order-scanner":     order(scanLines),
	"order-copy":        order(copyToWriter),
	"order-tcp":         order(copyToTCP),
	"scan":              countLines,
	"scattered":         readScattered,
	"scattered-advised": readAdvised,
}

// filesOfTheirOwn are works that open their files themselves.
var filesOfTheirOwn = map[string]func(w *Work) ([]Figure, error){
	"life":           life,
	"write-anywhere": writeAnywhere,
	"events-read":    readEvents,
	"events-recover": recoverLog,
}

// Drops reports whether the work drops its files from the page cache and reads them back. The first
// work that does waits for the host's disk, too; the next ones for the host's cache.
func (w *Work) Drops() bool {
	return droppedWorks[w.What] != nil || strings.HasPrefix(w.What, "events-")
}

// Run does the work that the arguments describe, and writes a line for each figure.
func Run(args []string, out io.Writer) error {
	var w Work
	if err := w.flags().Parse(args); err != nil {
		return err
	}
	figures, err := w.do()
	if err != nil {
		return fmt.Errorf("%s, %s: %w", w.What, w.Impl, err)
	}
	for _, f := range figures {
		if _, err := fmt.Fprintf(out, "%q %g %g\n", f.Name, f.NS, f.Faults); err != nil {
			return err
		}
	}
	return nil
}

// Parse reads a line that Run wrote.
func Parse(line string) (f Figure, err error) {
	_, err = fmt.Sscanf(line, "%q %g %g", &f.Name, &f.NS, &f.Faults)
	return f, err
}

func (w *Work) do() (figures []Figure, err error) {
	work, alone := works[w.What], filesOfTheirOwn[w.What]
	if read := droppedWorks[w.What]; read != nil {
		work = func(w *Work, r reader) ([]Figure, error) { return dropped(w, r, read) }
	}
	if work == nil && alone == nil {
		return nil, fmt.Errorf("no work %q", w.What)
	}
	if err := join(w.Procs); err != nil {
		return nil, err
	}
	if alone != nil {
		return alone(w)
	}
	r, err := open(w.Impl, w.File)
	if err != nil {
		return nil, err
	}
	figures, err = work(w, r)
	runtime.KeepAlive(r)
	if w.Throttled() {
		return figures, err // closing waits for the reads that are left
	}
	return figures, errors.Join(err, r.Close())
}

// Throttled reports whether the work leaves goroutines that read when it is done.
func (w *Work) Throttled() bool { return len(w.What) >= 6 && w.What[:6] == "ticker" }
