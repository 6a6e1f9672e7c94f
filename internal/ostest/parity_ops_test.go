package ostest

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/filetest"
)

// The calls that sequences record.

// openFile opens path as the kind of file under test. It returns nil if that fails.
func (r *run) openFile(path string, flag int, perm fs.FileMode) filetest.File {
	return r.opened(fmt.Sprintf("OpenFile(%s, %#x)", filepath.Base(path), flag), path, func() (filetest.File, error) {
		if r.st.os {
			return os.OpenFile(path, flag, perm)
		}
		return r.st.options.OpenFile(path, flag, perm)
	})
}

func (r *run) open(flag int) filetest.File { return r.openFile(r.path, flag, 0o644) }

// opened records the error of an opener, and whether the file was nil then.
func (r *run) opened(what, path string, fn func() (filetest.File, error)) filetest.File {
	f, err := fn()
	r.note(what, r.err(err))
	if err != nil {
		r.note(what+" gave nil", fmt.Sprintf("%v", f) == "<nil>")
		return nil
	}
	return r.track(f, path)
}

// adopt turns an open *os.File into the kind of file under test.
func (r *run) adopt(f *os.File, path string) filetest.File {
	return r.opened("New", path, func() (filetest.File, error) {
		if r.st.os {
			return f, nil
		}
		return mmapfile.New(f)
	})
}

// js reports whether JavaScript cannot represent n. There os.File panics for it with its lock
// held, and Close would block.
func js(n int64) bool { return runtime.GOOS == "js" && (n > 1<<53 || n < -1<<53) }

func (r *run) read(f filetest.File, n int64) {
	b := make([]byte, n)
	r.step(f, fmt.Sprintf("Read(%d)", n), func() string {
		k, err := f.Read(b)
		return r.did(int64(k), err, b)
	})
}

func (r *run) readAt(f filetest.File, n, off int64) {
	if js(off) {
		return
	}
	b := make([]byte, n)
	r.step(f, fmt.Sprintf("ReadAt(%d, %d)", n, off), func() string {
		k, err := f.ReadAt(b, off)
		return r.did(int64(k), err, b)
	})
}

func (r *run) write(f filetest.File, b []byte) {
	r.step(f, fmt.Sprintf("Write(%s)", filetest.Show(b)), func() string {
		k, err := f.Write(b)
		return r.did(int64(k), err, nil)
	})
}

func (r *run) writeString(f filetest.File, s string) {
	r.step(f, fmt.Sprintf("WriteString(%d)", len(s)), func() string {
		k, err := f.WriteString(s)
		return r.did(int64(k), err, nil)
	})
}

func (r *run) writeAt(f filetest.File, b []byte, off int64) {
	if js(off) {
		return
	}
	r.step(f, fmt.Sprintf("WriteAt(%s, %d)", filetest.Show(b), off), func() string {
		k, err := f.WriteAt(b, off)
		return r.did(int64(k), err, nil)
	})
}

func (r *run) seek(f filetest.File, off int64, whence int) {
	r.step(f, fmt.Sprintf("Seek(%d, %d)", off, whence), func() string {
		pos, err := f.Seek(off, whence)
		return r.did(pos, err, nil)
	})
}

func (r *run) truncate(f filetest.File, n int64) {
	if js(n) {
		return
	}
	r.step(f, fmt.Sprintf("Truncate(%d)", n), func() string { return r.err(f.Truncate(n)) })
}

func (r *run) readFrom(f filetest.File, what string, src io.Reader) {
	r.step(f, "ReadFrom "+what, func() string {
		n, err := f.ReadFrom(src)
		return r.did(n, err, nil)
	})
}

