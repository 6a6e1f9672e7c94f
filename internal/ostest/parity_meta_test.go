package ostest

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sort"
	"strings"
	"time"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/filetest"
)

// The metadata of files, and files that are not regular.

func init() {
	nothing := []content{filled("", []byte("some content"))}
	sequences = append(sequences,
		sequence{"all methods", []content{empty, threePage, sparse}, allFlags, []mode{silent, probed}, false, func(r *run, f filetest.File, size int64) {
			r.everyMethod(f, 20)
		}},
		sequence{"all methods, O_SYNC", []content{filled("1 byte", []byte("x"))}, []int{os.O_RDWR | os.O_SYNC}, quiet, false, func(r *run, f filetest.File, size int64) {
			r.everyMethod(f, 20)
			r.sync(f)
		}},
		sequence{"all methods when closed", few, allFlags, quiet, false, func(r *run, f filetest.File, size int64) {
			r.read(f, 3)
			r.close(f)
			r.everyMethod(f, 20)
			r.close(f)
		}},
		sequence{"all methods when closed through OS", few, nil, quiet, false, func(r *run, _ filetest.File, size int64) {
			for _, notice := range []func(f filetest.File){
				r.stat, r.close,
				func(f filetest.File) { r.read(f, 3) },
				func(f filetest.File) { r.seek(f, 1, io.SeekStart) },
				func(f filetest.File) { r.truncate(f, 3) },
				func(f filetest.File) { r.write(f, []byte("late")) },
				func(f filetest.File) { r.writeAt(f, []byte("late"), 1) },
				func(f filetest.File) { r.readAt(f, 1, size+100) },
				func(f filetest.File) { r.readFrom(f, "bytes", strings.NewReader("late")) },
				func(f filetest.File) { r.writeTo(f) },
				func(f filetest.File) { r.step(f, "Chmod", func() string { return r.err(f.Chmod(0o644)) }) },
			} {
				for _, flag := range []int{os.O_RDONLY, os.O_RDWR} {
					f := r.open(flag)
					r.read(f, 3)
					r.writeAt(f, []byte("early"), 0)
					r.note("Close through OS", r.err(innerOf(f).Close()))
					notice(f)
					r.everyMethod(f, 20)
					r.close(f)
					r.disk(r.path)
				}
			}
			f := r.open(os.O_RDWR)
			r.note("Close through OS", r.err(innerOf(f).Close()))
			r.sync(f)
			r.readAt(f, 3, 0)
			r.close(f)
		}},
		sequence{"all methods of a nil file", nothing, nil, quiet, false, func(r *run, _ filetest.File, size int64) {
			var f filetest.File = (*os.File)(nil)
			if !r.st.os {
				f = (*mmapfile.File)(nil)
			}
			r.everyMethod(f, 20)
			r.step(nil, "Close", func() string { return r.err(f.Close()) })
		}},
		sequence{"all methods of a directory", nothing, nil, quiet, false, func(r *run, _ filetest.File, size int64) {
			dir := filepath.Join(r.dir, "sub")
			os.Mkdir(dir, 0o755)
			for _, flag := range []int{os.O_RDONLY, os.O_RDWR, os.O_WRONLY, os.O_RDONLY | os.O_TRUNC, os.O_RDWR | os.O_CREATE} {
				if f := r.openFile(dir, flag, 0); f != nil {
					r.everyMethod(f, 20)
					r.close(f)
				}
			}
		}},
		sequence{"a directory in pieces", nothing, nil, quiet, false, func(r *run, _ filetest.File, size int64) { r.listing() }},
		sequence{"the modification time", []content{threePage, zeros3, empty}, nil, []mode{silent, kernel}, false, func(r *run, _ filetest.File, size int64) {
			r.times(size, []string{"Stat", "Close"}, []string{"read", "one write", "many writes", "write then set", "write then set ahead", "write, stat, set", "set, write twice"})
		}},
		sequence{"the modification time and Sync", []content{threePage}, nil, quiet, false, func(r *run, _ filetest.File, size int64) {
			r.times(size, []string{"Sync"}, []string{"read", "many writes", "write then set"})
			r.times(size, []string{"Close"}, []string{"write, sync, set"})
		}},
		sequence{"chmod", nothing, rdwr, quiet, false, func(r *run, f filetest.File, size int64) {
			for _, m := range []fs.FileMode{0o600, 0o444, 0o755, 0o644} {
				r.step(f, "Chmod", func() string { return r.err(f.Chmod(m)) })
				r.stat(f)
				r.write(f, []byte("still"))
			}
		}},
		sequence{"SameFile", nothing, readers, quiet, false, func(r *run, f filetest.File, size int64) {
			r.step(f, "SameFile", func() string {
				a, err := f.Stat()
				g, err2 := os.Open(r.path) // os.Stat opens nothing, and wine then refuses SameFile to open what is mapped
				if err2 != nil {
					return err2.Error()
				}
				defer g.Close()
				b, err2 := g.Stat()
				c, err3 := os.Stat(r.dir)
				if err != nil || err2 != nil || err3 != nil {
					return fmt.Sprint(err, err2, err3)
				}
				return fmt.Sprint(os.SameFile(a, b), os.SameFile(a, c), a.ModTime().Equal(b.ModTime()), a.Size() == b.Size())
			})
		}},
		sequence{"openers", nothing, nil, quiet, false, func(r *run, _ filetest.File, size int64) { r.openers() }},
		sequence{"sync", []content{threePage, empty}, []int{os.O_RDWR, os.O_RDONLY, os.O_WRONLY}, quiet, false, func(r *run, f filetest.File, size int64) {
			r.sync(f)
			for i := range 3 {
				r.writeAt(f, []byte("to be durable"), int64(i)*page)
				r.sync(f)
				r.disk(r.path)
			}
		}},
	)
}

