package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"go.dw1.io/mmapfile/eventlog"
)

const benchHelp = `Makes a log and a stream in a new directory within DIR, measures appends and reads, and
removes the directory. The default DIR is that of temporary files, which may be in memory:
give one on the disk in question. Each row ends after -time or -most, what comes first.
`

// target is a Log or a Stream.
type target interface {
	Append(p []byte) (int64, error)
	AppendBatch(ps ...[]byte) (int64, error)
	AppendSync(p []byte) (int64, error)
	Events(from int64) iter.Seq2[eventlog.Event, error]
	Close() error
}

// row is a result, and a JSON line.
type row struct {
	What    string        `json:"what"`
	Events  int64         `json:"events"`
	Bytes   int64         `json:"bytes"` // data in all
	Elapsed time.Duration `json:"ns"`
	P50     time.Duration `json:"p50,omitempty"` // time of an append that syncs
	P99     time.Duration `json:"p99,omitempty"`
	Max     time.Duration `json:"max,omitempty"`
}

// bencher measures.
type bencher struct {
	e    *env
	data []byte
	time time.Duration
	most int64 // bytes of data
}

const (
	benchBatch = 16
	benchGoers = 16
)

func bench(f *flag.FlagSet) func(*env) error {
	size := f.Int("size", 1<<10, "`bytes` of data of an event")
	d := f.Duration("time", time.Second, "`duration` of a row")
	most := f.Int64("most", 256<<20, "`bytes` of data that a row appends at most")
	return func(e *env) error {
		if *size < 0 || *size > 64<<20 || *d <= 0 || *most <= 0 {
			return e.misused("bench: -size must be between 0 and 64 MiB, -time and -most positive")
		}
		dir := ""
		if len(e.args) > 0 {
			dir = e.args[0]
		}
		dir, err := os.MkdirTemp(dir, "eventlog-bench-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		b := bencher{e, bytes.Repeat([]byte{'x'}, *size), *d, *most}
		if !e.json {
			fmt.Fprintf(e.out, "%-38s%12s%10s%12s%12s%12s\n", fmt.Sprintf("events of %d bytes", *size), "events/s", "MB/s", "p50", "p99", "max")
		}
		err = b.rows("log", func(name string) (target, error) {
			return eventlog.Open(filepath.Join(dir, name+".log"), eventlog.Options{})
		})
		if err == nil {
			err = b.rows("stream", func(name string) (target, error) {
				return eventlog.OpenStream(filepath.Join(dir, name), eventlog.StreamOptions{})
			})
		}
		return err
	}
}

// rows measures one kind of target.
func (b *bencher) rows(kind string, open func(name string) (target, error)) error {
	for i, r := range []struct {
		what string
		do   func(target) (row, error)
	}{
		{"append", b.append},
		{fmt.Sprintf("append, batches of %d", benchBatch), b.batch},
		{"append and sync", func(t target) (row, error) { return b.sync(t, 1) }},
		{fmt.Sprintf("append and sync, %d goroutines", benchGoers), func(t target) (row, error) { return b.sync(t, benchGoers) }},
		{"read", b.read},
	} {
		if err := b.e.ctx.Err(); err != nil {
			return err
		}
		t, err := open(fmt.Sprint(kind, i))
		if err != nil {
			return err
		}
		result, err := r.do(t)
		if err = errors.Join(err, t.Close()); err != nil {
			return err
		}
		result.What = kind + ": " + r.what
		result.Bytes = result.Events * int64(len(b.data))
		if err := b.print(result); err != nil {
			return err
		}
	}
	return nil
}

func (b *bencher) print(r row) error {
	if b.e.json {
		return errors.Join(b.e.printJSON(r), b.e.out.Flush())
	}
	s := r.Elapsed.Seconds()
	fmt.Fprintf(b.e.out, "%-38s%12.0f%10.1f", r.What, float64(r.Events)/s, float64(r.Bytes)/s/1e6)
	if r.Max > 0 {
		fmt.Fprintf(b.e.out, "%12v%12v%12v", r.P50, r.P99, r.Max)
	}
	fmt.Fprintln(b.e.out)
	return b.e.out.Flush()
}

// loop calls fn, which appends n events, until time or bytes are used up. It looks at the
// clock for about each 64 KiB.
func (b *bencher) loop(n int, fn func() error) (r row, err error) {
	most := max(b.most/int64(max(len(b.data), 1)), 1)
	every := max(64<<10/(len(b.data)+64)/n, 1)
	began := time.Now()
	for r.Events < most && r.Elapsed < b.time && b.e.ctx.Err() == nil {
		for range every {
			if err := fn(); err != nil {
				return r, err
			}
			r.Events += int64(n)
		}
		r.Elapsed = time.Since(began)
	}
	return r, b.e.ctx.Err()
}

func (b *bencher) append(t target) (row, error) {
	return b.loop(1, func() error {
		_, err := t.Append(b.data)
		return err
	})
}

func (b *bencher) batch(t target) (row, error) {
	ps := slices.Repeat([][]byte{b.data}, benchBatch)
	return b.loop(benchBatch, func() error {
		_, err := t.AppendBatch(ps...)
		return err
	})
}

// sync appends durable events from n goroutines.
func (b *bencher) sync(t target, n int) (row, error) {
	var (
		mu    sync.Mutex
		first error
		all   []time.Duration
		done  sync.WaitGroup
	)
	most := max(b.most/int64(max(len(b.data), 1))/int64(n), 1)
	began := time.Now()
	for range n {
		done.Go(func() {
			var times []time.Duration
			err := b.e.ctx.Err()
			for last := began; err == nil && int64(len(times)) < most && last.Sub(began) < b.time; err = b.e.ctx.Err() {
				at := time.Now()
				if _, err = t.AppendSync(b.data); err != nil {
					break
				}
				last = time.Now()
				times = append(times, last.Sub(at))
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, times...)
			if first == nil {
				first = err
			}
		})
	}
	done.Wait()
	r := row{Events: int64(len(all)), Elapsed: time.Since(began)}
	if len(all) > 0 {
		slices.Sort(all)
		r.P50, r.P99, r.Max = all[len(all)/2], all[len(all)*99/100], all[len(all)-1]
	}
	return r, first
}

// read reads what it has appended before, once.
func (b *bencher) read(t target) (row, error) {
	if _, err := b.append(t); err != nil {
		return row{}, err
	}
	r := row{}
	began := time.Now()
	for _, err := range t.Events(0) {
		if err != nil {
			return r, err
		}
		r.Events++
	}
	r.Elapsed = time.Since(began)
	return r, b.e.ctx.Err()
}
