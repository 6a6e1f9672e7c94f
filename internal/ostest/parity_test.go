package ostest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/evictions"
	"go.dw1.io/mmapfile/internal/filetest"
)

var page = int64(os.Getpagesize())

// The parity matrix runs every sequence of calls on *os.File, and on a File in each of its
// states, with twin files. Each step must have the same result. This file is the harness,
// and the other parity_*_test.go have the sequences.

// A state is that of a File when a sequence begins.
type state struct {
	name       string
	os         bool // the reference
	prefaulted bool // the pages are prefaulted by writes of their content, for os.File too
	read       bool // the file is mapped by small reads
	options    mmapfile.Options
	prep       func(f *mmapfile.File)
}

var states = []state{
	{name: "os", os: true},
	{name: "os prefaulted", os: true, prefaulted: true},
	{name: "unmapped", prep: filetest.NeverMap},
	{name: "lazy"},
	{name: "read", read: true},
	{name: "eager", prep: func(f *mmapfile.File) { f.Bytes() }},
	{name: "prefaulted", prefaulted: true, read: true, prep: func(f *mmapfile.File) {
		if !filetest.MapsUnasked {
			f.Bytes()
		}
	}},
	{name: "whole", read: true, options: mmapfile.Options{WholeWrites: true}},
	{name: "policy", read: true, options: mmapfile.Options{Flush: mmapfile.FlushPolicy{Bytes: 50_000, Interval: 20 * time.Millisecond}}},
}

// A mode says what the harness records after each step. That changes the next steps: once Fd
// was called, the cursor stays in the kernel.
type mode string

const (
	silent mode = "silent"
	probed mode = "probed" // Seek(0, SeekCurrent)
	kernel mode = "kernel" // the kernel's offset, through Fd
)

// kernelOffset returns the offset of fd in the kernel. It is nil on systems that have none.
var kernelOffset func(fd uintptr) string

// A run is one sequence on one kind of file, and its log.
type run struct {
	t    *testing.T
	st   state
	mode mode
	dir  string // for all files of the sequence
	path string // the main file
	log  []entry
	fds  map[filetest.File]uintptr
	all  []io.Closer
}

type entry struct{ what, got string }

// A content is that of the main file when the sequence begins.
type content struct {
	name string
	size int64
	make func(t *testing.T, path string)
}

// compare runs seq in all states, and reports the first step that differs from os.File.
func compare(t *testing.T, m mode, c *content, seq func(r *run)) {
	t.Helper()
	compareIn(t, states, m, c, seq)
}

// compareIn is compare for some of the states.
func compareIn(t *testing.T, states []state, m mode, c *content, seq func(r *run)) {
	t.Helper()
	if m == kernel && kernelOffset == nil {
		return
	}
	top := filetest.Dir(t)
	ref := map[bool]*run{}
	for i, st := range states {
		if !filetest.CanMap && (st.name == "unmapped" || st.name == "read" || st.name == "whole") {
			continue // without mappings these are the same as lazy
		}
		if testing.Short() && (st.name == "policy" || st.prefaulted && runtime.GOARCH == "wasm") {
			continue // flushes are slow, and so are writes on wasm, which never maps them
		}
		r := &run{t: t, st: st, mode: m, dir: filepath.Join(top, fmt.Sprint("s", i)), fds: map[filetest.File]uintptr{}}
		if err := os.Mkdir(r.dir, 0o755); err != nil {
			t.Fatal(err)
		}
		r.path = filepath.Join(r.dir, "data")
		if c != nil {
			c.make(t, r.path)
		}
		seq(r)
		for _, f := range r.all {
			f.Close()
		}
		os.RemoveAll(r.dir)
		if st.os {
			ref[st.prefaulted] = r
			continue
		}
		diff(t, ref[st.prefaulted], r)
	}
}

// diff reports the first step that differs, and the steps before it.
func diff(t *testing.T, want, got *run) {
	t.Helper()
	for i := 0; i < max(len(want.log), len(got.log)); i++ {
		w, g := entry{"(none)", ""}, entry{"(none)", ""}
		if i < len(want.log) {
			w = want.log[i]
		}
		if i < len(got.log) {
			g = got.log[i]
		}
		if w == g {
			continue
		}
		var b strings.Builder
		for j := max(0, i-8); j < i; j++ {
			fmt.Fprintf(&b, "\n  %3d %s: %s", j, got.log[j].what, got.log[j].got)
		}
		t.Errorf("state %q, mode %s, step %d:%s\n> %3d %s\n  os.File: %s\n  File:    %s %s",
			got.st.name, got.mode, i, b.String(), i, w.what, w.got, g.got, onlyIf(g.what != w.what, "(in "+g.what+")"))
		return
	}
}

func onlyIf(b bool, s string) string {
	if b {
		return s
	}
	return ""
}

// note records what is not a call on the file under test.
func (r *run) note(what string, got ...any) {
	r.log = append(r.log, entry{what, r.plain(strings.TrimSpace(fmt.Sprintln(got...)))})
}

// step makes one call, recovers its panic, and records the cursor as the mode requires.
func (r *run) step(f filetest.File, what string, fn func() string) {
	r.log = append(r.log, entry{what, guarded(fn)})
	switch {
	case f == nil:
	case r.mode == probed:
		r.log = append(r.log, entry{"  cursor", guarded(func() string {
			pos, err := f.Seek(0, io.SeekCurrent)
			return fmt.Sprint(pos, " ", r.err(err))
		})})
	case r.mode == kernel:
		if fd, ok := r.fds[f]; ok {
			r.log = append(r.log, entry{"  kernel offset", kernelOffset(fd)})
		}
	}
}

