package mmapfile_test

import (
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime/debug"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

func init() {
	children["foreign"] = func([]string) error { return childForeign() }
}

// A foreignChange is a change that a child process makes to each of some files.
type foreignChange struct {
	Kind   string
	Off, N int64
	Fill   byte     // of what is written, see fill
	Named  bool     // change the file that has the name now, not the one that had it at first
	Names  []string // the files, if Kind is "open"
}

func (c foreignChange) String() string {
	return fmt.Sprintf("another process: %s(%d, %d) fill %d, by name %v", c.Kind, c.Off, c.N, c.Fill, c.Named)
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
		_, err := f.WriteAt(fill(c.N, c.Fill), c.Off)
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
			err = errors.New("fault")
		}
	}()
	copy(p[c.Off-start:], fill(n, c.Fill))
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
		if err := os.WriteFile(decoy, fill(c.N, c.Fill), 0o600); err != nil {
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
	cmd := childCommand(t, nil, "foreign")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	startChild(t, cmd)
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
