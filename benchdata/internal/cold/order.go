package cold

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/scan"
)

// file is what an *os.File and a *mmapfile.File have.
type file interface {
	io.ReadWriteSeeker
	io.ReaderAt
	io.WriterAt
	io.Closer
}

// openFile opens a file without a wrapper.
func openFile(impl, path string, flag int) (file, error) {
	switch impl {
	case OS:
		return os.OpenFile(path, flag, 0)
	case Mmapfile:
		return mmapfile.OpenFile(path, flag, 0)
	}
	return nil, fmt.Errorf("no implementation %q", impl)
}

// order is a pass from start to end over the file itself.
func order(read func(f file) error) pass {
	return func(_ *Work, r reader) error { return read(r.file()) }
}

// readBlocks reads to the end in calls of n bytes.
func readBlocks(n int) func(f file) error {
	return func(f file) error {
		p := make([]byte, n)
		for {
			_, err := f.Read(p)
			if err == io.EOF {
				return nil
			}
			if err != nil {
				return err
			}
		}
	}
}

func scanLines(f file) error {
	s := bufio.NewScanner(f)
	for s.Scan() {
	}
	return s.Err()
}

// plainWriter has no method but Write.
type plainWriter struct{ n int64 }

func (w *plainWriter) Write(p []byte) (int, error) {
	w.n += int64(len(p))
	return len(p), nil
}

func copyToWriter(f file) error {
	_, err := io.Copy(new(plainWriter), f)
	return err
}

// copyToTCP copies to a connection whose other end discards.
func copyToTCP(f file) (err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	drained := make(chan error, 1)
	go func() {
		conn, err := l.Accept()
		if err == nil {
			_, err = io.CopyBuffer(new(plainWriter), struct{ io.Reader }{conn}, make([]byte, 256<<10))
			err = errors.Join(err, conn.Close())
		}
		drained <- err
	}()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err == nil {
		_, err = io.Copy(conn, f)
		err = errors.Join(err, conn.Close(), <-drained)
	}
	return errors.Join(err, l.Close())
}

// countLines is package scan, or goroutines that each read pieces and count in them.
func countLines(w *Work, r reader) error {
	if f, ok := r.file().(*mmapfile.File); ok {
		_, err := scan.Count(context.Background(), f, []byte("\n"))
		return err
	}
	const piece = 1 << 20
	var next, lines atomic.Int64
	failed := make([]error, w.Goroutines)
	var running sync.WaitGroup
	for n := range w.Goroutines {
		running.Go(func() {
			p := make([]byte, piece)
			for failed[n] == nil {
				off := next.Add(piece) - piece
				if off >= r.size() {
					return
				}
				got, err := r.ReadAt(p, off)
				if err != io.EOF {
					failed[n] = err
				}
				lines.Add(int64(bytes.Count(p[:got], []byte("\n"))))
			}
		})
	}
	running.Wait()
	return errors.Join(failed...)
}