// everyMethod calls all methods except Close. It calls Chdir only if f is not a directory. No
// call blocks on a file that can give and take room bytes.
func (r *run) everyMethod(f filetest.File, room int64) {
	fi, statErr := f.Stat()
	r.step(nil, "Name", func() string { return r.plain(f.Name()) })
	r.stat(f)
	r.read(f, 4)
	r.read(f, 0)
	r.readAt(f, 4, 2)
	r.readAt(f, 4, -2)
	r.readAt(f, 0, 2)
	r.write(f, []byte("abcd"))
	r.write(f, nil)
	r.writeString(f, "ef")
	r.writeAt(f, []byte("gh"), 1)
	r.writeAt(f, []byte("gh"), -1)
	r.writeAt(f, nil, 1)
	r.seek(f, 2, io.SeekStart)
	r.seek(f, 1, io.SeekCurrent)
	r.seek(f, 0, io.SeekEnd)
	r.seek(f, -1, io.SeekStart)
	r.seek(f, 0, 9)
	r.seek(f, 0, io.SeekStart)
	r.truncate(f, -1)
	if statErr != nil || fi.Mode().IsRegular() || fi.IsDir() {
		r.truncate(f, 10)
	}
	r.step(f, "ReadFrom", func() string { n, err := f.ReadFrom(strings.NewReader("read from")); return r.did(n, err, nil) })
	r.step(f, "WriteTo", func() string {
		// Some of these files never end.
		n, err := f.WriteTo(onlyWriter{&limitedWriter{left: int(room)}})
		return r.did(n, err, nil)
	})
	for _, set := range []struct {
		name string
		fn   func(time.Time) error
	}{{"SetDeadline", f.SetDeadline}, {"SetReadDeadline", f.SetReadDeadline}, {"SetWriteDeadline", f.SetWriteDeadline}} {
		r.step(f, set.name, func() string { return r.err(set.fn(time.Time{})) })
		r.step(f, set.name+" past", func() string { return r.err(set.fn(past)) })
	}
	r.read(f, 4) // with the deadline in the past
	r.write(f, []byte("late"))
	for _, n := range []int{-1, 0, 1} {
		r.step(f, fmt.Sprint("ReadDir ", n), func() string { e, err := f.ReadDir(n); return fmt.Sprint(len(e), e == nil, r.err(err)) })
		r.step(f, fmt.Sprint("Readdir ", n), func() string { e, err := f.Readdir(n); return fmt.Sprint(len(e), e == nil, r.err(err)) })
		r.step(f, fmt.Sprint("Readdirnames ", n), func() string { e, err := f.Readdirnames(n); return fmt.Sprint(len(e), e == nil, r.err(err)) })
	}
	if statErr != nil || !fi.IsDir() {
		r.step(f, "Chdir", func() string { return r.err(f.Chdir()) })
	}
	r.step(f, "Chmod", func() string {
		mode := fs.FileMode(0o644)
		if statErr == nil {
			mode = fi.Mode() // as it was: it may be the system's /dev/null
		}
		return r.err(f.Chmod(mode))
	})
	r.step(f, "Chown", func() string { return r.err(f.Chown(-1, -1)) })
	if statErr != nil || !fi.Mode().IsRegular() { // a disk takes its time, once is enough
		r.sync(f)
	}
	r.step(f, "SyscallConn", func() string {
		c, err := f.SyscallConn()
		if err != nil {
			return fmt.Sprint(c == nil, " ", r.err(err))
		}
		ran := 0
		e1 := c.Control(func(uintptr) { ran++ })
		return fmt.Sprintf("%v %s", ran, r.err(e1))
	})
	r.step(f, "Fd", func() string {
		if fd := f.Fd(); fd == ^uintptr(0) || statErr != nil {
			return fmt.Sprint(fd)
		}
		return "some fd"
	})
	r.read(f, 4)
	r.seek(f, 0, io.SeekCurrent)
}