// writeTo writes to io.Discard and to a buffer, or only to the buffer if it cannot seek back.
func (r *run) writeTo(f filetest.File) {
	if at, err := f.Seek(0, io.SeekCurrent); err == nil {
		r.step(f, "WriteTo io.Discard", func() string {
			n, err := f.WriteTo(io.Discard)
			return r.did(n, err, nil)
		})
		r.seek(f, at, io.SeekStart)
	}
	r.step(f, "WriteTo a buffer", func() string {
		var b bytes.Buffer
		n, err := f.WriteTo(&b)
		return fmt.Sprint(r.did(n, err, nil), " ", filetest.Show(b.Bytes()))
	})
}

// stat records the results of Stat that do not depend on the twin.
func (r *run) stat(f filetest.File) {
	r.step(f, "Stat", func() string {
		fi, err := f.Stat()
		if err != nil {
			return r.err(err)
		}
		return fmt.Sprintf("%s %d %v %v %T", fi.Name(), fi.Size(), fi.Mode(), fi.IsDir(), fi)
	})
}

func (r *run) sync(f filetest.File) {
	r.step(f, "Sync", func() string { return r.err(f.Sync()) })
}

func (r *run) close(f filetest.File) {
	r.note("Close", r.err(f.Close()))
}

// disk records the content of a file as another handle reads it.
func (r *run) disk(path string) {
	b, err := contentOf(path)
	r.note("content of "+filepath.Base(path), filetest.Show(b), r.err(err))
}

// largest is the length of the largest file that is read whole: tmpfs lets one end at the largest offset.
const largest = 64 << 20

// contentOf returns what the file has. Of one that is larger than largest it returns the first bytes, the last ones, and the length.
func contentOf(path string) ([]byte, error) {
	fi, err := os.Stat(path)
	if err != nil || fi.Size() <= largest {
		return os.ReadFile(path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := make([]byte, 2*page)
	if _, err := f.ReadAt(b[:page], 0); err != nil {
		return nil, err
	}
	if _, err := f.ReadAt(b[page:], fi.Size()-page); err != nil {
		return nil, err
	}
	return fmt.Append(b, fi.Size()), nil
}

// finish ends a sequence. It records the content before and after Close.
func (r *run) finish(f filetest.File) {
	r.seek(f, 0, io.SeekCurrent)
	r.disk(r.path)
	r.close(f)
	r.disk(r.path)
}

// other changes the file through another handle.
func (r *run) other(what string, fn func(f *os.File) error) {
	f, err := os.OpenFile(r.path, os.O_RDWR, 0)
	if err == nil {
		err = fn(f)
		f.Close()
	}
	r.note("another handle: "+what, r.err(err))
}

func (r *run) otherTruncates(n int64) {
	r.other(fmt.Sprintf("Truncate(%d)", n), func(f *os.File) error { return f.Truncate(n) })
}

func (r *run) otherWrites(b []byte, off int64) {
	r.other(fmt.Sprintf("WriteAt(%s, %d)", filetest.Show(b), off), func(f *os.File) error {
		_, err := f.WriteAt(b, off)
		return err
	})
}

// These times are far from the present on every clock.
var past, farPast, future = time.Unix(1_000_000_000, 0), time.Unix(900_000_000, 0), time.Unix(2_100_000_000, 0)

func (r *run) setTime(path string, to time.Time) {
	r.note(fmt.Sprint("Chtimes ", to.Unix()), r.err(os.Chtimes(path, to, to)))
}

// mtime records whether the modification time was set or is a new one. It asks f, or the file
// system if f is nil.
func (r *run) mtime(f filetest.File) {
	name := func(fi fs.FileInfo, err error) string {
		switch {
		case err != nil:
			return r.err(err)
		case fi.ModTime().Equal(past), fi.ModTime().Equal(farPast), fi.ModTime().Equal(future):
			return fmt.Sprint("as set to ", fi.ModTime().Unix())
		}
		return "moved"
	}
	if f == nil {
		r.note("mtime for others", name(os.Stat(r.path)))
		return
	}
	r.step(f, "mtime by Stat", func() string { return name(f.Stat()) })
}
