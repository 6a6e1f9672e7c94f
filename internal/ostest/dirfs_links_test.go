package ostest

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/filetest"
)

// escapes are the names in the directory of makeLinkTree that lead out of it.
var escapes = []string{"out", "outDir", "outDir/secret", "abs", "absInside", "chain", "viaDir", "sub/up", "sub/upDir/secret"}

// makeLinkTree makes a tree with symbolic links. Some of them lead out of it.
func makeLinkTree(t testing.TB) string {
	t.Helper()
	dir := makeTree(t)
	secret := filepath.Join(filepath.Dir(dir), "outside", "secret")
	for _, link := range [][2]string{ // Windows needs directories before the links to them
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
	for _, name := range escapes { // else a refusal would prove nothing
		if _, err := fs.Stat(os.DirFS(dir), name); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestDirFS_SymlinkOutside(t *testing.T) {
	t.Parallel()
	dir := makeLinkTree(t)
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, name := range append([]string{"loop", "dangling", "in", "inDir", "inDir/c.txt", "inChain"}, escapes...) {
		for _, call := range fsCalls {
			got, err := call.do(mmapfile.DirFS(dir), name)
			want, werr := call.do(root.FS(), name)
			if got != want || fmt.Sprint(errors.Unwrap(err)) != fmt.Sprint(errors.Unwrap(werr)) {
				t.Errorf("%s of %s: %q, %v, want %q, %v", call.name, name, got, err, want, werr)
			}
			last := call.name == "Lstat" || call.name == "ReadLink" // they do not follow the last link
			refused := slices.Contains(escapes, name) && (!last || strings.HasSuffix(name, "/secret"))
			if refused && err == nil || call.name == "Stat" && strings.HasPrefix(name, "in") && err != nil {
				t.Errorf("%s of %s: %q, %v", call.name, name, got, err)
			}
		}
	}
	for _, name := range escapes {
		wantStatus(t, mmapfile.DirFS(dir), "/"+name, http.StatusForbidden)
	}
}

// wantStatus checks the status of a GET of path. os.DirFS follows links out of the directory, and says nothing here.
func wantStatus(t testing.TB, fsys fs.FS, path string, want int) {
	t.Helper()
	if status, _ := serveRequest(t, fsys, fileRequest{"GET", path, nil}); status != want {
		t.Errorf("GET %s: status %d, want %d", path, status, want)
	}
}

func TestDirFS_SubGlobWalkDir(t *testing.T) {
	t.Parallel()
	fsys := mmapfile.DirFS(makeLinkTree(t))
	sub, err := fs.Sub(fsys, "outDir")
	if err != nil {
		t.Fatal(err)
	}
	for _, call := range fsCalls {
		if got, err := call.do(sub, "secret"); err == nil {
			t.Errorf("%s in Sub returned %q", call.name, got)
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

func TestDirFS_EscapeIsErrPermission(t *testing.T) {
	t.Parallel()
	dir := makeLinkTree(t)
	link := dir + "link"
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	for _, in := range []string{dir, link} {
		for _, name := range append([]string{"outDir/missing", "sub/upDir/missing"}, escapes...) {
			for _, call := range fsCalls {
				if call.name == "Lstat" || call.name == "ReadLink" {
					continue // of the link itself
				}
				_, err := call.do(mmapfile.DirFS(in), name)
				if pe := new(fs.PathError); !errors.Is(err, fs.ErrPermission) || !errors.As(err, &pe) || pe.Path != name {
					t.Errorf("%s of %s: %v", call.name, name, err)
				}
			}
			wantStatus(t, mmapfile.DirFS(in), "/"+name, http.StatusForbidden)
		}
		wantStatus(t, mmapfile.DirFS(in), "/dangling", http.StatusNotFound)
	}
}

// DirFS looks the directory up at each call, as os.DirFS does.
func TestDirFS_DirectoryReplaced(t *testing.T) {
	t.Parallel()
	top := filepath.Dir(makeLinkTree(t))
	dir, other, link := filepath.Join(top, "tree"), filepath.Join(top, "outside"), filepath.Join(top, "link")
	must := func(errs ...error) {
		t.Helper()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
	}
	must(os.Symlink(dir, link), os.MkdirAll(filepath.Join(other, "sub", "deeper"), 0o755))
	filetest.Write(t, filepath.Join(other, "a.txt"), []byte("another text"))
	filetest.Write(t, filepath.Join(other, "sub", "c.txt"), []byte("another text below"))
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
		for _, call := range fsCalls {
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

// Info is about a file in the directory that was listed, or below dir.
func TestDirFS_InfoOfReplacedDirectory(t *testing.T) {
	t.Parallel()
	dir := makeLinkTree(t)
	secret := filepath.Join(filepath.Dir(dir), "outside")
	filetest.Write(t, filepath.Join(secret, "c.txt"), []byte("a longer text"))
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
	filetest.Write(t, filepath.Join(dir, "gone"), nil)
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

// A directory that becomes a link during a call does not lead out either.
func TestDirFS_DirectoryBecomesLink(t *testing.T) {
	if runtime.GOOS == "js" || runtime.GOOS == "plan9" {
		t.Skip("os.Root does not promise it here")
	}
	t.Parallel()
	dir := makeLinkTree(t)
	sub, away := filepath.Join(dir, "sub"), filepath.Join(dir, "away")
	filetest.Write(t, filepath.Join(filepath.Dir(dir), "outside", "c.txt"), []byte("a longer text"))
	fsys := mmapfile.DirFS(dir)
	filetest.Within(t, func() {
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
				t.Errorf("ReadFile returned %q", b)
			} else if err == nil {
				seen++
			}
			if list, err := fs.ReadDir(fsys, "sub"); err == nil && slices.ContainsFunc(list, func(e fs.DirEntry) bool { return e.Name() == "secret" }) {
				t.Errorf("ReadDir returned %v", list)
			}
		}
		stop.Store(true)
		swapping.Wait()
		if seen == 0 {
			t.Skip("the file was never seen")
		}
	})
}

func TestDirFS_Descriptors(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc/self/fd")
	}
	dir := makeLinkTree(t)
	count := func(want int, what ...any) { // only below dir, because other tests run beside this one
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
	f := openInDirFS(t, dir, "a.txt")
	count(1, "Open")
	f.Close()
	for _, call := range fsCalls {
		for _, name := range append([]string{".", "a.txt", "big.bin", "sub", "missing", "a.txt/x", "", "in", "loop"}, escapes...) {
			_, err := call.do(mmapfile.DirFS(dir), name)
			_, ferr := call.do(mmapfile.DirFS(filepath.Join(dir, "a.txt")), name) // which is no directory
			count(0, call.name, name, err, ferr)
		}
	}
}
