package mmapfile_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"go.dw1.io/mmapfile"
)

const ftBig = 2_000_000 // served in more than 16 reads, whatever their size
var ftModified = time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)

func ftSince(d time.Duration) string { return ftModified.Add(d).Format(http.TimeFormat) }

// ftTree makes a directory with files in it, next to one called outside.
func ftTree(t testing.TB) string {
	t.Helper()
	dir := ftDir(t)
	err := os.CopyFS(dir, fstest.MapFS{
		"tree/a.txt": {Data: []byte("a text")}, "tree/big.bin": {Data: ftPattern(ftBig)}, "tree/empty": {},
		"tree/sub/c.txt": {Data: []byte("below")}, "tree/sub/deeper/d": {}, "tree/site/index.html": {Data: []byte("<h1>index</h1>")},
		"tree/site/locked": {Mode: fs.ModeDir}, "outside/secret": {Data: []byte("not to be seen")},
	})
	dir = filepath.Join(dir, "tree")
	if err := errors.Join(err, os.Chtimes(filepath.Join(dir, "a.txt"), ftModified, ftModified)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// ftEscapes are names in ftLinks' directory that lead out of it.
var ftEscapes = []string{"out", "outDir", "outDir/secret", "abs", "absInside", "chain", "viaDir", "sub/up", "sub/upDir/secret"}

// ftLinks is ftTree with symbolic links in it, some to a directory outside.
func ftLinks(t testing.TB) string {
	t.Helper()
	dir := ftTree(t)
	secret := filepath.Join(filepath.Dir(dir), "outside", "secret")
	for _, link := range [][2]string{ // directories before what leads to them, as Windows wants it
		{"in", "a.txt"}, {"inDir", "sub"}, {"sub/back", "../a.txt"}, {"inChain", "inDir/back"},
		{"outDir", "../outside"}, {"out", "../outside/secret"}, {"abs", secret}, {"absInside", filepath.Join(dir, "a.txt")},
		{"chain", "chain2"}, {"chain2", "sub/chain3"}, {"sub/chain3", "../out"}, {"viaDir", "outDir/secret"},
		{"sub/up", "../../outside/secret"}, {"sub/upDir", "../outDir"}, {"loop", "loop"}, {"dangling", "nothing"},
	} {
		err := os.Symlink(filepath.FromSlash(link[1]), filepath.Join(dir, filepath.FromSlash(link[0])))
		if _, serr := os.Stat(filepath.Join(dir, "in")); err != nil || serr != nil {
			t.Skip("no symbolic links here: ", err, serr)
		}
	}
	for _, name := range ftEscapes { // or else a refusal would say nothing
		if _, err := fs.Stat(os.DirFS(dir), name); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// ftFSCalls are the ways to ask a file system for a name; they give what they got as text.
var ftFSCalls = []struct {
	name string
	do   func(fsys fs.FS, name string) (string, error)
}{
	{"Stat", func(fsys fs.FS, name string) (string, error) { return ftText(fs.Stat(fsys, name)) }},
	{"Lstat", func(fsys fs.FS, name string) (string, error) { return ftText(fs.Lstat(fsys, name)) }},
	{"ReadLink", fs.ReadLink},
	{"ReadFile", func(fsys fs.FS, name string) (string, error) { return ftText(fs.ReadFile(fsys, name)) }},
	{"ReadDir", func(fsys fs.FS, name string) (string, error) { return ftText(fs.ReadDir(fsys, name)) }},
	{"Open", func(fsys fs.FS, name string) (string, error) {
		f, err := fsys.Open(name)
		if err != nil {
			return ftText(f, err)
		}
		defer f.Close()
		return ftText(f.Stat())
	}},
}

func ftText(v any, err error) (string, error) {
	if fi, ok := v.(fs.FileInfo); ok {
		v = fs.FormatFileInfo(fi)
	}
	return fmt.Sprintf("%s", v), err
}

func TestDirFSPassesTestFS(t *testing.T) {
	t.Parallel()
	dir := ftTree(t)
	ftPut(t, filepath.Join(dir, "big.bin"), ftPattern(3000)) // since TestFS reads byte by byte
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

func TestDirFSAnswersAndFailsAsOSDirFS(t *testing.T) {
	t.Parallel()
	dir := ftTree(t)
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
		dirs = dirs[:2] // below a file nothing exists there, os.DirFS says, and os.Root that it is no directory
	}
	if runtime.GOOS == "wasip1" {
		dirs = dirs[:2] // there os takes "a.txt/." for a file
	}
	kinds := func(err error) [3]bool {
		return [3]bool{errors.Is(err, fs.ErrInvalid), errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission)}
	}
	for _, call := range ftFSCalls {
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

func TestDirFSRefusesSymlinkOutOfTheDirectoryAndNoOther(t *testing.T) {
	t.Parallel()
	dir := ftLinks(t)
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, name := range append([]string{"loop", "dangling", "in", "inDir", "inDir/c.txt", "inChain"}, ftEscapes...) {
		for _, call := range ftFSCalls {
			got, err := call.do(mmapfile.DirFS(dir), name)
			want, werr := call.do(root.FS(), name)
			if got != want || fmt.Sprint(errors.Unwrap(err)) != fmt.Sprint(errors.Unwrap(werr)) {
				t.Errorf("%s of %s: %q, %v, want %q, %v", call.name, name, got, err, want, werr)
			}
			last := call.name == "Lstat" || call.name == "ReadLink" // they do not follow the last link
			refused := slices.Contains(ftEscapes, name) && (!last || strings.HasSuffix(name, "/secret"))
			if refused && err == nil || call.name == "Stat" && strings.HasPrefix(name, "in") && err != nil {
				t.Errorf("%s of %s: %q, %v", call.name, name, got, err)
			}
		}
	}
	for _, name := range ftEscapes {
		ftServed(t, mmapfile.DirFS(dir), ftRequest{403, "GET", "/" + name, nil})
	}
}

func TestDirFSKeepsSubGlobAndWalkDirInside(t *testing.T) {
	t.Parallel()
	fsys := mmapfile.DirFS(ftLinks(t))
	sub, err := fs.Sub(fsys, "outDir")
	if err != nil {
		t.Fatal(err)
	}
	for _, call := range ftFSCalls {
		if got, err := call.do(sub, "secret"); err == nil {
			t.Errorf("%s in Sub gave %q", call.name, got)
		}
	}
	for pattern, want := range map[string]string{"*/secret": "[]", "outDir/s*": "[]", "sub/*/sec*": "[]", "inDir/*t": "[inDir/c.txt]"} {
		if got, err := fs.Glob(fsys, pattern); err != nil || fmt.Sprint(got) != want {
			t.Errorf("Glob of %s: %q, %v, want %s", pattern, got, err, want)
		}
	}
	for _, from := range []string{".", "outDir", "sub/upDir"} {
		_ = fs.WalkDir(fsys, from, func(name string, _ fs.DirEntry, err error) error {
			if strings.HasSuffix(name, "/secret") || from != "." && err == nil {
				t.Errorf("WalkDir of %s saw %s", from, name)
			}
			return err
		})
	}
}

// An ftRequest is what a browser may ask for, with the status to come.
type ftRequest struct {
	status       int
	method, path string
	header       http.Header
}

var ftBigRequests = []ftRequest{
	{200, "GET", "/big.bin", nil},
	{200, "HEAD", "/big.bin", nil},
	{206, "GET", "/big.bin", http.Header{"Range": {"bytes=0-0"}}},
	{206, "GET", "/big.bin", http.Header{"Range": {"bytes=1000-850000"}}},
	{206, "HEAD", "/big.bin", http.Header{"Range": {"bytes=-100"}}},
	{206, "GET", "/big.bin", http.Header{"Range": {"bytes=0-9,5000-70000,-7"}}},
	{416, "GET", "/big.bin", http.Header{"Range": {"bytes=9000000-"}}},
	{416, "GET", "/big.bin", http.Header{"Range": {"bytes=nonsense"}}},
}

var ftTreeRequests = append([]ftRequest{
	{200, "GET", "/empty", nil},
	{206, "GET", "/a.txt", http.Header{"Range": {"bytes=2-3"}, "If-Range": {ftSince(0)}}},
	{200, "GET", "/a.txt", http.Header{"Range": {"bytes=2-3"}, "If-Range": {ftSince(-time.Hour)}}},
	{304, "GET", "/a.txt", http.Header{"If-Modified-Since": {ftSince(0)}}},
	{412, "GET", "/a.txt", http.Header{"If-Unmodified-Since": {ftSince(-time.Hour)}}},
	{200, "GET", "/", nil},
	{200, "HEAD", "/sub/", nil},
	{206, "GET", "/site/", http.Header{"Range": {"bytes=1-2"}}},
	{301, "GET", "/site/index.html", nil},
	{404, "GET", "/missing", nil},
	{404, "HEAD", "/a.txt/x", nil},
}, ftBigRequests...)

// ftServed is the answer of a server of fsys.
func ftServed(t testing.TB, fsys fs.FS, q ftRequest) []byte {
	t.Helper()
	request := httptest.NewRequest(q.method, q.path, nil)
	request.Header = q.header
	w := httptest.NewRecorder()
	http.FileServerFS(fsys).ServeHTTP(w, request)
	text, err := ftAnswer(w.Result())
	if err != nil || w.Code != q.status {
		t.Errorf("%v: status %d, %v", q, w.Code, err)
	}
	return []byte(text)
}

func TestDirFSIsServedAsOSDirFSIs(t *testing.T) {
	t.Parallel()
	dir := ftTree(t)
	var all sync.WaitGroup
	for _, q := range ftTreeRequests { // all at once, as a server is asked
		all.Go(func() { ftSame(t, fmt.Sprint(q), ftServed(t, mmapfile.DirFS(dir), q), ftServed(t, os.DirFS(dir), q)) })
	}
	all.Wait()
}

// An ftHeld is a file, and a file system that opens this one again and again.
type ftHeld struct{ *mmapfile.File }

func (h ftHeld) Close() error { return nil }
func (h ftHeld) Open(string) (fs.File, error) {
	_, err := h.Seek(0, io.SeekStart)
	return h, err
}

func TestDirFSServesMappedFileThatOthersGrowAndCut(t *testing.T) {
	t.Parallel()
	dir := ftTree(t)
	f := ftOpenIn(t, dir, "big.bin")
	for range 2 { // in some 200 reads each; the second one comes back to pages
		if _, err := io.Copy(io.Discard, io.NewSectionReader(f, 0, ftBig)); err != nil {
			t.Fatal(err)
		}
	}
	if mmapfile.Mapped(f) != mmapfile.MapsUnasked {
		t.Errorf("mapped after many reads: %v, want %v", mmapfile.Mapped(f), mmapfile.MapsUnasked)
	}
	for _, size := range []int64{ftBig, ftBig + 5, 2*ftBig + 1, ftBig - 1, 1_000_001, 1_000_000, 3 * ftBig} {
		if err := os.Truncate(filepath.Join(dir, "big.bin"), size); err != nil {
			t.Fatal(err)
		}
		for _, q := range ftBigRequests {
			ftSame(t, fmt.Sprint(size, " bytes: ", q), ftServed(t, ftHeld{f}, q), ftServed(t, os.DirFS(dir), q))
		}
	}
}

// ftOpenIn opens name in DirFS of dir, which must give a File.
func ftOpenIn(t testing.TB, dir, name string) *mmapfile.File {
	t.Helper()
	f, err := mmapfile.DirFS(dir).Open(name)
	mf, ok := f.(*mmapfile.File)
	if !ok {
		t.Fatalf("Open gave a %T, %v", f, err)
	}
	t.Cleanup(func() { _ = mf.Close() })
	return mf
}

func TestDirFSFileIsReadConcurrently(t *testing.T) {
	t.Parallel()
	dir, want := ftTree(t), ftPattern(ftBig)
	f := ftOpenIn(t, dir, "big.bin")
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			at, err := io.ReadAll(io.NewSectionReader(f, 0, ftBig)) // many calls, the first of them not mapped
			whole, werr := fs.ReadFile(mmapfile.DirFS(dir), "big.bin")
			if err != nil || werr != nil {
				t.Error(err, werr)
			}
			ftSame(t, "ReadAt", at, want)
			ftSame(t, "ReadFile", whole, want)
		})
	}
	all.Wait()
}

func TestDirFSReadsDirectoryInPieces(t *testing.T) {
	t.Parallel()
	dir := ftTree(t)
	f := ftOpenIn(t, dir, ".")
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

// The directory is looked up at every call, as by os.DirFS.
func TestDirFS_DirectoryReplaced(t *testing.T) {
	t.Parallel()
	top := filepath.Dir(ftLinks(t))
	dir, other, link := filepath.Join(top, "tree"), filepath.Join(top, "outside"), filepath.Join(top, "link")
	must := func(errs ...error) {
		t.Helper()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
	}
	must(os.Symlink(dir, link), os.MkdirAll(filepath.Join(other, "sub", "deeper"), 0o755))
	ftPut(t, filepath.Join(other, "a.txt"), []byte("another text"))
	ftPut(t, filepath.Join(other, "sub", "c.txt"), []byte("another text below"))
	ours, want := [2]fs.FS{mmapfile.DirFS(dir), mmapfile.DirFS(link)}, [2]fs.FS{os.DirFS(dir), os.DirFS(link)}
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"as it was", func() error { return nil }},
		{"renamed", func() error { return os.Rename(dir, dir+"old") }},
		{"another in its place", func() error { return os.Rename(other, dir) }},
		{"the link replaced", func() error { return errors.Join(os.Remove(link), os.Symlink(dir+"old", link)) }},
		{"removed", func() error { return os.RemoveAll(dir) }},
		{"made again", func() error { return os.Mkdir(dir, 0o755) }},
		{"a file in its place", func() error { return errors.Join(os.Remove(dir), os.WriteFile(dir, nil, 0o644)) }},
	} {
		must(step.do())
		for _, call := range ftFSCalls {
			for _, name := range []string{".", "a.txt", "sub", "sub/c.txt", "sub/deeper", "big.bin"} {
				for i := range ours {
					got, err := call.do(ours[i], name)
					text, werr := call.do(want[i], name)
					if got != text || errors.Is(err, fs.ErrNotExist) != errors.Is(werr, fs.ErrNotExist) || (err == nil) != (werr == nil) {
						t.Errorf("%s, %s of %s: %.80q, %v, want %.80q, %v", step.name, call.name, name, got, err, text, werr)
					}
				}
			}
		}
	}
}

func TestDirFS_EscapeIsErrPermission(t *testing.T) {
	t.Parallel()
	dir := ftLinks(t)
	link := dir + "link"
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	for _, in := range []string{dir, link} {
		for _, name := range append([]string{"outDir/missing", "sub/upDir/missing"}, ftEscapes...) {
			for _, call := range ftFSCalls {
				if call.name == "Lstat" || call.name == "ReadLink" {
					continue // of the link itself
				}
				_, err := call.do(mmapfile.DirFS(in), name)
				if pe := new(fs.PathError); !errors.Is(err, fs.ErrPermission) || !errors.As(err, &pe) || pe.Path != name {
					t.Errorf("%s of %s: %v", call.name, name, err)
				}
			}
			ftServed(t, mmapfile.DirFS(in), ftRequest{403, "GET", "/" + name, nil})
		}
		ftServed(t, mmapfile.DirFS(in), ftRequest{404, "GET", "/dangling", nil})
	}
}

// What Info says comes from the directory that was listed, or from one below dir.
func TestDirFS_InfoOfReplacedDirectory(t *testing.T) {
	t.Parallel()
	dir := ftLinks(t)
	secret := filepath.Join(filepath.Dir(dir), "outside")
	ftPut(t, filepath.Join(secret, "c.txt"), []byte("a longer text"))
	fsys := mmapfile.DirFS(dir)
	for _, name := range []string{".", "sub"} {
		list, err := fs.ReadDir(fsys, name)
		want, werr := fs.ReadDir(os.DirFS(dir), name)
		if err != nil || werr != nil || len(list) != len(want) {
			t.Fatal(list, err, werr)
		}
		for i, e := range list {
			for range 3 {
				fi, err := e.Info()
				wfi, werr := want[i].Info()
				if err != nil || werr != nil || fs.FormatFileInfo(fi) != fs.FormatFileInfo(wfi) || !os.SameFile(fi, wfi) || e.Type() != want[i].Type() {
					t.Errorf("%v: %v, %v, want %v, %v", e, fi, err, wfi, werr)
				}
			}
		}
	}
	list, err := fs.ReadDir(fsys, "sub")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Rename(filepath.Join(dir, "sub"), dir+"sub"), os.Symlink(secret, filepath.Join(dir, "sub"))); err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if fi, err := e.Info(); e.Name() == "c.txt" && err == nil && fi.Size() != int64(len("below")) {
			t.Errorf("Info is of a file outside: %v", fi)
		}
	}
	ftPut(t, filepath.Join(dir, "gone"), nil)
	list, err = fs.ReadDir(fsys, ".")
	if err = errors.Join(err, os.Remove(filepath.Join(dir, "gone"))); err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if _, err := e.Info(); e.Name() == "gone" && err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Info of a removed file: %v", err)
		}
	}
}

