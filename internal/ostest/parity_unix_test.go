//go:build unix

package ostest

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/filetest"
)

func init() {
	kernelOffset = func(fd uintptr) string {
		pos, err := syscall.Seek(int(fd), 0, io.SeekCurrent)
		return fmt.Sprint(pos, " ", err)
	}
	nothing := []content{filled("", []byte("some content"))}
	sequences = append(sequences,
		sequence{"pipe", nothing, nil, quiet, false, func(r *run, _ filetest.File, size int64) {
			pr, pw, err := os.Pipe()
			if err != nil {
				r.note("Pipe", r.err(err))
				return
			}
			f, g := r.adopt(pr, "|0"), r.adopt(pw, "|1")
			r.write(g, filetest.PatternWithZeros(3000))
			r.read(f, 1000)
			r.read(f, 5)
			r.readFrom(g, "bytes", bytes.NewReader(filetest.PatternWithZeros(2000)))
			r.readAt(f, 3, 0)
			r.seek(f, 0, io.SeekStart)
			r.truncate(g, 3)
			r.stat(f)
			r.step(f, "SetReadDeadline", func() string { return r.err(f.SetReadDeadline(past)) })
			r.read(f, 1)
			r.step(f, "SetReadDeadline", func() string { return r.err(f.SetReadDeadline(time.Time{})) })
			r.read(f, 100)
			r.close(g)
			r.writeTo(f)
			r.read(f, 1)
			r.everyMethod(g, 20)
			r.everyMethod(f, 20)
			r.close(f)
		}},
		sequence{"FIFO", []content{empty}, nil, quiet, false, func(r *run, _ filetest.File, size int64) {
			fifo := filepath.Join(r.dir, "fifo")
			if err := unix.Mkfifo(fifo, 0o644); err != nil {
				r.note("Mkfifo", r.err(err))
				return
			}
			both := r.openFile(fifo, os.O_RDWR, 0) // does not wait for the other end
			if both == nil {
				return
			}
			for _, flag := range []int{os.O_RDWR, os.O_RDONLY, os.O_WRONLY, os.O_RDWR | os.O_APPEND} {
				f := r.openFile(fifo, flag, 0)
				if f == nil {
					continue
				}
				r.write(both, filetest.PatternWithZeros(100))
				r.everyMethod(f, 20)
				r.close(f)
				r.write(both, []byte("so that the next read does not wait"))
				r.read(both, 4000)
			}
			r.close(both)
		}},
		sequence{"socket", nothing, nil, quiet, false, func(r *run, _ filetest.File, size int64) {
			fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
			if err != nil {
				r.note("Socketpair", r.err(err))
				return
			}
			for _, fd := range fds {
				syscall.SetNonblock(fd, true)
			}
			f, g := r.newFile(uintptr(fds[0]), "s0"), r.newFile(uintptr(fds[1]), "s1")
			r.write(g, filetest.PatternWithZeros(3000))
			r.read(f, 1000)
			r.readAt(f, 3, 0)
			r.everyMethod(f, 20)
			r.close(g)
			r.everyMethod(f, 20)
			r.close(f)
		}},
		sequence{"NewFile", nothing, nil, allModes, false, func(r *run, _ filetest.File, size int64) {
			for _, flag := range []int{syscall.O_RDONLY, syscall.O_RDWR, syscall.O_WRONLY | syscall.O_APPEND} {
				fd, err := syscall.Open(r.path, flag, 0)
				if err != nil {
					r.note("open", r.err(err))
					return
				}
				syscall.Seek(fd, 3, io.SeekStart)
				f := r.newFile(uintptr(fd), "a name of its own")
				r.read(f, 4)
				r.write(f, []byte("w"))
				r.writeAt(f, []byte("at"), 1)
				r.read(f, 4)
				r.everyMethod(f, 20)
				r.finish(f)
			}
			f := r.newFile(1<<20, "nobody's descriptor")
			r.everyMethod(f, 20)
			r.close(f)
		}},
		sequence{"devices", nothing, nil, []mode{silent, probed}, false, func(r *run, _ filetest.File, size int64) {
			for _, name := range []string{"/dev/null", "/dev/zero"} {
				for _, flag := range []int{os.O_RDONLY, os.O_RDWR, os.O_WRONLY, os.O_RDWR | os.O_APPEND, os.O_RDWR | os.O_TRUNC} {
					if f := r.openFile(name, flag, 0); f != nil {
						r.everyMethod(f, 100)
						// Repeated, because a signal for the thread ends one read of /dev/zero after any page.
						r.step(f, "ReadFull(1 MiB)", func() string {
							b := make([]byte, 1<<20)
							n, err := io.ReadFull(f, b)
							return r.did(int64(n), err, b)
						})
						r.readAt(f, 70, 1<<30)
						r.close(f)
					}
				}
			}
		}},
		sequence{"removed while open", some, []int{os.O_RDONLY, os.O_RDWR}, []mode{silent, kernel}, false, func(r *run, f filetest.File, size int64) {
			r.read(f, 5)
			os.Remove(r.path)
			r.removedOrRenamed(f, size)
		}},
		sequence{"renamed while open", some, []int{os.O_RDONLY, os.O_RDWR}, []mode{silent, kernel}, false, func(r *run, f filetest.File, size int64) {
			r.read(f, 5)
			to := filepath.Join(r.dir, "renamed")
			os.Rename(r.path, to)
			os.WriteFile(r.path, []byte("another file of the same name"), 0o644)
			r.removedOrRenamed(f, size)
			r.disk(to)
		}},
		sequence{"through a symlink", some, nil, quiet, false, func(r *run, _ filetest.File, size int64) {
			link := filepath.Join(r.dir, "link")
			os.Symlink(r.path, link)
			for _, flag := range []int{os.O_RDONLY, os.O_RDWR, os.O_RDWR | os.O_TRUNC, os.O_RDONLY | syscall.O_NOFOLLOW, os.O_CREATE | os.O_EXCL | os.O_RDWR} {
				if f := r.openFile(link, flag, 0); f != nil {
					r.stat(f)
					r.read(f, 9)
					r.write(f, []byte("through the link"))
					r.readAt(f, size+30, 0)
					r.close(f)
					r.disk(r.path)
				}
			}
		}},
		sequence{"the descriptor moved by others", some, []int{os.O_RDONLY, os.O_RDWR, os.O_RDWR | os.O_APPEND}, []mode{silent, probed}, false, descriptorMoves},
		sequence{"an offset shared with a duplicate", few, nil, []mode{silent, probed}, false, func(r *run, _ filetest.File, size int64) {
			// As between a parent process and a child, without a call of Fd.
			o, err := os.OpenFile(r.path, os.O_RDWR, 0)
			if err != nil {
				r.t.Fatal(err)
			}
			fd, err := syscall.Dup(int(o.Fd()))
			if err != nil {
				r.t.Fatal(err)
			}
			dup := os.NewFile(uintptr(fd), "duplicate")
			r.all = append(r.all, dup)
			f := r.adopt(o, r.path)
			for i := range int64(5) {
				r.read(f, 7)
				r.read(dup, 5)
				r.write(f, []byte("by f"))
				r.write(dup, []byte("by the duplicate"))
				r.seek(f, i*page, io.SeekStart)
				r.read(dup, 3)
				r.seek(dup, 1, io.SeekCurrent)
				r.seek(f, 0, io.SeekCurrent)
				r.writeTo(f)
				r.read(dup, 1)
				r.settle(f, r.path)
				r.seek(dup, i, io.SeekStart)
			}
			r.finish(f)
		}},
		sequence{"descriptor looked at in between", some, rdwr, []mode{silent, probed}, false, func(r *run, f filetest.File, size int64) {
			for _, look := range []string{"Fd", "Control", "OS"} {
				r.settle(f, r.path)
				r.seek(f, 2, io.SeekStart)
				r.read(f, 4)
				r.step(nil, look, func() string { return kernelOffset(descriptor(f, look)) })
				r.read(f, 4)
				r.step(nil, look, func() string { return kernelOffset(descriptor(f, look)) })
				r.write(f, []byte("w"))
				r.seek(f, -2, io.SeekCurrent)
				r.step(nil, look, func() string { return kernelOffset(descriptor(f, look)) })
				r.readFrom(f, "bytes", bytes.NewReader([]byte("from")))
				r.step(nil, look, func() string { return kernelOffset(descriptor(f, look)) })
				r.seek(f, 1, io.SeekStart)
				r.writeTo(f)
				r.step(nil, look, func() string { return kernelOffset(descriptor(f, look)) })
			}
		}},
		sequence{"no permission", nothing, nil, quiet, false, func(r *run, _ filetest.File, size int64) {
			if os.Geteuid() == 0 {
				return // root may open everything; TestOpenFile_PermissionDenied runs a child
			}
			r.denied()
		}},
	)
}