// guarded returns the result of fn, or its panic: os.File panics for some calls, too.
func guarded(fn func() string) (s string) {
	defer func() {
		if e := recover(); e != nil {
			s = fmt.Sprint("panic: ", e)
			if strings.Contains(s, "fault") || strings.Contains(s, "nil pointer") {
				s = "panic: " + fmt.Sprintf("%T", e)
				if os.Getenv("PARITY_STACKS") != "" {
					s += "\n" + string(debug.Stack())
				}
			}
		}
	}()
	return fn()
}

// plain replaces the directory, which differs between twins.
func (r *run) plain(s string) string {
	return strings.ReplaceAll(s, r.dir, "DIR")
}

// err describes everything that a program can learn from an error.
func (r *run) err(err error) string {
	switch err {
	case nil:
		return "nil"
	case io.EOF:
		return "io.EOF"
	}
	var b strings.Builder
	for e := err; e != nil; e = errors.Unwrap(e) {
		switch e := e.(type) {
		case *fs.PathError:
			fmt.Fprintf(&b, "PathError{%s %s} ", e.Op, e.Path)
		case *os.LinkError:
			fmt.Fprintf(&b, "LinkError{%s} ", e.Op)
		case *os.SyscallError:
			fmt.Fprintf(&b, "SyscallError{%s} ", e.Syscall)
		default:
			fmt.Fprintf(&b, "%T ", e)
			if v := reflect.ValueOf(e); v.Kind() == reflect.Uintptr { // syscall.Errno on most systems
				fmt.Fprint(&b, v.Uint(), " ")
			}
		}
	}
	for _, is := range knownErrors {
		if errors.Is(err, is.err) {
			b.WriteString("is " + is.name + " ")
		}
	}
	return r.plain(b.String()) + fmt.Sprintf("%q", r.plain(err.Error())) // before %q, which doubles the backslashes
}

var knownErrors = []struct {
	name string
	err  error
}{
	{"EOF", io.EOF}, {"ErrUnexpectedEOF", io.ErrUnexpectedEOF}, {"ErrShortWrite", io.ErrShortWrite},
	{"ErrClosed", os.ErrClosed}, {"ErrInvalid", fs.ErrInvalid}, {"ErrNotExist", fs.ErrNotExist},
	{"ErrExist", fs.ErrExist}, {"ErrPermission", fs.ErrPermission}, {"ErrUnsupported", errors.ErrUnsupported},
	{"ErrNoDeadline", os.ErrNoDeadline}, {"ErrDeadlineExceeded", os.ErrDeadlineExceeded},
	{"errMidway", filetest.ErrMidway},
}

// did returns the result of a call for the log. A reader has read n bytes into b.
func (r *run) did(n int64, err error, b []byte) string {
	s := fmt.Sprint(n, " ", r.err(err))
	if b != nil && n > 0 && n <= int64(len(b)) {
		s += " " + filetest.Show(b[:n])
	}
	return s
}

// track brings a new file into the state of the run.
func (r *run) track(f filetest.File, path string) filetest.File {
	r.all = append(r.all, f)
	if m, ok := f.(*mmapfile.File); ok && r.st.prep != nil {
		r.st.prep(m)
	}
	r.settle(f, path)
	if r.mode == kernel {
		r.fds[f] = f.Fd()
	}
	return f
}

// settle brings f into the state of the run again, for example after the file has grown. It
// changes neither the cursor nor the content.
func (r *run) settle(f filetest.File, path string) {
	if m, ok := f.(*mmapfile.File); ok && r.st.name == "eager" {
		m.Bytes()
	}
	if r.st.read {
		var b [8]byte
		for i := range 80 {
			f.ReadAt(b[:1+i%8], int64(i%3))
		}
	}
	if !r.st.prefaulted {
		return
	}
	if fi, err := os.Stat(path); err != nil || !fi.Mode().IsRegular() || fi.Size() > largest {
		return // devices such as /dev/zero never end
	}
	was, err := os.ReadFile(path)
	if err != nil || len(was) == 0 {
		return
	}
	// Often enough in each block of 64 KiB to make further writes mapped ones.
	last := max(0, len(was)-16)
	for off := 0; off < len(was); off += 64 << 10 {
		writeOften(f, was, off)
	}
	writeOften(f, was, last)
}

// writeOften rewrites 16 bytes of was at off.
func writeOften(f filetest.File, was []byte, off int) {
	p := was[off:min(off+16, len(was))]
	for range 100 {
		f.WriteAt(p, int64(off)) // may fail: f may be read-only
	}
}

// Without mapped states the matrix would compare os.File with itself. Not parallel: it counts the
// mapped Files of the process.
func TestParity_StatesAreMapped(t *testing.T) {
	filetest.NeedsGain(t)
	t.Cleanup(evictions.Hold()) // 80 reads are just enough if none of them is forgotten
	path := filetest.Temp(t, filetest.PatternWithZeros(3*page+17))
	for _, st := range states {
		if st.os {
			continue
		}
		for _, flag := range []int{os.O_RDONLY, os.O_RDWR} {
			before := filetest.MappedFiles()
			f := filetest.OpenFile(t, path, flag)
			r := &run{t: t, st: st}
			r.track(f, path)
			want := filetest.MapsUnasked && (st.read || st.prefaulted) || filetest.CanMap && (st.name == "eager" || st.prefaulted)
			if got := filetest.MappedFiles() > before; got != want {
				t.Errorf("state %s, flag %d: mapped %v, want %v", st.name, flag, got, want)
			}
		}
	}
}
