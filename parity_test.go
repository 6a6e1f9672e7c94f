package mmapfile_test

import (
	"errors"
	"fmt"
	"hash/crc32"
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
)

// The parity matrix: every sequence of calls runs on *os.File and on File in each of its
// states, on twin files, and every step must give the same. This file is the harness;
// the sequences are in the other parity_*_test.go.

// A state is how a File stands when a sequence gets it.
type state struct {
	name    string
	os      bool // the reference
	hot     bool // stores of what is there already are made first, on the reference too
	warm    bool // small reads first
	options mmapfile.Options
	prep    func(f *mmapfile.File)
}

var states = []state{
	{name: "os", os: true},
	{name: "os hot", os: true, hot: true},
	{name: "unmapped", prep: mmapfile.NeverMap},
	{name: "lazy"},
	{name: "warm", warm: true},
	{name: "eager", prep: func(f *mmapfile.File) { f.Bytes() }},
	{name: "hot", hot: true, warm: true, prep: func(f *mmapfile.File) {
		if !mmapfile.MapsUnasked {
			f.Bytes()
		}
	}},
	{name: "policy", warm: true, options: mmapfile.Options{Flush: mmapfile.FlushPolicy{Bytes: 50_000, Interval: 20 * time.Millisecond}}},
}

// A mode is what the harness looks at after each step. Each look changes what comes
// after it: a probed cursor has been handed over, a kernel's offset stays the kernel's.
type mode string

const (
	silent mode = "silent"
	probed mode = "probed" // Seek(0, SeekCurrent)
	kernel mode = "kernel" // the kernel's offset, through Fd
)

// kernelOffset asks the kernel for the offset behind fd; nil where it cannot be asked.
var kernelOffset func(fd uintptr) string

// A run is one sequence on one kind of file, and what it gave.
type run struct {
	t    *testing.T
	st   state
	mode mode
	dir  string // everything the sequence makes is in here
	path string // the main file
	log  []entry
	fds  map[anyFile]uintptr
	all  []io.Closer
}

type entry struct{ what, got string }

// A content is what the main file holds when the sequence begins.
type content struct {
	name string
	size int64
	make func(t *testing.T, path string)
}

// compare runs seq in every state and fails on the first step that is not os.File's.
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
	top := scratchDir(t)
	ref := map[bool]*run{}
	for i, st := range states {
		if !mmapfile.CanMap && (st.name == "unmapped" || st.name == "warm") {
			continue // nothing is mapped in any state: these are the same as lazy
		}
		if testing.Short() && (st.name == "policy" || st.hot && runtime.GOARCH == "wasm") {
			continue // flushing takes its time; and so do writes on wasm, where hot is no other way
		}
		r := &run{t: t, st: st, mode: m, dir: filepath.Join(top, fmt.Sprint("s", i)), fds: map[anyFile]uintptr{}}
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
			ref[st.hot] = r
			continue
		}
		diff(t, ref[st.hot], r)
	}
}

// diff reports the first step where two runs part, with a few that led to it.
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

// step makes one call, catches its panic, and looks at the cursor as the mode says.
func (r *run) step(f anyFile, what string, fn func() string) {
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

// guarded is fn's result, or its panic: os.File panics for some calls as well.
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

// plain takes out what differs between twins and should: the directory.
func (r *run) plain(s string) string {
	return strings.ReplaceAll(s, r.dir, "DIR")
}

// err describes an error by what a program can find out about it.
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
			if v := reflect.ValueOf(e); v.Kind() == reflect.Uintptr { // syscall.Errno, where there is one
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
	{"errMidway", errMidway},
}

// show is data as it goes into the log: all of it if short, else its length, sum and ends.
func show(b []byte) string {
	if len(b) <= 16 {
		return fmt.Sprintf("%x", b)
	}
	return fmt.Sprintf("[%d crc %08x %x..%x]", len(b), crc32.ChecksumIEEE(b), b[:4], b[len(b)-4:])
}

// did is the result of a call that moved n bytes of b (if b is what was read).
func (r *run) did(n int64, err error, b []byte) string {
	s := fmt.Sprint(n, " ", r.err(err))
	if b != nil && n > 0 && n <= int64(len(b)) {
		s += " " + show(b[:n])
	}
	return s
}

// track brings a newly opened file into the state that the run is about.
func (r *run) track(f anyFile, path string) anyFile {
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

// settle repeats the warm-up, say after the file has grown. Nothing that it does can be
// seen in the results: it leaves the cursor and the content alone.
func (r *run) settle(f anyFile, path string) {
	if m, ok := f.(*mmapfile.File); ok && r.st.name == "eager" {
		m.Bytes()
	}
	if r.st.warm {
		var b [8]byte
		for i := range 80 {
			f.ReadAt(b[:1+i%8], int64(i%3))
		}
	}
	if !r.st.hot {
		return
	}
	if fi, err := os.Stat(path); err != nil || !fi.Mode().IsRegular() {
		return // the likes of /dev/zero never end
	}
	was, err := os.ReadFile(path)
	if err != nil || len(was) == 0 {
		return
	}
	// Often enough in every 64 KiB for stores to go through the mapping from then on.
	last := max(0, len(was)-16)
	for off := 0; off < len(was); off += 64 << 10 {
		hotten(f, was, off)
	}
	hotten(f, was, last)
}

func hotten(f anyFile, was []byte, off int) {
	p := was[off:min(off+16, len(was))]
	for range 100 {
		f.WriteAt(p, int64(off)) // where it must fail, it must do so every time
	}
}