func (r *run) newFile(fd uintptr, name string) filetest.File {
	return r.opened("NewFile", name, func() (filetest.File, error) {
		if r.st.os {
			return os.NewFile(fd, name), nil
		}
		return mmapfile.NewFile(fd, name), nil
	})
}

func (r *run) removedOrRenamed(f filetest.File, size int64) {
	r.stat(f)
	r.step(f, "Name", func() string { return r.plain(f.Name()) })
	r.read(f, 5)
	r.readAt(f, size, 0)
	r.settle(f, r.path)
	r.write(f, []byte("still here"))
	r.writeAt(f, filetest.PatternWithZeros(page), size)
	r.readAt(f, size+page, 0)
	r.truncate(f, size+7)
	r.seek(f, 0, io.SeekStart)
	r.writeTo(f)
}

// descriptor returns the descriptor of f by one of the methods. *os.File has no OS.
func descriptor(f filetest.File, how string) (fd uintptr) {
	switch how {
	case "Control":
		c, err := f.SyscallConn()
		if err != nil {
			return ^uintptr(0)
		}
		c.Control(func(d uintptr) { fd = d })
		return fd
	case "OS":
		if m, ok := f.(*mmapfile.File); ok {
			return m.OS().Fd()
		}
	}
	return f.Fd()
}