// listing reads a directory in pieces. The file system decides on the order, so the names of
// all pieces are compared together.
func (r *run) listing() {
	dir := filepath.Join(r.dir, "sub")
	os.Mkdir(dir, 0o755)
	for i := range 7 {
		os.WriteFile(filepath.Join(dir, fmt.Sprint("file", i)), make([]byte, i), 0o600)
	}
	f := r.openFile(dir, os.O_RDONLY, 0)
	if f == nil {
		return
	}
	for _, piece := range []int{3, 1, 100, 0, -1} {
		var names []string
		add := func(n int, err error, list func(i int) string) string {
			for i := range n {
				names = append(names, list(i))
			}
			return fmt.Sprint(n, " ", r.err(err))
		}
		for i := range 9 {
			r.step(nil, fmt.Sprint("piece ", i, " of ", piece), func() string {
				switch i % 3 {
				case 0:
					e, err := f.ReadDir(piece)
					return add(len(e), err, func(i int) string { return e[i].Name() + e[i].Type().String() })
				case 1:
					e, err := f.Readdir(piece)
					return add(len(e), err, func(i int) string { return e[i].Name() + e[i].Mode().Type().String() })
				}
				e, err := f.Readdirnames(piece)
				return add(len(e), err, func(i int) string { return e[i] + fs.FileMode(0).String() })
			})
		}
		sort.Strings(names)
		r.note("names", names)
		r.seek(f, 0, io.SeekStart)
	}
	r.close(f)
	r.step(nil, "closed", func() string { _, err := f.ReadDir(1); return r.err(err) })
}

