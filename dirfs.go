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
	"sync/atomic"

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
func DirFS(dir string) fs.FS { return dirFS{dir, new(atomic.Bool)} }

type dirFS struct {
	path   string
	linked *atomic.Bool // a hint for sys.PlainPath: path itself has a link in it
}

var (
	_ fs.StatFS     = dirFS{}
	_ fs.ReadDirFS  = dirFS{}
	_ fs.ReadFileFS = dirFS{}
	_ fs.ReadLinkFS = dirFS{}
)

func (d dirFS) Open(name string) (fs.File, error) {
	inner, dir, err := d.open("open", name)
	if err != nil {
		return nil, err
	}
	f := newFile(inner, os.O_RDONLY)
	if dir != nil {
		file.SetEntries(f.file, dir.entries)
	}
	return f, nil
}

// open opens name for reading. If name is a directory that was opened without os.Root, dir is its
// path: its entries have no FileInfo yet.
func (d dirFS) open(op, name string) (f *os.File, dir *dirPath, err error) {
	p, err := d.in(op, name)
	if err != nil {
		return nil, nil, err
	}
	f, isDir, err := p.OpenPlain(false)
	if err == nil {
		if isDir {
			dir = &dirPath{}
			*dir = p // p itself would escape to the heap for every file
		}
		return f, dir, nil
	}
	err = p.inRoot(op, err, func(r *os.Root) error {
		f, err = r.Open(p.Local)
		return err
	})
	return f, nil, err
}

func (d dirFS) Stat(name string) (fs.FileInfo, error) {
	p, err := d.in("stat", name)
	if err != nil {
		return nil, err
	}
	fi, err := p.LstatPlain()
	if err == nil && fi.Mode().Type() != fs.ModeSymlink {
		return fi, nil
	}
	err = p.inRoot("stat", err, func(r *os.Root) error {
		fi, err = r.Stat(p.Local)
		return err
	})
	return fi, err
}

func (d dirFS) Lstat(name string) (fs.FileInfo, error) {
	p, err := d.in("lstat", name)
	if err != nil {
		return nil, err
	}
	fi, err := p.LstatPlain()
	if err == nil {
		return fi, nil
	}
	err = p.inRoot("lstat", err, func(r *os.Root) error {
		fi, err = r.Lstat(p.Local)
		return err
	})
	return fi, err
}

func (d dirFS) ReadLink(name string) (target string, err error) {
	p, err := d.in("readlink", name)
	if err != nil {
		return "", err
	}
	err = p.inRoot("readlink", nil, func(r *os.Root) error {
		target, err = r.Readlink(p.Local)
		return err
	})
	return target, err
}

func (d dirFS) ReadFile(name string) ([]byte, error) {
	f, _, err := d.open("readfile", name)
	if err != nil {
		return nil, err
	}
	b, err := fs.ReadFile(opener(func(string) (fs.File, error) { return f, nil }), name) // closes it
	return b, pathError("read", name, err)
}

// An opener is a file system with no method but Open.
type opener func(name string) (fs.File, error)

func (o opener) Open(name string) (fs.File, error) { return o(name) }

func (d dirFS) ReadDir(name string) (list []fs.DirEntry, err error) {
	p, err := d.in("readdir", name)
	if err != nil {
		return nil, err
	}
	f, _, err := p.OpenPlain(true)
	if err == nil {
		defer f.Close()
		list, err = f.ReadDir(-1)
		slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
		p.entries(list, true)
		return list, pathError("readdirent", name, err)
	}
	err = p.inRoot("readdir", err, func(r *os.Root) error {
		list, err = fs.ReadDir(r.FS(), name)
		return err
	})
	return list, err
}

// entries replaces the elements of list by entries that do not leave the DirFS. all says
// that list is the whole directory.
func (p *dirPath) entries(list []fs.DirEntry, all bool) {
	l, entries := &listing{dirPath: *p, read: !all}, make([]entry, len(list))
	for i := range list {
		entries[i] = entry{list[i], l}
		list[i] = &entries[i]
	}
}

// An entry reads its FileInfo when Info is called, as that of os.ReadDir does. It does not
// use the directory's path, which may lead out of the DirFS by then.
type entry struct {
	fs.DirEntry
	list *listing
}

func (e *entry) String() string { return fs.FormatDirEntry(e) }

func (e *entry) Info() (fs.FileInfo, error) {
	if fi := e.list.info(e.Name()); fi != nil {
		return fi, nil
	}
	return dirFS{e.list.Dir, e.list.Linked}.Lstat(path.Join(e.list.name, e.Name()))
}

// A listing has the directory's path, and what the first Info found. The first Info reads
// all entries, which costs no more than the listing did. One safe look-up per entry costs
// twice as much as os.Lstat.
type listing struct {
	dirPath
	mu    sync.Mutex
	read  bool // infos is complete, or of no use for a part of the directory
	infos map[string]fs.FileInfo
}

// info returns the FileInfo of an entry once. A later call reads a newer one.
func (l *listing) info(name string) fs.FileInfo {
	if l.name == "." {
		return nil // Lstat is as fast
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.read {
		l.read = true
		if f, _, err := l.OpenPlain(true); err == nil {
			infos, _ := f.Readdir(-1)
			f.Close()
			l.infos = make(map[string]fs.FileInfo, len(infos))
			for _, fi := range infos {
				l.infos[fi.Name()] = fi
			}
		}
	}
	fi := l.infos[name]
	delete(l.infos, name)
	return fi
}

// A dirPath is a name in a directory.
type dirPath struct {
	sys.PlainPath
	name string // as given
}

func (d dirFS) in(op, name string) (dirPath, error) {
	local, err := filepath.Localize(name)
	if err != nil || d.path == "" {
		return dirPath{}, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	sep := string(filepath.Separator)
	if os.IsPathSeparator(d.path[len(d.path)-1]) {
		sep = ""
	}
	return dirPath{sys.PlainPath{Dir: d.path, Local: local, Full: d.path + sep + local, Linked: d.linked}, name}, nil
}

// inRoot calls fn with the directory. If plain, the error of a faster way to do the same, is
// fs.ErrNotExist, inRoot returns that.
func (p *dirPath) inRoot(op string, plain error, fn func(r *os.Root) error) error {
	if errors.Is(plain, fs.ErrNotExist) {
		return pathError(op, p.name, plain)
	}
	root, err := os.OpenRoot(p.Dir)
	if err != nil {
		return pathError(op, p.name, err)
	}
	defer root.Close()
	err = fn(root)
	if err == nil {
		return nil
	}
	if _, out := root.Lstat(".."); errors.Is(err, errors.Unwrap(out)) { // os does not export it
		err = &fs.PathError{Op: op, Path: p.name, Err: escapeError{errors.Unwrap(out)}}
	}
	return pathError(op, p.name, err)
}

// An escapeError is os.Root's error for a name that leads out of it. It embeds none: go doc would take error for a type
// of the package, and list Open apart from File.
type escapeError struct{ cause error }

func (e escapeError) Error() string        { return e.cause.Error() }
func (e escapeError) Unwrap() error        { return e.cause }
func (e escapeError) Is(target error) bool { return target == fs.ErrPermission }

// pathError names the file as the caller did, and the operation as os.DirFS does.
func pathError(op, name string, err error) error {
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		if op == "readfile" || op == "readdir" {
			op = "open"
		}
		return &fs.PathError{Op: op, Path: name, Err: pe.Err}
	}
	return err
}