// descriptorMoves moves the offset through the descriptor. f must follow it once the
// descriptor was handed out.
func descriptorMoves(r *run, f filetest.File, size int64) {
	r.read(f, 3)
	r.write(f, []byte("before"))
	for i, how := range []string{"Fd", "Control", "OS"} {
		fd := descriptor(f, how)
		r.note(how, kernelOffset(fd))
		at := int64(i+1) * size / 5
		syscall.Seek(int(fd), at, io.SeekStart)
		r.read(f, 4)
		r.note("kernel", kernelOffset(fd))
		r.settle(f, r.path)
		syscall.Seek(int(fd), at+1, io.SeekStart)
		r.write(f, []byte("moved"))
		r.note("kernel", kernelOffset(fd))
		syscall.Seek(int(fd), 1, io.SeekStart)
		r.seek(f, 2, io.SeekCurrent)
		r.note("kernel", kernelOffset(fd))
		syscall.Seek(int(fd), at, io.SeekStart)
		r.step(f, "CopyN", func() string {
			var b bytes.Buffer
			n, err := io.CopyN(&b, f, 10)
			return fmt.Sprint(r.did(n, err, nil), filetest.Show(b.Bytes()))
		})
		r.note("kernel", kernelOffset(fd))
		var b [5]byte
		n, err := syscall.Read(int(fd), b[:])
		r.note("read(2)", n, err, filetest.Show(b[:max(n, 0)]))
		r.read(f, 5)
		n, err = syscall.Write(int(fd), []byte("write(2)"))
		r.note("write(2)", n, err)
		r.read(f, 5)
		r.readAt(f, size+20, 0)
		r.seek(f, 0, io.SeekEnd)
		r.note("kernel", kernelOffset(fd))
	}
}

const onLinux = runtime.GOOS == "linux" || runtime.GOOS == "android"

func init() {
	if !onLinux {
		return
	}
	sequences = append(sequences,
		sequence{"SEEK_DATA and SEEK_HOLE", append(some, zeroTail), append(readers, os.O_WRONLY), []mode{silent, kernel}, false, func(r *run, f filetest.File, size int64) {
			const seekData, seekHole = 3, 4
			for _, whence := range []int{seekData, seekHole} {
				for _, off := range around(size) {
					r.seek(f, off, whence)
					r.read(f, 3)
				}
			}
			r.writeAt(f, []byte("data far out"), size+10*page)
			r.seek(f, size, seekData)
			r.read(f, 3)
			r.seek(f, 0, seekHole)
			r.read(f, 3)
		}},
		sequence{"files of the kernel", []content{empty}, nil, []mode{silent, probed}, false, func(r *run, _ filetest.File, size int64) {
			for _, name := range []string{"/proc/version", "/proc/filesystems", "/sys/kernel/mm/transparent_hugepage/enabled"} {
				f := r.openFile(name, os.O_RDONLY, 0)
				if f == nil {
					continue
				}
				r.stat(f)
				r.readAt(f, 20, 3)
				for range 20 {
					r.read(f, 13)
				}
				r.seek(f, 0, io.SeekEnd)
				r.seek(f, 0, io.SeekStart)
				r.writeTo(f)
				r.everyMethod(f, 1<<20)
				r.close(f)
			}
			// This one differs from one open to the next: its first line does not.
			if f := r.openFile("/proc/self/status", os.O_RDONLY, 0); f != nil {
				r.read(f, 5)
				rest, err := io.ReadAll(f)
				r.note("rest is long", len(rest) > 100, r.err(err))
				r.seek(f, 0, io.SeekStart)
				r.readAt(f, 5, 0)
				r.seek(f, 0, io.SeekEnd)
				r.close(f)
			}
		}},
	)
}