// times checks the modification time: writes move it, reads do not, and a time that is set
// after the writes stays.
func (r *run) times(size int64, ends, hows []string) {
	write := func(f filetest.File) {
		for range 100 {
			f.WriteAt([]byte("again"), max(0, size-9))
		}
	}
	for _, end := range ends {
		for _, how := range hows {
			f := r.open(os.O_RDWR)
			if f == nil {
				return
			}
			r.note("----", end, how)
			// Stat accounts for the mapped writes before the time is set. Afterwards their order
			// is unknown.
			r.stat(f)
			r.setTime(r.path, past)
			switch how {
			case "read":
				r.readAt(f, size, 0)
				r.read(f, 10)
				r.writeTo(f)
			case "one write":
				r.writeAt(f, []byte("once"), max(0, size-9))
			case "many writes":
				write(f)
			case "write then set":
				write(f)
				r.setTime(r.path, farPast)
			case "write then set ahead":
				write(f)
				r.setTime(r.path, future)
			case "write, stat, set":
				write(f)
				r.stat(f)
				r.setTime(r.path, farPast)
			case "write, sync, set":
				write(f)
				r.sync(f)
				r.setTime(r.path, farPast)
			case "set, write twice":
				write(f)
				r.mtime(f)
				r.setTime(r.path, farPast)
				r.writeAt(f, []byte("second"), max(0, size-9))
			}
			switch end {
			case "Stat":
				r.mtime(f)
				r.mtime(nil)
			case "Sync":
				r.sync(f)
				r.mtime(nil)
			}
			r.close(f)
			r.mtime(nil)
		}
	}
}

// innerOf returns the *os.File of f.
func innerOf(f filetest.File) *os.File {
	if m, ok := f.(*mmapfile.File); ok {
		return m.OS()
	}
	return f.(*os.File)
}

