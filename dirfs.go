package mmapfile

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"go.dw1.io/mmapfile/internal/file"
	"go.dw1.io/mmapfile/internal/sys"
)

// DirFS returns a file system for the directory dir, as [os.DirFS] does, whose Open returns a
// *[File]. It is worthwhile for a file that stays open and is read in small parts, such as a
// SQLite database or an archive. A server that opens a file for each request gains nothing. DirFS
// also has the methods of [fs.StatFS], [fs.ReadDirFS], [fs.ReadFileFS] and [fs.ReadLinkFS], and
// need not be closed.
//
// Unlike with os.DirFS, names cannot escape dir: see [os.Root]. A symbolic link that leads
// outside fails with [fs.ErrPermission], which http.FileServerFS reports as 403. A name that is
// not valid here ([fs.ValidPath], [filepath.Localize]) fails with [fs.ErrInvalid], and so does
// every name if dir is "".
//
// The first call opens dir, and the next one if that fails. From then on the file system is that
// directory, whatever is renamed, and has it open until it is unreachable. On Windows, it cannot be
// renamed or removed meanwhile. dir, and each directory on the way to a name, must be readable.
func DirFS(dir string) fs.FS { return &dirFS{dir: dir} }

type dirFS struct {
	dir  string
	mu   sync.Mutex
	root *os.Root // nil before the first call
	at   *os.File // what root has open
	told *os.Root // closed: a call of it tells "go test" what a test depends on, and fails
}

var (
	_ fs.StatFS     = (*dirFS)(nil)
	_ fs.ReadDirFS  = (*dirFS)(nil)
	_ fs.ReadFileFS = (*dirFS)(nil)
	_ fs.ReadLinkFS = (*dirFS)(nil)
)

func (d *dirFS) Open(name string) (fs.File, error) {
	inner, dir, err := d.open(name)
	if err != nil {
		return nil, err
	}
	f := newFile(inner, os.O_RDONLY)
	if dir {
		file.SetEntries(f.file, func(list []fs.DirEntry, all bool) { d.entries(name, list, all) })
	}
	return f, nil
}

// open opens name. dir says that it is a directory whose entries have no FileInfo yet.
func (d *dirFS) open(name string) (f *os.File, dir bool, err error) {
	f, err = inRoot(d, "open", name, func(root *os.Root, local string) (*os.File, error) {
		_, _ = d.told.Open(local)
		f, dir, err = sys.OpenBeneath(d.at, local)
		if err != nil {
			return root.Open(local)
		}
		return f, nil
	})
	return f, dir, err
}

func (d *dirFS) Stat(name string) (fs.FileInfo, error) {
	return inRoot(d, "stat", name, (*os.Root).Stat)
}

func (d *dirFS) Lstat(name string) (fs.FileInfo, error) {
	return inRoot(d, "lstat", name, (*os.Root).Lstat)
}

func (d *dirFS) ReadLink(name string) (string, error) {
	return inRoot(d, "readlink", name, (*os.Root).Readlink)
}

func (d *dirFS) ReadFile(name string) ([]byte, error) {
	b, err := fs.ReadFile(opener(d.Open), name)
	return b, named(name, err)
}

// An opener is a file system with no method but Open.
type opener func(name string) (fs.File, error)

func (o opener) Open(name string) (fs.File, error) { return o(name) }

func (d *dirFS) ReadDir(name string) ([]fs.DirEntry, error) {
	f, dir, err := d.open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	list, err := f.ReadDir(-1)
	if dir {
		d.entries(name, list, true)
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, named(name, err)
}

// named gives err, which is new, the name of the file as the caller has it.
func named(name string, err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		pe.Path = name
	}
	return err
}

// inRoot calls fn with the root, and with name as the system writes it. Errors are those of os.DirFS
// for op and name.
func inRoot[T any](d *dirFS, op, name string, fn func(r *os.Root, local string) (T, error)) (v T, err error) {
	local, err := filepath.Localize(name)
	if err != nil || d.dir == "" {
		return v, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	root, err := d.openRoot()
	if err == nil {
		v, err = fn(root, local)
	}
	if err == nil {
		return v, nil
	}
	err = cause(err)
	if root != nil {
		_, out := root.Lstat("..") // os does not export its error
		if errors.Is(err, cause(out)) {
			err = escapeError{err}
		}
	}
	return v, &fs.PathError{Op: op, Path: name, Err: err}
}

// openRoot opens the root by the first call that can.
func (d *dirFS) openRoot() (*os.Root, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.root != nil {
		return d.root, nil
	}
	told, err := os.OpenRoot(d.dir)
	if err != nil {
		return nil, err
	}
	told.Close()
	root, err := os.OpenRoot(d.dir)
	if err != nil {
		return nil, err
	}
	at, err := root.Open(".")
	if err != nil {
		root.Close()
		return nil, err
	}
	d.root, d.at, d.told = root, at, told
	return root, nil
}

// An escapeError is os.Root's error for a name that leads out of it. It embeds none: go doc would take error for a type
// of the package, and list Open apart from File.
type escapeError struct{ cause error }

func (e escapeError) Error() string        { return e.cause.Error() }
func (e escapeError) Unwrap() error        { return e.cause }
func (e escapeError) Is(target error) bool { return target == fs.ErrPermission }

// entries replaces the elements of list, which was read of the directory name, by entries that do
// not leave d. all says that list is the whole directory.
func (d *dirFS) entries(name string, list []fs.DirEntry, all bool) {
	l, entries := &listing{fsys: d, dir: name}, make([]entry, len(list))
	if all {
		l.all = entries
	}
	for i := range list {
		entries[i] = entry{DirEntry: list[i], list: l}
		list[i] = &entries[i]
	}
}

// An entry reads its FileInfo when Info is called, as that of os.ReadDir does, but not by the
// directory's path, which may lead out of d by then.
type entry struct {
	fs.DirEntry
	list *listing
	info fs.FileInfo
}

func (e *entry) String() string { return fs.FormatDirEntry(e) }

func (e *entry) Info() (fs.FileInfo, error) {
	l := e.list
	if l.once.Do(l.readInfos); e.info != nil {
		return e.info, nil
	}
	return l.fsys.Lstat(path.Join(l.dir, e.Name()))
}

// A listing has the entries of a directory in the directory's order. The first Info reads that of
// all, because to look up each in the root costs up to three times as much as os.Lstat.
type listing struct {
	fsys *dirFS
	dir  string
	all  []entry // nil for a part of the directory
	once sync.Once
}

func (l *listing) readInfos() {
	if l.all == nil {
		return
	}
	f, _, err := l.fsys.open(l.dir)
	if err != nil {
		return
	}
	defer f.Close()
	infos, _ := f.Readdir(-1)
	for i, fi := range infos[:min(len(infos), len(l.all))] {
		if e := &l.all[i]; e.Name() == fi.Name() {
			e.info = fi
		}
	}
}
