package ostest

import (
	"bytes"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime/debug"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"go.dw1.io/mmapfile/internal/filetest"
)

func init() {
	filetest.Children["foreign"] = func([]string) error { return childForeign() }
	filetest.Children["storm"] = childStorm
}

// A foreignChange is a change that a child process makes to each of some files.
type foreignChange struct {
	Kind   string
	Off, N int64
	Fill   byte     // of what is written, see fill
	Placed bool     // write placedBytes instead
	Named  bool     // change the file that has the name now, not the one that had it at first
	Names  []string // the files, if Kind is "open"
}

func (c foreignChange) String() string {
	return fmt.Sprintf("another process: %s(%d, %d) fill %d, by name %v", c.Kind, c.Off, c.N, c.Fill, c.Named)
}

// content returns the bytes to write.
func (c foreignChange) content(n int64) []byte {
	if c.Placed {
		return placedBytes(c.Off, n)
	}
	return fill(n, c.Fill)
}

// placedBytes returns the bytes of a pattern that repeats with each page. So they keep their values
// when pages are inserted or removed before them.
func placedBytes(off, n int64) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = filetest.PatternByte((off + int64(i)) % page)
	}
	return b
}

// checkPlaced returns an error unless each byte is zero or that of placedBytes.
func checkPlaced(b []byte, off int64) error {
	at := off % page
	for i, c := range b {
		if c != 0 && c != filetest.PatternByte(at) {
			return fmt.Errorf("byte %d is %d, neither 0 nor %d", off+int64(i), c, filetest.PatternByte(at))
		}
		if at++; at == page {
			at = 0
		}
	}
	return nil
}

// fallocateModes are the changes that file systems may refuse.
var fallocateModes = map[string]uint32{
	"allocate":       0,
	"allocate after": unix.FALLOC_FL_KEEP_SIZE,
	"punch":          unix.FALLOC_FL_PUNCH_HOLE | unix.FALLOC_FL_KEEP_SIZE,
	"collapse":       unix.FALLOC_FL_COLLAPSE_RANGE,
	"insert":         unix.FALLOC_FL_INSERT_RANGE,
	"zero":           unix.FALLOC_FL_ZERO_RANGE,
	"zero inside":    unix.FALLOC_FL_ZERO_RANGE | unix.FALLOC_FL_KEEP_SIZE,
}

// changeFile makes the change c to f.
func changeFile(f *os.File, c foreignChange) error {
	switch c.Kind {
	case "truncate":
		return f.Truncate(c.Off)
	case "write":
		_, err := f.WriteAt(c.content(c.N), c.Off)
		return err
	case "store":
		return storeMapped(f, c)
	}
	mode, ok := fallocateModes[c.Kind]
	if !ok {
		return errors.New("no such change")
	}
	return unix.Fallocate(int(f.Fd()), mode, c.Off, c.N)
}

var errStoreFault = errors.New("a page of the mapping is gone")

// storeMapped stores through a mapping of f, up to the end of the file. A store past it, into the
// last page, is the one change that a mapped reader cannot tell from content: see reaches.
func storeMapped(f *os.File, c foreignChange) (err error) {
	fi, err := f.Stat()
	if err != nil {
		return err
	}
	n := min(c.N, fi.Size()-c.Off)
	if n <= 0 {
		return nil
	}
	start := c.Off &^ (page - 1)
	p, err := unix.Mmap(int(f.Fd()), start, int(c.Off+n-start), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	defer unix.Munmap(p)
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if recover() != nil { // the file was truncated meanwhile
			err = errStoreFault
		}
	}()
	copy(p[c.Off-start:], c.content(n))
	return nil
}

// A foreignFile is a file that a child process changes.
type foreignFile struct {
	f    *os.File
	name string
}

