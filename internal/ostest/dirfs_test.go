package ostest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/filetest"
)

const bigSize = 2_000_000 // served in more than 16 reads

var treeModified = time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)

// httpTime returns the time of a.txt plus d, as HTTP headers have it.
func httpTime(d time.Duration) string { return treeModified.Add(d).Format(http.TimeFormat) }

// makeTree makes a directory with files, beside another one called outside.
func makeTree(t testing.TB) string {
	t.Helper()
	dir := filetest.Dir(t)
	err := os.CopyFS(dir, fstest.MapFS{
		"tree/a.txt": {Data: []byte("a text")}, "tree/big.bin": {Data: filetest.Pattern(bigSize)}, "tree/empty": {},
		"tree/sub/c.txt": {Data: []byte("below")}, "tree/sub/deeper/d": {}, "tree/site/index.html": {Data: []byte("<h1>index</h1>")},
		"tree/site/locked": {Mode: fs.ModeDir}, "outside/secret": {Data: []byte("not to be seen")},
	})
	dir = filepath.Join(dir, "tree")
	if err := errors.Join(err, os.Chtimes(filepath.Join(dir, "a.txt"), treeModified, treeModified)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// fsCalls has the calls that a file system answers for a name. They return the result as text.
var fsCalls = []struct {
	name string
	do   func(fsys fs.FS, name string) (string, error)
}{
	{"Stat", func(fsys fs.FS, name string) (string, error) { return fsText(fs.Stat(fsys, name)) }},
	{"Lstat", func(fsys fs.FS, name string) (string, error) { return fsText(fs.Lstat(fsys, name)) }},
	{"ReadLink", fs.ReadLink},
	{"ReadFile", func(fsys fs.FS, name string) (string, error) { return fsText(fs.ReadFile(fsys, name)) }},
	{"ReadDir", func(fsys fs.FS, name string) (string, error) { return fsText(fs.ReadDir(fsys, name)) }},
	{"Open", func(fsys fs.FS, name string) (string, error) {
		f, err := fsys.Open(name)
		if err != nil {
			return fsText(f, err)
		}
		defer f.Close()
		return fsText(f.Stat())
	}},
}

func fsText(v any, err error) (string, error) {
	if fi, ok := v.(fs.FileInfo); ok {
		v = fs.FormatFileInfo(fi)
	}
	return fmt.Sprintf("%s", v), err
}

func TestDirFS_TestFS(t *testing.T) {
	t.Parallel()
	dir := makeTree(t)
	filetest.Write(t, filepath.Join(dir, "big.bin"), filetest.Pattern(3000)) // TestFS reads byte by byte
	err := fstest.TestFS(mmapfile.DirFS(dir), "a.txt", "empty", "sub/deeper/d")
	if err == nil {
		return
	}
	root, rerr := os.OpenRoot(dir)
	if rerr != nil {
		t.Fatal(rerr)
	}
	defer root.Close()
	if fstest.TestFS(root.FS(), "a.txt") != nil { // qemu-user has two times for one file
		t.Skip("os.Root's own file system does not pass here either")
	}
	t.Error(err)
}

func TestDirFS_SameAsOSDirFS(t *testing.T) {
	t.Parallel()
	dir := makeTree(t)
	if err := os.Chmod(filepath.Join(dir, "site", "locked"), 0); err != nil { // ErrPermission, but for root
		t.Fatal(err)
	}
	dirs, names := []string{"", "missing", "a.txt"}, []string{
		"", "/", "/a", "/a.txt", "..", "../x", "../outside/secret", "a/../b", "sub/../a.txt", "./a.txt", "sub//c.txt", "sub/", "sub/.", "a.txt\x00",
		"missing", "missing/x", "sub/missing", "a.txt/x", strings.Repeat("long", 1000),
		".", "a.txt", "big.bin", "empty", "sub", "sub/c.txt", "sub/deeper", "site/locked", "site/locked/x",
	}
	if runtime.GOOS == "windows" {
		names = append(names, `sub\c.txt`, `\a.txt`, `C:\`, "C:", "a.txt:stream", "a.txt::$DATA", "NUL", "sub/COM1")
		dirs = dirs[:2] // os.DirFS and os.Root have different errors for names below a file there
	}
	if runtime.GOOS == "wasip1" {
		dirs = dirs[:2] // os opens "a.txt/." as a file there
	}
	kinds := func(err error) [3]bool {
		return [3]bool{errors.Is(err, fs.ErrInvalid), errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission)}
	}
	for _, call := range fsCalls {
		for _, in := range dirs {
			for _, name := range names {
				got, err := call.do(mmapfile.DirFS(filepath.Join(dir, in)), name)
				want, werr := call.do(os.DirFS(filepath.Join(dir, in)), name)
				pe, wpe := new(fs.PathError), new(fs.PathError)
				if got != want || errors.As(err, &pe) != errors.As(werr, &wpe) || kinds(err) != kinds(werr) || err != nil && pe.Path != name ||
					pe.Op != wpe.Op && !strings.HasPrefix(wpe.Op, "GetFile") { // Windows names the system call
					t.Errorf("%s of %.20q in %q: %.80q, %v, want %.80q, %v", call.name, name, in, got, err, want, werr)
				}
			}
		}
	}
}

// A fileRequest is a request of a browser. What net/http answers depends on GODEBUG, so os.DirFS says what is right.
type fileRequest struct {
	method, path string
	header       http.Header
}

var bigRequests = []fileRequest{
	{"GET", "/big.bin", nil},
	{"HEAD", "/big.bin", nil},
	{"GET", "/big.bin", http.Header{"Range": {"bytes=0-0"}}},
	{"GET", "/big.bin", http.Header{"Range": {"bytes=1000-850000"}}},
	{"HEAD", "/big.bin", http.Header{"Range": {"bytes=-100"}}},
	{"GET", "/big.bin", http.Header{"Range": {"bytes=0-9,5000-70000,-7"}}},
	{"GET", "/big.bin", http.Header{"Range": {"bytes=9000000-"}}},
	{"GET", "/big.bin", http.Header{"Range": {"bytes=nonsense"}}},
}

var treeRequests = append([]fileRequest{
	{"GET", "/empty", nil},
	{"GET", "/a.txt", http.Header{"Range": {"bytes=2-3"}, "If-Range": {httpTime(0)}}},
	{"GET", "/a.txt", http.Header{"Range": {"bytes=2-3"}, "If-Range": {httpTime(-time.Hour)}}},
	{"GET", "/a.txt", http.Header{"If-Modified-Since": {httpTime(0)}}},
	{"GET", "/a.txt", http.Header{"If-Unmodified-Since": {httpTime(-time.Hour)}}},
	{"GET", "/", nil},
	{"HEAD", "/sub/", nil},
	{"GET", "/site/", http.Header{"Range": {"bytes=1-2"}}},
	{"GET", "/site/index.html", nil},
	{"GET", "/missing", nil},
	{"HEAD", "/a.txt/x", nil},
}, bigRequests...)

// serveRequest returns the status and all of the response of a server of fsys.
func serveRequest(t testing.TB, fsys fs.FS, q fileRequest) (status int, response string) {
	t.Helper()
	request := httptest.NewRequest(q.method, q.path, nil)
	request.Header = q.header
	w := httptest.NewRecorder()
	http.FileServerFS(fsys).ServeHTTP(w, request)
	response, err := responseText(w.Result())
	if err != nil {
		t.Errorf("%v: %v", q, err)
	}
	return w.Code, response
}

// sameResponse checks that a server of fsys answers as one of os.DirFS(dir), and returns the status.
func sameResponse(t testing.TB, fsys fs.FS, dir string, q fileRequest) (status int) {
	t.Helper()
	_, got := serveRequest(t, fsys, q)
	status, want := serveRequest(t, os.DirFS(dir), q)
	filetest.SameBytes(t, fmt.Sprint(q), []byte(got), []byte(want))
	return status
}

func TestDirFS_FileServer(t *testing.T) {
	t.Parallel()
	dir := makeTree(t)
	statuses := make([]int, len(treeRequests))
	var all sync.WaitGroup
	for i, q := range treeRequests { // in parallel, as a server gets them
		all.Go(func() { statuses[i] = sameResponse(t, mmapfile.DirFS(dir), dir, q) })
	}
	all.Wait()
	for _, status := range []int{200, 206, 301, 304, 404, 412, 416} {
		if !slices.Contains(statuses, status) {
			t.Errorf("no request has the status %d: %v", status, statuses)
		}
	}
}

// A heldFile is a file, and a file system that opens this file for every name.
type heldFile struct{ *mmapfile.File }

func (h heldFile) Close() error { return nil }

func (h heldFile) Open(string) (fs.File, error) {
	_, err := h.Seek(0, io.SeekStart)
	return h, err
}

// Not parallel: it counts the mapped Files of the process.
func TestDirFS_FileServerResizedFile(t *testing.T) {
	filetest.NeedsGain(t)
	dir := makeTree(t)
	before := filetest.MappedFiles()
	f := openInDirFS(t, dir, "big.bin")
	for range 2 { // about 200 reads each; those of the second pass come back to pages
		if _, err := io.Copy(io.Discard, io.NewSectionReader(f, 0, bigSize)); err != nil {
			t.Fatal(err)
		}
	}
	if mapped := filetest.MappedFiles() > before; mapped != filetest.MapsUnasked {
		t.Errorf("mapped after many reads: %v, want %v", mapped, filetest.MapsUnasked)
	}
	for _, size := range []int64{bigSize, bigSize + 5, 2*bigSize + 1, bigSize - 1, 1_000_001, 1_000_000, 3 * bigSize} {
		if err := os.Truncate(filepath.Join(dir, "big.bin"), size); err != nil {
			t.Fatal(err)
		}
		for _, q := range bigRequests {
			if sameResponse(t, heldFile{f}, dir, q); t.Failed() {
				t.Fatal("with ", size, " bytes")
			}
		}
	}
}

// openInDirFS opens name by DirFS of dir, which must return a File.
func openInDirFS(t testing.TB, dir, name string) *mmapfile.File {
	t.Helper()
	f, err := mmapfile.DirFS(dir).Open(name)
	mf, ok := f.(*mmapfile.File)
	if !ok {
		t.Fatalf("Open returned a %T, %v", f, err)
	}
	t.Cleanup(func() { _ = mf.Close() })
	return mf
}

func TestDirFS_ConcurrentReads(t *testing.T) {
	t.Parallel()
	dir, want := makeTree(t), filetest.Pattern(bigSize)
	f := openInDirFS(t, dir, "big.bin")
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			at, err := io.ReadAll(io.NewSectionReader(f, 0, bigSize)) // many calls, the first ones unmapped
			whole, werr := fs.ReadFile(mmapfile.DirFS(dir), "big.bin")
			if err != nil || werr != nil {
				t.Error(err, werr)
			}
			filetest.SameBytes(t, "ReadAt", at, want)
			filetest.SameBytes(t, "ReadFile", whole, want)
		})
	}
	all.Wait()
}

func TestDirFS_ReadDirInPieces(t *testing.T) {
	t.Parallel()
	dir := makeTree(t)
	f := openInDirFS(t, dir, ".")
	var got []fs.DirEntry
	for {
		list, err := f.ReadDir(2)
		if err == io.EOF && len(list) == 0 {
			break
		}
		if err != nil || len(list) == 0 || len(list) > 2 {
			t.Fatalf("%d entries, %v", len(list), err)
		}
		got = append(got, list...)
	}
	slices.SortFunc(got, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	if want, err := fs.ReadDir(os.DirFS(dir), "."); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v, %v", got, want, err)
	}
}

// A listing looks up no entry before Info is called, as with os.DirFS: a file server would
// pay for each of them.
func TestDirFS_ReadDirLooksUpNothing(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("os.Root opens the directory here")
	}
	for _, n := range []int{-1, 0, 3} {
		for _, name := range []string{".", "sub"} {
			dir := makeTree(t)
			filetest.Write(t, filepath.Join(dir, name, "0gone"), nil)
			filetest.Write(t, filepath.Join(dir, name, "1other"), []byte("other"))
			f := openInDirFS(t, dir, name)
			var list []fs.DirEntry
			for { // with n > 0 in pieces
				part, err := f.ReadDir(n)
				if list = append(list, part...); n <= 0 || err == io.EOF {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Remove(filepath.Join(dir, name, "0gone")); err != nil {
				t.Fatal(err)
			}
			for _, e := range list {
				fi, err := e.Info()
				if e.Name() == "0gone" {
					if !errors.Is(err, fs.ErrNotExist) {
						t.Errorf("%s in pieces of %d: Info of a removed file: %v, %v", name, n, fi, err)
					}
					continue
				}
				if want, werr := os.Lstat(filepath.Join(dir, name, e.Name())); err != nil || werr != nil || !os.SameFile(fi, want) || e.IsDir() != want.IsDir() {
					t.Errorf("%s in pieces of %d: %v: %v, %v", name, n, e, err, werr)
				}
			}
		}
	}
}

func TestDirFS_FIFO(t *testing.T) {
	t.Parallel()
	dir := makeTree(t)
	// Not every package syscall has Mkfifo.
	if err := exec.Command("mkfifo", filepath.Join(dir, "sub", "fifo")).Run(); err != nil {
		t.Skip("no FIFO can be made here: ", err)
	}
	filetest.Within(t, func() {
		for call, name := range map[int]string{0: "sub/fifo", 1: "sub/fifo", 4: "sub"} { // Stat, Lstat, ReadDir
			got, err := fsCalls[call].do(mmapfile.DirFS(dir), name)
			if want, werr := fsCalls[call].do(os.DirFS(dir), name); err != nil || werr != nil || got != want {
				t.Errorf("%s: %q, %v, want %q, %v", fsCalls[call].name, got, err, want, werr)
			}
		}
	})
}