// openers compares all functions that open a file, and their errors.
func (r *run) openers() {
	in := func(name string) string { return filepath.Join(r.dir, name) }
	for _, flag := range []int{os.O_RDONLY, os.O_RDWR, os.O_WRONLY, os.O_RDWR | os.O_CREATE | os.O_EXCL, os.O_CREATE | os.O_WRONLY,
		os.O_RDWR | os.O_TRUNC, os.O_CREATE | os.O_APPEND | os.O_WRONLY, os.O_RDWR | os.O_CREATE | os.O_TRUNC, 3} {
		for _, name := range []string{"data", "missing", "no/such/dir", "", "bad\x00name", "data/under a file"} {
			os.Remove(in("missing"))
			path := in(name)
			if name == "" {
				path = ""
			}
			if f := r.openFile(path, flag, 0o640); f != nil {
				r.stat(f)
				r.write(f, []byte("w"))
				r.read(f, 3)
				r.close(f)
				r.disk(path)
			}
		}
	}
	both := func(what string, o func() (*os.File, error), m func() (*mmapfile.File, error)) filetest.File {
		return r.opened(what, r.path, func() (filetest.File, error) {
			if r.st.os {
				return o()
			}
			return m()
		})
	}
	for _, name := range []string{"data", "missing2", "."} {
		if f := both("Open "+name, func() (*os.File, error) { return os.Open(in(name)) }, func() (*mmapfile.File, error) { return mmapfile.Open(in(name)) }); f != nil {
			r.step(nil, "Name", func() string { return r.plain(f.Name()) })
			r.write(f, []byte("x"))
			r.close(f)
		}
	}
	for _, name := range []string{"created", "data", ".", "no/dir"} {
		if f := both("Create "+name, func() (*os.File, error) { return os.Create(in(name)) }, func() (*mmapfile.File, error) { return mmapfile.Create(in(name)) }); f != nil {
			r.stat(f)
			r.write(f, []byte("xyz"))
			r.readAt(f, 3, 0)
			r.close(f)
		}
	}
	for _, pattern := range []string{"a*b", "plain", "sl/ash", "*"} {
		if f := both("CreateTemp "+pattern, func() (*os.File, error) { return os.CreateTemp(r.dir, pattern) }, func() (*mmapfile.File, error) { return mmapfile.CreateTemp(r.dir, pattern) }); f != nil {
			r.step(nil, "Name", func() string {
				dir, base := filepath.Split(f.Name())
				return r.plain(dir) + fmt.Sprint(strings.HasPrefix(base, "a"), strings.HasSuffix(base, "b"), len(base) > 2)
			})
			r.step(nil, "mode", func() string { fi, err := f.Stat(); return fmt.Sprint(fi.Mode(), r.err(err)) })
			r.write(f, []byte("temporary"))
			r.readAt(f, 9, 0)
			r.close(f)
		}
	}
	os.Mkdir(in("root"), 0o755)
	os.WriteFile(in("root/inside"), []byte("inside"), 0o644)
	if runtime.GOOS != "windows" && runtime.GOOS != "plan9" {
		os.Symlink("../data", in("root/escape"))
		os.Symlink("inside", in("root/link"))
	}
	for _, name := range []string{"inside", "../data", "escape", "link", "missing", "/etc/passwd", ".", ""} {
		if f := both("OpenInRoot "+name, func() (*os.File, error) { return os.OpenInRoot(in("root"), name) }, func() (*mmapfile.File, error) { return mmapfile.OpenInRoot(in("root"), name) }); f != nil {
			r.step(nil, "Name", func() string { return r.plain(f.Name()) })
			r.stat(f)
			r.read(f, 10)
			r.write(f, []byte("x"))
			r.close(f)
		}
	}
	root, err := os.OpenRoot(in("root"))
	r.note("os.OpenRoot", r.err(err))
	if err != nil {
		return
	}
	openRoot := func(name string, flag int, perm fs.FileMode) filetest.File {
		return both(fmt.Sprintf("OpenRoot %s %#x", name, flag), func() (*os.File, error) { return root.OpenFile(name, flag, perm) }, func() (*mmapfile.File, error) { return mmapfile.OpenRoot(root, name, flag, perm) })
	}
	for _, name := range []string{"inside", "../data", "escape", "link", "made", "no/made", "/etc/passwd", ".", ""} {
		for _, flag := range []int{os.O_RDONLY, os.O_RDWR, os.O_WRONLY, os.O_RDWR | os.O_CREATE, os.O_RDWR | os.O_APPEND, os.O_RDWR | os.O_CREATE | os.O_EXCL} {
			if f := openRoot(name, flag, 0o640); f != nil {
				r.step(nil, "Name", func() string { return r.plain(f.Name()) })
				r.stat(f)
				r.read(f, 3)
				r.seek(f, 1, io.SeekCurrent)
				r.write(f, []byte("xy"))
				r.seek(f, -4, io.SeekEnd)
				r.read(f, 10)
				r.close(f)
			}
		}
	}
	if f := openRoot("inside", os.O_RDONLY, 0o1_000_000); f != nil {
		r.close(f)
	}
	r.note("Close of the root", r.err(root.Close()))
	if f := openRoot("inside", os.O_RDONLY, 0); f != nil {
		r.close(f)
	}
	if f := both("OpenInRoot of a missing root", func() (*os.File, error) { return os.OpenInRoot(in("nowhere"), "x") }, func() (*mmapfile.File, error) { return mmapfile.OpenInRoot(in("nowhere"), "x") }); f != nil {
		r.close(f)
	}
	// New keeps the cursor of its file.
	for _, at := range []int64{0, 3, 100} {
		o, err := os.OpenFile(r.path, os.O_RDWR, 0)
		if err != nil {
			r.note("os.OpenFile", r.err(err))
			return
		}
		o.WriteString("0123456789")
		o.Seek(at, io.SeekStart)
		f := r.adopt(o, r.path)
		r.read(f, 3)
		r.write(f, []byte("ab"))
		r.step(nil, "Name", func() string { return r.plain(f.Name()) })
		r.finish(f)
	}
	r.step(nil, "NewFile of no descriptor", func() string {
		if r.st.os {
			return fmt.Sprint(os.NewFile(^uintptr(0), "x") == nil)
		}
		return fmt.Sprint(mmapfile.NewFile(^uintptr(0), "x") == nil)
	})
}
