package file

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"go.dw1.io/mmapfile/internal/vm"
)

// refusing is the Platform of this system, which refuses what its fields name.
type refusing struct {
	vm.Platform
	maps        int // calls of Map until it fails; negative: never
	longest     int // mappings that are longer fail; 0: none
	err         error
	mapsPrivate bool
	flushes     bool
	writes      bool // mapping for writing only
	refused     int
}

func (r *refusing) Map(f *os.File, length int, write, asked bool) (data []byte, writable bool, err error) {
	if r.maps == 0 || r.longest > 0 && length > r.longest {
		r.refused++
		return nil, false, r.err
	}
	if r.maps--; r.writes {
		r.refused++
		write = false
	}
	return r.Platform.Map(f, length, write, asked)
}

func (r *refusing) MapPrivate(f *os.File, length int, write bool) ([]byte, error) {
	if r.mapsPrivate {
		r.refused++
		return nil, r.err
	}
	return r.Platform.MapPrivate(f, length, write)
}

func (r *refusing) Flush(data []byte) error {
	if r.flushes {
		r.refused++
		return r.err
	}
	return r.Platform.Flush(data)
}

// refuse has the system refuse what r names until the end of the test, which does not run in
// parallel: the Platform is that of all Files.
func refuse(t *testing.T, r *refusing) {
	t.Helper()
	if !canMap {
		t.Skip("nothing is mapped here")
	}
	r.Platform = vm.Memory
	vm.Memory = r
	t.Cleanup(func() {
		vm.Memory = r.Platform
		if r.refused == 0 {
			t.Error("nothing was refused, so the test shows nothing")
		}
	})
}

// osFile has those methods of both kinds of file that these tests call.
type osFile interface {
	io.ReaderAt
	io.WriterAt
	io.ReadWriteSeeker
	Stat() (fs.FileInfo, error)
	Truncate(size int64) error
	Sync() error
	Close() error
}

// record makes calls of all kinds on f, often enough to be mapped, and returns their results.
func record(f osFile, name string) (log []string) {
	note := func(what string, v ...any) {
		log = append(log, what+" "+string(bytes.ReplaceAll(fmt.Append(nil, v...), []byte(name), []byte("NAME"))))
	}
	b := make([]byte, 100)
	use := func() {
		for i := range 200 {
			n, err := f.ReadAt(b, int64(i%7)*1000)
			note("ReadAt", n, err, b[:3])
			n, err = f.WriteAt([]byte("written"), int64(i%5)*5000)
			note("WriteAt", n, err)
		}
		pos, err := f.Seek(-50, io.SeekEnd)
		note("Seek", pos, err)
		n, err := f.Read(b)
		note("Read", n, err, b[:n])
		n, err = f.Read(b)
		note("Read", n, err)
		n, err = f.Write([]byte("more"))
		note("Write", n, err)
		fi, err := f.Stat()
		note("Stat", fi.Size(), err)
	}
	use()
	note("Truncate", f.Truncate(1<<20))
	if f, ok := f.(*File); ok {
		f.Bytes() // of the longer file
	}
	use()
	note("Truncate", f.Truncate(30_000))
	use()
	note("Sync", f.Sync())
	note("Close", f.Close())
	n, err := f.ReadAt(b, 0)
	note("ReadAt", n, err)
	return log
}

// A system that does not map a file, or not any more, or not for writing, leaves the results of
// os.File.
func TestFile_MappingRefused(t *testing.T) {
	for name, r := range map[string]*refusing{
		"Always":    {err: errNoMemory},
		"Growth":    {maps: 1, err: errNoMemory},
		"Forbidden": {err: syscall.EACCES},
		"Writing":   {maps: -1, writes: true},
	} {
		t.Run(name, func(t *testing.T) {
			var logs [2][]string
			for kind := range logs {
				path := filepath.Join(TempDir(t), "file")
				if err := os.WriteFile(path, randomBytes(100_000), 0o600); err != nil {
					t.Fatal(err)
				}
				if kind == 0 {
					f, err := os.OpenFile(path, os.O_RDWR, 0)
					if err != nil {
						t.Fatal(err)
					}
					logs[0] = record(f, path)
					continue
				}
				refuse(t, r)
				f, err := OpenFile(path, os.O_RDWR, 0)
				if err != nil {
					t.Fatal(err)
				}
				if p := f.Bytes(); (p == nil) != (r.maps == 0 && !r.writes && name != "Growth") {
					t.Errorf("Bytes has %d bytes", len(p))
				}
				HoldPages(t)
				prefaultAll(f)
				logs[1] = record(f, path)
			}
			for i := range logs[0] {
				if logs[1][i] != logs[0][i] {
					t.Fatalf("call %d: %s, want %s", i, logs[1][i], logs[0][i])
				}
			}
		})
	}
}