// A directory that turns into a link during a call does not lead out either.
func TestDirFS_DirectoryBecomesLink(t *testing.T) {
	if runtime.GOOS == "js" || runtime.GOOS == "plan9" {
		t.Skip("os.Root does not promise it here")
	}
	t.Parallel()
	dir := ftLinks(t)
	sub, away := filepath.Join(dir, "sub"), filepath.Join(dir, "away")
	ftPut(t, filepath.Join(filepath.Dir(dir), "outside", "c.txt"), []byte("a longer text"))
	fsys := mmapfile.DirFS(dir)
	ftWithin(t, 60*time.Second, func() {
		var stop atomic.Bool
		var swapping sync.WaitGroup
		swapping.Go(func() {
			for !stop.Load() {
				_ = os.Rename(sub, away)
				_ = os.Rename(filepath.Join(dir, "outDir"), sub)
				_ = os.Rename(sub, filepath.Join(dir, "outDir"))
				_ = os.Rename(away, sub)
			}
		})
		seen := 0
		for i := 0; i < 20_000 && (i < 2000 || seen == 0); i++ {
			if fi, err := fs.Stat(fsys, "sub/c.txt"); err == nil && fi.Size() != 5 {
				t.Errorf("Stat saw %v", fi)
			}
			if b, err := fs.ReadFile(fsys, "sub/c.txt"); err == nil && string(b) != "below" {
				t.Errorf("ReadFile gave %q", b)
			} else if err == nil {
				seen++
			}
			if list, err := fs.ReadDir(fsys, "sub"); err == nil && slices.ContainsFunc(list, func(e fs.DirEntry) bool { return e.Name() == "secret" }) {
				t.Errorf("ReadDir gave %v", list)
			}
		}
		stop.Store(true)
		swapping.Wait()
		if seen == 0 {
			t.Skip("it was never there")
		}
	})
}

