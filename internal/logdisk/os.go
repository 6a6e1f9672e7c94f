package logdisk

import (
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/sys"
)

// Real is the disk of the system.
var Real Disk = osDisk{}

type osDisk struct{}

func (osDisk) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	var f *mmapfile.File
	err := retryShared(func() (err error) {
		f, err = mmapfile.OpenFile(name, flag, perm)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &osFile{f, f.OS()}, nil
}

// retryShared calls fn, which opens, renames or removes a file, until no other handle excludes it, or some
// 60 ms have passed. On Windows a file cannot be opened while another handle renames or removes it,
// nor renamed or removed while a virus scanner has it open.
func retryShared(fn func() error) error {
	err := fn()
	for pause := time.Millisecond; excluded(err) && pause <= 32*time.Millisecond; pause *= 2 {
		time.Sleep(pause)
		err = fn()
	}
	return err
}

func (osDisk) Stat(name string) (fs.FileInfo, error)      { return stat(name) }
func (osDisk) Lstat(name string) (fs.FileInfo, error)     { return os.Lstat(name) }
func (osDisk) SameFile(a, b fs.FileInfo) bool             { return os.SameFile(a, b) }
func (osDisk) ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(name) }
func (osDisk) Mkdir(name string, perm fs.FileMode) error  { return os.Mkdir(name, perm) }
func (osDisk) RealPath(name string) (string, error)       { return filepath.EvalSymlinks(name) }

func (osDisk) Rename(from, to string) error {
	return retryShared(func() error { return os.Rename(from, to) })
}

func (osDisk) Remove(name string) error { return retryShared(func() error { return os.Remove(name) }) }

// osFile is a file of the system.
type osFile struct {
	*mmapfile.File
	os *os.File // the one that File wraps
}

// Direct says that a file's memory is that of its mappings, and that a write by system call shows there.
const Direct = runtime.GOOS == "linux" && sys.Maps

func (f *osFile) WriteAt(p []byte, off int64) (int, error) {
	if Direct {
		return f.os.WriteAt(p, off)
	}
	return f.File.WriteAt(p, off)
}

func (f *osFile) Length() (int64, error) {
	if Direct {
		return length(f.os.Fd())
	}
	fi, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return fi.Size(), nil
}

func (f *osFile) Allocate(from, to int64) error { return sys.AllocateRange(f.os, from, to) }

func (f *osFile) Memory() []byte {
	if !sys.Maps {
		return nil
	}
	return f.Bytes()
}

func (f *osFile) ReadAhead(off, n int64) {
	f.View(off, n, func([]byte) error { return nil }) // it reads by system call, which does not stop other goroutines
}

func (f *osFile) Flush() error { return f.Sync() }

func (f *osFile) FlushData() error {
	if Direct {
		return sys.Datasync(f.os)
	}
	return f.SyncRange(0, math.MaxInt64) // which writes back stores to memory first
}

func (f *osFile) FlushRange(off, n int64) error { return f.SyncRange(off, n) }

func (f *osFile) SyncNames() error { return syncNames(f.os) }

func (f *osFile) Stored() (Stored, error) { return flushAndDrop(f.os) }

func (f *osFile) NextData(off int64) (from, to int64, err error) { return nextData(f.os, off) }

func (f *osFile) CopyRange(from File, off, n int64, plain bool) (int64, error) {
	src, to := from.(*osFile), f.os
	for _, c := range []*os.File{src.os, to} {
		if _, err := c.Seek(off, io.SeekStart); err != nil {
			return 0, err
		}
	}
	in := io.Reader(src.os)
	if plain {
		in = struct{ io.Reader }{in} // not copy_file_range(2)
	}
	return io.CopyN(to, in, n)
}

func (f *osFile) Lock() error { return lock(f.os) }
func (f *osFile) Unlock()     { unlock(f.os) }