// openRandom opens a file of 1,000 random bytes for reading and writing.
func openRandom(t *testing.T) (f *File, path string) {
	t.Helper()
	path = filepath.Join(TempDir(t), "file")
	if err := os.WriteFile(path, randomBytes(1000), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f, path
}

// What asks for memory has the system's error.
func TestView_MappingRefused(t *testing.T) {
	refuse(t, &refusing{err: syscall.EPERM})
	f, path := openRandom(t)
	for what, err := range map[string]error{
		"view":   f.View(0, 10, func([]byte) error { return nil }),
		"lock":   f.LockMemory(0, 10),
		"advise": f.Advise(0, 10, 2),
	} {
		if pe := (*fs.PathError)(nil); !errors.As(err, &pe) || pe.Op != what || pe.Path != path || pe.Err != syscall.EPERM {
			t.Errorf("%s: %v", what, err)
		}
	}
	if f.Bytes() != nil {
		t.Error("Bytes is not nil")
	}
	for c, err := range f.Chunks(400) {
		if err != nil || len(c.Data) == 0 {
			t.Errorf("Chunks at %d: %d bytes, %v", c.Offset, len(c.Data), err)
		}
	}
}

// If there is no room for further growth, a file that has grown is mapped without it.
func TestBytes_GrowthRefused(t *testing.T) {
	if !mapsBeyondEnd {
		t.Skip("a mapping is as long as the file")
	}
	refuse(t, &refusing{maps: -1, longest: 300_000, err: syscall.ENOMEM})
	f, _ := openRandom(t)
	for _, size := range []int64{1000, 200_000} {
		if err := f.Truncate(size); err != nil {
			t.Fatal(err)
		}
		if n := len(f.Bytes()); int64(n) != size {
			t.Errorf("%d of %d bytes are mapped", n, size)
		}
	}
}

// Close reports that changed pages cannot be written back, if it is to flush them.
func TestClose_FlushRefused(t *testing.T) {
	refuse(t, &refusing{maps: -1, flushes: true, err: syscall.EIO})
	f, _ := openRandom(t)
	if err := StartFlushes(f, FlushPolicy{Bytes: 1 << 20}); err != nil {
		t.Fatal(err)
	}
	copy(f.Bytes(), "stored")
	if err := f.Close(); !errors.Is(err, syscall.EIO) {
		t.Errorf("Close: %v", err)
	}
}

// A private File that cannot be mapped cannot be opened.
func TestOpenPrivate_MappingRefused(t *testing.T) {
	refuse(t, &refusing{mapsPrivate: true, err: syscall.EPERM})
	path := filepath.Join(TempDir(t), "file")
	if err := os.WriteFile(path, randomBytes(1000), 0o600); err != nil {
		t.Fatal(err)
	}
	err := OpenPrivate(new(File), path, os.O_RDWR, 0, 0)
	if pe := (*fs.PathError)(nil); !errors.As(err, &pe) || pe.Op != "open" || pe.Path != path || pe.Err != syscall.EPERM {
		t.Errorf("%v", err)
	}
}

// If changed pages cannot be written back, Sync reports that each time, and what was written stays.
func TestSync_FlushRefused(t *testing.T) {
	refuse(t, &refusing{maps: -1, flushes: true, err: syscall.EIO})
	f, path := openRandom(t)
	copy(f.Bytes(), "stored")
	for range 2 {
		err := f.Sync()
		if pe := (*fs.PathError)(nil); !errors.As(err, &pe) || pe.Op != "sync" || pe.Path != path || pe.Err != syscall.EIO {
			t.Errorf("%v", err)
		}
	}
	if b, err := os.ReadFile(path); err != nil || string(b[:6]) != "stored" {
		t.Errorf("the file begins with %q: %v", b[:6], err)
	}
}
