// Package filetest has the helpers that several packages of tests share: files with known content,
// the states of a File, goroutines and processes beside it. Only tests use it.
package filetest

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"go.dw1.io/mmapfile"
)

// File is the method set of *os.File. A program that uses only these methods works with both
// kinds of file.
type File interface {
	Chdir() error
	Chmod(mode fs.FileMode) error
	Chown(uid, gid int) error
	Close() error
	Fd() uintptr
	Name() string
	Read(b []byte) (int, error)
	ReadAt(b []byte, off int64) (int, error)
	ReadDir(n int) ([]fs.DirEntry, error)
	ReadFrom(r io.Reader) (int64, error)
	Readdir(n int) ([]fs.FileInfo, error)
	Readdirnames(n int) ([]string, error)
	Seek(offset int64, whence int) (int64, error)
	SetDeadline(t time.Time) error
	SetReadDeadline(t time.Time) error
	SetWriteDeadline(t time.Time) error
	Stat() (fs.FileInfo, error)
	Sync() error
	SyscallConn() (syscall.RawConn, error)
	Truncate(size int64) error
	Write(b []byte) (int, error)
	WriteAt(b []byte, off int64) (int, error)
	WriteString(s string) (int, error)
	WriteTo(w io.Writer) (int64, error)
}

var (
	_ File = (*os.File)(nil)
	_ File = (*mmapfile.File)(nil)
)

// Dir returns a directory that is removed at the end of the test. It is t.TempDir, except on
// Windows: there a file stays mapped until its File was collected, and that it cannot be removed
// must not fail the test.
func Dir(t testing.TB) string {
	t.Helper()
	if runtime.GOOS != "windows" {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp("", "mmapfile-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// Temp puts content into a new file and returns its name.
func Temp(t testing.TB, content []byte) string {
	t.Helper()
	name := filepath.Join(Dir(t), "data")
	Write(t, name, content)
	return name
}

// Write writes content to the file name.
func Write(t testing.TB, name string, content []byte) {
	t.Helper()
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Read returns the content of the file name.
func Read(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Open opens name for reading and writing, and closes it at the end of the test.
func Open(t testing.TB, name string) *mmapfile.File {
	t.Helper()
	return OpenFile(t, name, os.O_RDWR)
}

// OpenFile opens name with flag, and closes it at the end of the test.
func OpenFile(t testing.TB, name string, flag int) *mmapfile.File {
	t.Helper()
	f, err := mmapfile.OpenFile(name, flag, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// OpenReadOnly opens name for reading. The caller closes it.
func OpenReadOnly(t testing.TB, name string) *mmapfile.File {
	t.Helper()
	f, err := mmapfile.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	return f
}