// change makes the change c.
func (f foreignFile) change(c foreignChange) error {
	away, decoy := f.name+".away", f.name+".decoy"
	switch {
	case c.Kind == "rename over": // the file keeps another name
		if err := os.WriteFile(decoy, bytes.Repeat([]byte{255}, int(c.N)), 0o600); err != nil {
			return err
		}
		if err := os.Link(f.name, away); err != nil {
			return err
		}
		return os.Rename(decoy, f.name)
	case c.Kind == "rename back":
		return os.Rename(away, f.name)
	case c.Named:
		now, err := os.OpenFile(f.name, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		defer now.Close()
		return changeFile(now, c)
	}
	return changeFile(f.f, c)
}

// childForeign makes the changes that its input asks for, and answers each with the errors: one
// for each file, empty if there was none.
func childForeign() error {
	in, out := gob.NewDecoder(os.Stdin), gob.NewEncoder(os.Stdout)
	var files []foreignFile
	for {
		var c foreignChange
		if err := in.Decode(&c); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if c.Kind == "open" {
			for _, old := range files {
				old.f.Close()
			}
			files = nil
			for _, name := range c.Names {
				f, err := os.OpenFile(name, os.O_RDWR, 0)
				if err != nil {
					return err
				}
				files = append(files, foreignFile{f, name})
			}
		}
		errs := make([]string, len(files))
		for i, f := range files {
			if c.Kind == "open" {
				continue
			}
			if err := f.change(c); err != nil {
				errs[i] = err.Error()
			}
		}
		if err := out.Encode(errs); err != nil {
			return err
		}
	}
}

// childStorm changes the file args[0] at random until its input ends. The first args[2] bytes stay
// as they are, and every other byte is zero or that of placedBytes.
func childStorm(args []string) error {
	seed, err := strconv.ParseUint(args[1], 10, 64)
	if err != nil {
		return err
	}
	first, err := strconv.ParseInt(args[2], 10, 64)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(args[0], os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	var stop atomic.Bool
	go func() {
		io.Copy(io.Discard, os.Stdin)
		stop.Store(true)
	}()
	file, away := foreignFile{f, args[0]}, false
	for r := rand.New(rand.NewPCG(seed, 1)); !stop.Load(); {
		fi, err := f.Stat()
		if err != nil {
			return err
		}
		c := pickForeign(r, fi.Size(), r.IntN(4) == 0)
		c.Placed = true
		switch {
		case fi.Size() > stormMost*page:
			c = foreignChange{Kind: "truncate", Off: first + r.Int64N(4*page)}
		case c.Kind == "collapse" || c.Kind == "insert":
			c.Off = max(c.Off, (first+page-1)/page*page)
		case r.IntN(50) == 0:
			c.Kind, away = map[bool]string{false: "rename over", true: "rename back"}[away], !away
		}
		c.Off = max(c.Off, first)
		err = file.change(c)
		if _, refusable := fallocateModes[c.Kind]; err != nil && !refusable && err != errStoreFault {
			return fmt.Errorf("%v: %w", c, err)
		}
	}
	if away {
		return file.change(foreignChange{Kind: "rename back"})
	}
	return nil
}

const stormMost = 24 // pages; a longer file is truncated

// foreigner is the parent's end of a process that runs childForeign.
type foreigner struct {
	t       *testing.T
	cmd     *exec.Cmd
	in      io.WriteCloser
	encoder *gob.Encoder
	decoder *gob.Decoder
}

// startForeigner starts the process. The test's end stops it.
func startForeigner(t *testing.T) *foreigner {
	t.Helper()
	cmd := filetest.ChildCommand(t, nil, "foreign")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	filetest.StartChild(t, cmd)
	return &foreigner{t, cmd, in, gob.NewEncoder(in), gob.NewDecoder(out)}
}

// do has the process make a change to all files. It returns the error's text, which must be the same
// for all of them.
func (p *foreigner) do(c foreignChange) string {
	p.t.Helper()
	if err := p.encoder.Encode(c); err != nil {
		p.t.Fatal(err)
	}
	var errs []string
	if err := p.decoder.Decode(&errs); err != nil {
		p.t.Fatal(err)
	}
	if len(slices.Compact(slices.Clone(errs))) > 1 {
		p.t.Fatalf("%v: the files differ: %q", c, errs)
	}
	return errs[0]
}

// stop ends the process.
func (p *foreigner) stop() {
	p.t.Helper()
	_ = p.in.Close()
	if err := p.cmd.Wait(); err != nil {
		p.t.Error("the other process: ", err)
	}
}

// pickForeign returns a random change of a file of size bytes, by fallocate only if ranges is set:
// on a disk most of these wait for the file to be written. Whole pages are inserted and removed,
// because file systems refuse others.
func pickForeign(r *rand.Rand, size int64, ranges bool) foreignChange {
	c := foreignChange{Off: pickPlace(r, size), N: pickLength(r), Fill: byte(r.Uint32())}
	pages := func() {
		c.Off = r.Int64N(size/page+2) * page
		c.N = (1 + r.Int64N(3)) * page
	}
	kinds := 20
	if !ranges {
		kinds = 11
	}
	switch k := r.IntN(kinds); k {
	case 0, 1, 2:
		c.Kind = "truncate"
	case 3, 4:
		c.Kind, c.Off = "truncate", size+r.Int64N(3*page)
	case 5, 6, 7:
		c.Kind = "write"
	case 8, 9, 10:
		c.Kind = "store"
	case 11, 12:
		c.Kind = "collapse"
		pages()
	case 13:
		c.Kind = "insert"
		pages()
	case 14:
		c.Kind = "insert" // of an odd length, which is refused
	default:
		c.Kind = []string{"punch", "zero", "zero inside", "allocate", "allocate after"}[k-15]
		if r.IntN(2) == 0 {
			pages()
		}
	}
	c.N = max(c.N, 1)
	return c
}

// pickPlace returns a random offset, most often near an edge.
func pickPlace(r *rand.Rand, size int64) int64 {
	at := []int64{0, size, size, size - size%page, (size + page - 1) / page * page, size / page / 2 * page, r.Int64N(size + 1), r.Int64N(size + 1)}[r.IntN(8)]
	if r.IntN(3) > 0 {
		at += r.Int64N(140) - 70
	}
	return max(at, 0)
}

// pickLength returns a random length, most often a small one.
func pickLength(r *rand.Rand) int64 {
	switch r.IntN(8) {
	case 0:
		return r.Int64N(3)
	case 1:
		return page + r.Int64N(200) - 100
	case 2:
		return r.Int64N(8 * page)
	case 3:
		return r.Int64N(2 * page)
	}
	return r.Int64N(100)
}
