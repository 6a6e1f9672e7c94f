package mmapfile_test

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"go.dw1.io/mmapfile"
)

// anyFile is all of *os.File's methods; a program that uses no more than these can
// take either kind of file.
type anyFile interface {
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
	_ anyFile = (*os.File)(nil)
	_ anyFile = (*mmapfile.File)(nil)
)

var page = int64(os.Getpagesize())

// scratchDir is t.TempDir without its complaint where a directory cannot be removed
// (wine, and files that a mapping still holds).
func scratchDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "mmapfile-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// patternBytes is n bytes that tell their position, with a zero here and there.
func patternBytes(n int64) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + i>>8*13 + i>>16)
	}
	return b
}

// writeScratch makes a file called name with that content in a directory of its own.
func writeScratch(t testing.TB, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(scratchDir(t), name)
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}
