package cold

import (
	"errors"
	"hash/crc32"
	"io"
	"math"
	"os"
	"path/filepath"

	"go.dw1.io/mmapfile/benchdata/internal/pagecache"
	"go.dw1.io/mmapfile/eventlog"
)

// eventsSize is how much the stream and the log hold.
const eventsSize = 128 << 20

// MakeEvents makes a directory with a stream, and with a log as a crash leaves it.
func MakeEvents(dir string) (err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	s, err := eventlog.OpenStream(streamOf(dir), eventlog.StreamOptions{})
	if err != nil {
		return err
	}
	event := make([]byte, 1<<10)
	for n := 0; n < eventsSize && err == nil; n += len(event) {
		_, err = s.Append(event)
	}
	if err := errors.Join(err, s.Close()); err != nil {
		return err
	}
	closed := filepath.Join(dir, "closed.log")
	l, err := eventlog.Open(closed, eventlog.Options{})
	if err != nil {
		return err
	}
	for n := 0; n < eventsSize && err == nil; n += len(event) {
		_, err = l.Append(event)
	}
	// A copy of the open log is what a crash of the process leaves.
	return errors.Join(err, copyFile(crashedOf(dir), closed), l.Close(), os.Remove(closed))
}

func streamOf(dir string) string  { return filepath.Join(dir, "stream") }
func crashedOf(dir string) string { return filepath.Join(dir, "crashed.log") }

func copyFile(to, from string) error {
	p, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, p, 0o644)
}

// readEvents measures a pass over all events of a stream that is not in memory. With os.File it is one over
// the bytes of its files, with their checksum.
func readEvents(w *Work) ([]Figure, error) {
	files, err := filepath.Glob(filepath.Join(streamOf(w.Path), "*"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		if err := pagecache.Drop(file); err != nil {
			return nil, err
		}
	}
	return timed(func() error {
		if w.Impl == OS {
			return checksum(math.MaxInt64, files...)
		}
		return rangeEvents(streamOf(w.Path))
	})
}

func rangeEvents(dir string) error {
	r, err := eventlog.OpenStreamReader(dir)
	if err != nil {
		return err
	}
	first, err := r.First()
	if err != nil {
		return errors.Join(err, r.Close())
	}
	n := 0
	for _, err := range r.Events(first) {
		if err != nil {
			return errors.Join(err, r.Close())
		}
		n += 1 << 10
	}
	if n != eventsSize {
		err = errors.New("the stream does not have all events")
	}
	return errors.Join(err, r.Close())
}

// recoverLog measures how long a log takes to open that a crash has left, not in memory. With os.File it is a
// pass over its events, with their checksum. Neither reads the space for events to come.
func recoverLog(w *Work) (figures []Figure, err error) {
	path := filepath.Join(w.Path, "opened.log")
	if err := copyFile(path, crashedOf(w.Path)); err != nil { // to open it is to repair it
		return nil, err
	}
	defer func() { err = errors.Join(err, os.Remove(path)) }()
	end, err := endOf(path)
	if err := errors.Join(err, pagecache.Drop(path)); err != nil {
		return nil, err
	}
	var l *eventlog.Log
	figures, err = timed(func() (err error) {
		if w.Impl == OS {
			return checksum(end, path)
		}
		l, err = eventlog.Open(path, eventlog.Options{})
		return err
	})
	if l != nil {
		err = errors.Join(err, l.Close())
	}
	return figures, err
}

// endOf returns the offset after the last event of a log.
func endOf(path string) (int64, error) {
	r, err := eventlog.OpenReader(path)
	if err != nil {
		return 0, err
	}
	end, err := r.End()
	return end, errors.Join(err, r.Close())
}

// checksum reads at most n bytes of each file in order, in calls of 64 KiB.
func checksum(n int64, files ...string) error {
	sum, table, p := uint32(0), crc32.MakeTable(crc32.Castagnoli), make([]byte, 64<<10)
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			return err
		}
		for r := io.LimitReader(f, n); err == nil; {
			var k int
			k, err = r.Read(p)
			sum = crc32.Update(sum, table, p[:k])
		}
		if err != io.EOF {
			return errors.Join(err, f.Close())
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	return nil
}