func TestDirFSDoesNotWaitForFIFO(t *testing.T) {
	t.Parallel()
	dir := ftTree(t)
	// The command, since package syscall has no Mkfifo everywhere.
	if err := exec.Command("mkfifo", filepath.Join(dir, "sub", "fifo")).Run(); err != nil {
		t.Skip("no FIFO can be made here: ", err)
	}
	ftWithin(t, 20*time.Second, func() {
		for call, name := range map[int]string{0: "sub/fifo", 1: "sub/fifo", 4: "sub"} { // Stat, Lstat, ReadDir
			got, err := ftFSCalls[call].do(mmapfile.DirFS(dir), name)
			if want, werr := ftFSCalls[call].do(os.DirFS(dir), name); err != nil || werr != nil || got != want {
				t.Errorf("%s: %q, %v, want %q, %v", ftFSCalls[call].name, got, err, want, werr)
			}
		}
	})
}

func TestDirFSLeaksNoDescriptors(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc/self/fd")
	}
	dir := ftLinks(t)
	count := func(want int, what ...any) { // below dir alone, whose name has ours in it: other tests run beside this one
		t.Helper()
		names, _ := filepath.Glob("/proc/self/fd/*")
		names = slices.DeleteFunc(names, func(name string) bool {
			target, _ := os.Readlink(name)
			return !strings.Contains(target, t.Name())
		})
		if len(names) != want {
			t.Fatalf("%d descriptors, want %d, after %v", len(names), want, what)
		}
	}
	f := ftOpenIn(t, dir, "a.txt")
	count(1, "Open")
	f.Close()
	for _, call := range ftFSCalls {
		for _, name := range append([]string{".", "a.txt", "big.bin", "sub", "missing", "a.txt/x", "", "in", "loop"}, ftEscapes...) {
			_, err := call.do(mmapfile.DirFS(dir), name)
			_, ferr := call.do(mmapfile.DirFS(filepath.Join(dir, "a.txt")), name) // which is no directory
			count(0, call.name, name, err, ferr)
		}
	}
}

// A part of a file, as a browser asks for it when a download goes on.
func ExampleDirFS() {
	dir, err := os.MkdirTemp("", "mmapfile")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "words.txt"), []byte("one\ntwo\nthree\n"), 0o666); err != nil {
		log.Fatal(err)
	}
	request := httptest.NewRequest("GET", "/words.txt", nil)
	request.Header.Set("Range", "bytes=4-6")
	answer := httptest.NewRecorder()
	http.FileServerFS(mmapfile.DirFS(dir)).ServeHTTP(answer, request) // was: os.DirFS(dir)
	fmt.Println(answer.Code, answer.Header().Get("Content-Range"))
	fmt.Println(answer.Body)
	// Output:
	// 206 bytes 4-6/14
	// two
}
