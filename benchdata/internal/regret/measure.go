package regret

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"time"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/benchdata/internal/benchtest"
)

// Command is the argument by which benchdata is started as the process that runs one program.
const Command = "regret-work"

// Args are the further arguments of that process.
func Args(p Program, impl, path string) []string {
	return []string{Command, "-impl", impl, "-file", path, p.String()}
}

// Run runs the program that the arguments describe, and prints its wall time and CPU time in nanoseconds.
// Part of it runs with os.File before, so that the process and the page cache are warm.
func Run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet(Command, flag.ContinueOnError)
	impl, path := flags.String("impl", "", ""), flags.String("file", "", "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	p, err := Parse(flags.Arg(0))
	if err != nil {
		return err
	}
	calls := p.calls()
	if p.Cold == 0 {
		warm := p
		warm.Lives = (p.Lives + 3) / 4
		if err := warm.live("os", *path, calls); err != nil {
			return err
		}
	}
	cpu, began := cpuTime(), time.Now()
	if err := p.live(*impl, *path, calls); err != nil {
		return err
	}
	wall := time.Since(began)
	_, err = fmt.Fprintln(out, wall.Nanoseconds(), (cpuTime() - cpu).Nanoseconds())
	return err
}

// Make makes the file of p.
func (p Program) Make(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if p.Content == "sparse" {
		return f.Truncate(int64(p.Size))
	}
	piece := make([]byte, 4<<10)
	if p.Folios == "large" {
		piece = make([]byte, 1<<20)
	}
	if p.Content == "data" {
		copy(piece, bytes.Repeat([]byte("0123456789abcdef"), len(piece)/16))
	}
	for left := p.Size; left > 0; left -= len(piece) {
		if _, err := f.Write(piece[:min(left, len(piece))]); err != nil {
			return err
		}
	}
	return nil
}

type file interface {
	io.ReadWriteSeeker
	io.ReaderAt
	io.WriterAt
	io.Closer
	Sync() error
}

func open(impl, path string, flag int) (file, error) {
	if impl == "mmapfile" {
		return mmapfile.OpenFile(path, flag, 0o600)
	}
	return os.OpenFile(path, flag, 0o600)
}

type call struct {
	off   int64
	n     int
	write bool
}

// calls draws the calls of the longest life.
func (p Program) calls() []call {
	r := rand.New(rand.NewPCG(uint64(p.Seed), 0))
	zipf := rand.NewZipf(r, 1.2, 8, uint64(p.Size-1)>>12)
	few := [4]int64{}
	for i := range few {
		few[i] = r.Int64N(int64(p.Size)) >> 16 << 16
	}
	calls := make([]call, p.Life)
	next := int64(0)
	for i := range calls {
		c := call{n: p.Len, write: r.IntN(100) < p.Writes}
		if p.Vary == 1 {
			c.n = 1 + r.IntN(p.Len)
		}
		last := int64(p.Size - c.n)
		switch p.Pattern {
		case "at", "order":
			if next > last {
				next = 0
			}
			c.off = next
			next += int64(c.n)
		case "uniform":
			c.off = r.Int64N(last + 1)
		case "zipf":
			c.off = int64(zipf.Uint64()*2_654_435_761%(uint64(p.Size)>>12+1))<<12 + r.Int64N(4<<10)
		case "few":
			c.off = few[r.IntN(1+p.Seed%4)] + r.Int64N(64<<10)
		case "laps":
			c.off = next
			if next += 64 << 10; next > last {
				next = 0
			}
		}
		c.off = min(c.off, last)
		calls[i] = c
	}
	return calls
}

// live runs all lives.
func (p Program) live(impl, path string, calls []call) error {
	r := rand.New(rand.NewPCG(uint64(p.Seed), 1))
	bufs := make([][]byte, p.Goroutines)
	for i := range bufs {
		bufs[i] = bytes.Repeat([]byte{byte('a' + i)}, p.Len)
	}
	flag := os.O_RDONLY
	if p.Writes > 0 {
		flag = os.O_RDWR
	}
	if p.Fresh == 1 {
		flag = os.O_RDWR | os.O_CREATE | os.O_TRUNC
	}
	done := 0
	for range p.Lives {
		f, err := open(impl, path, flag)
		if err != nil {
			return err
		}
		for left := p.Size; p.Fresh == 1 && left > 0; left -= p.Len {
			if _, err := f.Write(bufs[0][:min(left, p.Len)]); err != nil {
				return err
			}
		}
		if p.Fresh == 1 {
			if _, err := f.Seek(0, io.SeekStart); err != nil {
				return err
			}
		}
		n := p.Life
		if least := p.Life / p.Spread; least < n {
			n = max(least+r.IntN(n-least), 1)
		}
		err = p.share(f, bufs, calls[:n], &done)
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// share makes the calls, in as many goroutines as the program has. done counts those of all lives.
func (p Program) share(f file, bufs [][]byte, calls []call, done *int) error {
	if p.Goroutines == 1 {
		return p.make(f, bufs[0], calls, done)
	}
	return benchtest.Together(p.Goroutines, func(i int) error {
		own := 0
		return p.make(f, bufs[i], calls[i*len(calls)/p.Goroutines:(i+1)*len(calls)/p.Goroutines], &own)
	})
}

func (p Program) make(f file, buf []byte, calls []call, done *int) error {
	for i, c := range calls {
		b := buf[:c.n]
		var err error
		switch {
		case p.Pattern != "order" && c.write:
			_, err = f.WriteAt(b, c.off)
		case p.Pattern != "order":
			_, err = f.ReadAt(b, c.off)
		default:
			if c.off == 0 && i > 0 {
				if _, err := f.Seek(0, io.SeekStart); err != nil {
					return err
				}
			}
			if c.write {
				_, err = f.Write(b)
			} else {
				_, err = f.Read(b)
			}
		}
		if *done++; err == nil && p.Sync > 0 && *done%p.Sync == 0 {
			err = f.Sync()
		}
		if err != nil {
			return fmt.Errorf("call %d of %d bytes at %d: %w", i, c.n, c.off, err)
		}
	}
	return nil
}
