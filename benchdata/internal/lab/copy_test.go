package lab

import (
	"io"
	"net"
	"os"
	"testing"

	"go.dw1.io/mmapfile/benchdata/internal/benchtest"
)

// copyFile is what io.Copy between files takes.
type copyFile interface {
	io.ReadWriteSeeker
	io.ReaderFrom
	io.WriterTo
}

// BenchmarkCopyFileToFile rewrites a file of the same size by io.Copy.
func BenchmarkCopyFileToFile(b *testing.B) {
	eachSize(b, []int{benchtest.MB, 100 * benchtest.MB}, func(b *testing.B, from string, size int) {
		to := data(b, size)
		each[copyFile](b, over(size), func(b *testing.B, im impl) {
			src := open[copyFile](b, im, from, os.O_RDONLY)
			dst := open[copyFile](b, im, to, os.O_RDWR)
			measure(b, 1, size, func() error {
				if err := rewind(src); err != nil {
					return err
				}
				if err := rewind(dst); err != nil {
					return err
				}
				n, err := io.Copy(dst, src)
				return benchtest.Whole(n, err, size)
			})
		})
	})
}

// BenchmarkCopyFileToTCP sends a file over the loopback by io.Copy, until the other side has it.
func BenchmarkCopyFileToTCP(b *testing.B) {
	eachSizeToRead(b, []int{benchtest.MB, 100 * benchtest.MB}, func(b *testing.B, path string, size int) {
		eachOpen(b, size, path, os.O_RDONLY, func(b *testing.B, f copyFile) {
			conn, done := dialReceiver(b, size)
			measure(b, 1, size, func() error {
				if err := rewind(f); err != nil {
					return err
				}
				n, err := io.Copy(conn, f)
				if err := benchtest.Whole(n, err, size); err != nil {
					return err
				}
				return <-done
			})
		})
	})
}

// dialReceiver connects to a peer that reads everything, and sends on the channel after every
// size bytes. An error ends it.
func dialReceiver(b *testing.B, size int) (net.Conn, <-chan error) {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Skip(err)
	}
	defer l.Close()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { conn.Close() })
	peer, err := l.Accept()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { peer.Close() })

	done := make(chan error, 1) // room for the last error, which is not waited for
	go func() {
		buf := make([]byte, benchtest.MB)
		for got := 0; ; {
			n, err := peer.Read(buf)
			if got += n; got >= size {
				got -= size
				done <- nil
			}
			if err != nil {
				done <- err
				return
			}
		}
	}()
	return conn, done
}
