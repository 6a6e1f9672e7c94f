package ostest

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/filetest"
)

var (
	foreignTime = flag.Duration("mmapfile.foreign", time.Second, "how long each test beside a process that changes the file runs")
	foreignSeed = flag.Uint64("mmapfile.seed", 0, "the seed of the only round of these tests, if not 0")
)

const (
	foreignRounds = 100 // with one process: childCommand limits its time
	foreignTurns  = 20  // in a round, each with changes by the other process and calls
	foreignMost   = 100 // pages; a longer file is truncated
	foreignSteps  = 40  // that a failure prints
)

// eachRound runs fn with random seeds until the time is over.
func eachRound(t *testing.T, fn func(round int, seed uint64)) (rounds int) {
	t.Helper()
	if *foreignSeed != 0 {
		fn(0, *foreignSeed)
		return 1
	}
	d := *foreignTime
	if testing.Short() {
		d /= 5
	}
	for end := time.Now().Add(d); time.Now().Before(end) && !t.Failed(); rounds++ {
		seed := rand.Uint64() | 1
		fn(rounds, seed)
		if t.Failed() {
			t.Logf("repeat: go test -count=1 -run '^%s$' ./internal/ostest -mmapfile.seed=%d", t.Name(), seed)
		}
	}
	return rounds
}

// foreignDirs returns directories on the file systems to test.
func foreignDirs(t *testing.T) map[string]string {
	t.Helper()
	dirs := map[string]string{"Disk": t.TempDir()}
	if shm, err := os.MkdirTemp("/dev/shm", "mmapfile-test-"); err == nil {
		t.Cleanup(func() { os.RemoveAll(shm) })
		dirs["Memory"] = shm
	}
	return dirs
}

// Another process changes two files in the same way. Calls on the File of one must have the results
// of those on the os.File of the other.
//
// Only these may differ, and are left out: what the other process stores past the end through its
// mapping, Len, and times.
func TestFile_BesideProcess(t *testing.T) {
	for where, dir := range foreignDirs(t) {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			var other *foreigner
			mapped, steps := 0, 0
			rounds := eachRound(t, func(round int, seed uint64) {
				if round%foreignRounds == 0 {
					if other != nil {
						other.stop()
					}
					other = startForeigner(t)
				}
				b := newBeside(t, dir, other, seed)
				b.round()
				if b.mapped() {
					mapped++
				}
				steps += b.steps
				b.close()
			})
			other.stop()
			t.Logf("%d rounds, %d with a mapping at the end, %d steps", rounds, mapped, steps)
			if filetest.CanMap && rounds > 50 && mapped < rounds/2 {
				t.Errorf("the file was mapped in %d of %d rounds", mapped, rounds)
			}
		})
	}
}

// beside is one round of TestFile_BesideProcess.
type beside struct {
	t      *testing.T
	r      *rand.Rand
	other  *foreigner
	dir    string
	head   string // the kind of file
	flag   int
	file   *mmapfile.File
	twins  [2]besideTwin // of os.File and File
	log    []string
	steps  int
	ranges bool // the other process calls fallocate, too
	away   bool // other files have the names
}

// besideTwin is one of the two files.
type besideTwin struct {
	f    filetest.File
	side *os.File // another handle, for what os.File lacks
}

// besideResult is what a call returned.
type besideResult struct {
	n    int64
	err  error
	data []byte
}

func newBeside(t *testing.T, dir string, other *foreigner, seed uint64) *beside {
	t.Helper()
	b := &beside{t: t, dir: dir, r: rand.New(rand.NewPCG(seed, 0)), other: other}
	r := b.r
	size := []int64{0, 1, 1, 2, 3, 4, 8, 15, 16, 17, 33, 48}[r.IntN(12)]*page + []int64{0, 0, 1, -1, 100, -100, page / 2}[r.IntN(7)]
	size = max(size, 0)
	content := make([]byte, size)
	kind := r.IntN(4)
	switch kind {
	case 0: // a hole
	case 1: // islands in a hole
		for range 4 {
			copy(content[r.Int64N(size+1):], fill(pickLength(r), byte(r.Uint32())))
		}
	case 2:
		content = filetest.Pattern(int(size))
	case 3:
		content = filetest.PatternWithZeros(size)
	}
	b.flag = []int{os.O_RDWR, os.O_RDWR, os.O_RDWR, os.O_RDWR, os.O_RDWR, os.O_RDONLY, os.O_RDWR | os.O_APPEND}[r.IntN(7)]
	taken, warm := r.IntN(8) == 0, r.IntN(4)
	b.head = fmt.Sprintf("%d bytes of content %d, %s, by New %v, state %d", size, kind, flagName(b.flag), taken, warm)
	var names []string
	for i := range b.twins {
		name := filepath.Join(dir, fmt.Sprintf("file%d", i))
		names = append(names, name)
		writeSparse(t, name, content)
		w := &b.twins[i]
		var err error
		if w.side, err = os.OpenFile(name, os.O_RDWR, 0); err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(name, b.flag, 0)
		if err != nil {
			t.Fatal(err)
		}
		if w.f = f; i == 0 {
			continue
		}
		if taken {
			b.file, err = mmapfile.New(f)
		} else {
			_ = f.Close()
			b.file, err = mmapfile.OpenFile(name, b.flag, 0)
		}
		if err != nil {
			t.Fatal(err)
		}
		w.f = b.file
	}
	other.do(foreignChange{Kind: "open", Names: names})
	b.warm(warm)
	b.ranges = r.IntN(2) == 0
	return b
}

// writeSparse writes a new file in which pages of zeros are holes.
func writeSparse(t *testing.T, name string, content []byte) {
	t.Helper()
	_ = os.Remove(name)
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(int64(len(content))); err != nil {
		t.Fatal(err)
	}
	zeros := make([]byte, page)
	for off := 0; off < len(content); off += int(page) {
		p := content[off:min(off+int(page), len(content))]
		if bytes.Equal(p, zeros[:len(p)]) {
			continue
		}
		if _, err := f.WriteAt(p, int64(off)); err != nil {
			t.Fatal(err)
		}
	}
}

// warm brings the File into a state: 0 is new, 1 mapped for Bytes. In 2 all pages have been read often
// enough that the mapping serves reads, and in 3 some have been written as often.
func (b *beside) warm(state int) {
	switch {
	case state == 1:
		b.file.Bytes()
	case state >= 2:
		fi, err := b.twins[1].side.Stat()
		if err != nil {
			b.t.Fatal(err)
		}
		buf := make([]byte, page)
		for range max(5, 100*page/(fi.Size()+1)) {
			for off := int64(0); off < fi.Size(); off += page {
				b.file.ReadAt(buf[:min(page, fi.Size()-off)], off)
			}
		}
	}
	if state == 3 && b.flag == os.O_RDWR {
		for range 2 {
			at := pickPlace(b.r, 16*page)
			b.both(fmt.Sprintf("100 writes at %d", at), func(w besideTwin) (res besideResult) { return burst(w, at, 20) })
		}
	}
}

// mapped reports whether the file is mapped, by the name that it has or had.
func (b *beside) mapped() bool {
	return bytes.Contains(filetest.Read(b.t, "/proc/self/maps"), []byte(b.file.Name()))
}

// burst writes so often at one place that the writes are mapped.
func burst(w besideTwin, at int64, n int64) (res besideResult) {
	for i := range 100 {
		k, err := w.f.WriteAt(fill(n, byte(i)), at)
		res.n += int64(k)
		if err != nil {
			res.err = err
		}
	}
	return res
}

// both makes a call on both files, and compares the results.
func (b *beside) both(step string, call func(w besideTwin) besideResult) {
	b.t.Helper()
	b.note(step)
	want, got := call(b.twins[0]), call(b.twins[1])
	wantErr, gotErr := errorIdentity(want.err, b.twins[0].f.Name()), errorIdentity(got.err, b.twins[1].f.Name())
	switch {
	case got.n != want.n || gotErr != wantErr:
		b.fail("%s: %d, %s; os.File %d, %s", step, got.n, gotErr, want.n, wantErr)
	case !bytes.Equal(got.data, want.data):
		i := 0
		for i < len(got.data) && i < len(want.data) && got.data[i] == want.data[i] {
			i++
		}
		part := func(p []byte) []byte { return p[min(i, len(p)):min(i+30, len(p))] }
		b.fail("%s: %d bytes, of os.File %d; they differ from byte %d: %v, want %v", step, len(got.data), len(want.data), i, part(got.data), part(want.data))
	}
}

// errorIdentity describes err as errorText does, and what it wraps.
func errorIdentity(err error, name string) string {
	if err == nil || err == io.EOF {
		return fmt.Sprint(err)
	}
	text := filetest.ErrorText(err, name)
	for err = errors.Unwrap(err); err != nil; err = errors.Unwrap(err) {
		text += fmt.Sprintf(" wraps %T %v", err, err)
	}
	return text
}

func (b *beside) note(step string) {
	b.steps++
	if b.log = append(b.log, step); len(b.log) > foreignSteps {
		b.log = b.log[1:]
	}
}

func (b *beside) fail(format string, args ...any) {
	b.t.Helper()
	if b.t.Failed() {
		return // what follows a difference says nothing
	}
	b.t.Errorf("%s\n%s, step %d, after\n\t%s", fmt.Sprintf(format, args...), b.head, b.steps, strings.Join(b.log, "\n\t"))
}

// size returns the present size of the files.
func (b *beside) size() int64 {
	fi, err := b.twins[0].side.Stat()
	if err != nil {
		b.t.Fatal(err)
	}
	return fi.Size()
}

func (b *beside) round() {
	for range foreignTurns {
		for range 1 + b.r.IntN(3) {
			b.foreign()
		}
		for range 1 + b.r.IntN(8) {
			if b.own(); b.t.Failed() {
				return
			}
		}
		if b.r.IntN(4) == 0 {
			b.content()
		}
	}
	b.seek(0, io.SeekCurrent)
	b.stat()
	b.content()
}

// foreign has the other process make a change. What the file system refuses changes nothing.
func (b *beside) foreign() {
	size := b.size()
	c := pickForeign(b.r, size, b.ranges)
	c.Named = b.r.IntN(8) == 0
	switch {
	case size > foreignMost*page:
		c = foreignChange{Kind: "truncate", Off: pickPlace(b.r, 20*page)}
	case b.r.IntN(20) == 0 && b.away:
		c.Kind, b.away = "rename back", false
	case b.r.IntN(20) == 0 && !b.away:
		c.Kind, b.away = "rename over", true
	}
	err := b.other.do(c)
	b.note(c.String() + " " + err)
	if _, refusable := fallocateModes[c.Kind]; err != "" && !refusable {
		b.fail("%v: %s", c, err)
	}
}

// content compares the files.
func (b *beside) content() {
	b.both("all", func(w besideTwin) (res besideResult) {
		res.data, res.err = io.ReadAll(io.NewSectionReader(w.side, 0, 1<<40))
		return res
	})
}

func (b *beside) seek(offset int64, whence int) {
	b.both(fmt.Sprintf("Seek(%d, %d)", offset, whence), func(w besideTwin) (res besideResult) {
		res.n, res.err = w.f.Seek(offset, whence)
		return res
	})
}

func (b *beside) stat() {
	b.both("Stat", func(w besideTwin) (res besideResult) {
		fi, err := w.f.Stat()
		if err == nil {
			res.n, res.data = fi.Size(), []byte(fi.Mode().String())
		}
		res.err = err
		return res
	})
}

func (b *beside) readAt(n, at int64, times int) {
	b.both(fmt.Sprintf("%d ReadAt(%d, %d)", times, n, at), func(w besideTwin) (res besideResult) {
		buf := make([]byte, n)
		for range times {
			k, err := w.f.ReadAt(buf, at)
			res.n, res.err, res.data = int64(k), err, buf[:k]
		}
		return res
	})
}

// own makes a random call.
func (b *beside) own() {
	r, size := b.r, b.size()
	at, n, detail := pickPlace(r, size), pickLength(r), byte(r.Uint32())
	switch r.IntN(24) {
	case 0, 1, 2, 3:
		b.readAt(n, at, 1)
	case 4:
		b.readAt(1+n%3, at, 1)
	case 5, 6:
		b.readAt(1+n%100, at, 40)
	case 7, 8, 9:
		b.both(fmt.Sprintf("Read(%d)", n), func(w besideTwin) (res besideResult) {
			buf := make([]byte, n)
			k, err := w.f.Read(buf)
			return besideResult{int64(k), err, buf[:k]}
		})
	case 10:
		b.seek(at, io.SeekStart)
	case 11:
		b.seek([]int64{0, n - 30, at - size}[detail%3], []int{io.SeekCurrent, io.SeekCurrent, io.SeekEnd}[detail%3])
	case 12, 13:
		b.both(fmt.Sprintf("WriteAt(%d, %d) fill %d", n, at, detail), func(w besideTwin) besideResult {
			k, err := w.f.WriteAt(fill(n, detail), at)
			return besideResult{n: int64(k), err: err}
		})
	case 14, 15:
		b.both(fmt.Sprintf("Write(%d) fill %d", n, detail), func(w besideTwin) besideResult {
			k, err := w.f.Write(fill(n, detail))
			return besideResult{n: int64(k), err: err}
		})
	case 16:
		b.both(fmt.Sprintf("100 WriteAt(%d, %d)", 1+n%20, at), func(w besideTwin) besideResult { return burst(w, at, 1+n%20) })
	case 17:
		b.both(fmt.Sprintf("Truncate(%d)", at), func(w besideTwin) besideResult { return besideResult{err: w.f.Truncate(at)} })
	case 18:
		b.stat()
	case 19, 20:
		b.view(at, n, detail)
	case 21:
		b.bytes(at, n, detail)
	case 22, 23:
		b.writeTo(detail)
	}
	if r.IntN(4) == 0 {
		b.seek(0, io.SeekCurrent)
	}
}

// canStore reports whether memory of the File may be stored into. Without mappings, a file that was
// opened with O_APPEND is opened again by its name to write that, so it must not be renamed.
func (b *beside) canStore() bool {
	return b.flag == os.O_RDWR || b.flag&os.O_APPEND != 0 && filetest.CanMap
}

// view compares View with calls of os.File that do the same.
func (b *beside) view(at, n int64, detail byte) {
	if detail%16 == 0 {
		at = -at
	}
	store := b.canStore() && detail%2 == 1
	b.both(fmt.Sprintf("View(%d, %d) store %v fill %d", at, n, store, detail), func(w besideTwin) (res besideResult) {
		if m, ok := w.f.(*mmapfile.File); ok {
			res.err = m.View(at, n, func(p []byte) error {
				res.n, res.data = int64(cap(p)), bytes.Clone(p)
				if store {
					copy(p, fill(n, detail))
				}
				return nil
			})
			if at < 0 && errors.Is(res.err, os.ErrInvalid) {
				res.err = nil
			}
			return res
		}
		fi, err := w.side.Stat()
		switch {
		case err != nil || at < 0:
			return besideResult{err: err}
		case at+n > fi.Size():
			return besideResult{err: io.EOF}
		}
		res.n, res.data = n, make([]byte, n)
		if n > 0 {
			_, res.err = w.side.ReadAt(res.data, at)
		}
		if store && res.err == nil {
			_, res.err = w.side.WriteAt(fill(n, detail), at)
		}
		return res
	})
}

// bytes compares Bytes with the file.
func (b *beside) bytes(at, n int64, detail byte) {
	store := b.canStore() && detail%2 == 1
	b.both(fmt.Sprintf("Bytes, store %v at %d fill %d", store, at, detail), func(w besideTwin) (res besideResult) {
		m, ok := w.f.(*mmapfile.File)
		if !ok {
			res.data, res.err = io.ReadAll(io.NewSectionReader(w.side, 0, 1<<40))
			res.n = int64(len(res.data))
			if k := min(n, res.n-at); store && k > 0 {
				w.side.WriteAt(fill(k, detail), at)
			}
			return res
		}
		p := m.Bytes()
		res.n, res.data = int64(cap(p)), bytes.Clone(p)
		if k := min(n, res.n-at); store && k > 0 {
			copy(p[at:], fill(k, detail))
			m.ReadAt(make([]byte, k), at) // without mappings this writes them to the file
		}
		runtime.KeepAlive(m)
		return res
	})
}

// writeTo compares copies to writers of several kinds.
func (b *beside) writeTo(detail byte) {
	b.both(fmt.Sprintf("WriteTo %d", detail%5), func(w besideTwin) (res besideResult) {
		var to bytes.Buffer
		switch detail % 5 {
		case 0, 1:
			res.n, res.err = w.f.WriteTo(&to)
		case 2:
			res.n, res.err = w.f.WriteTo(onlyWriter{&to})
		case 3:
			res.n, res.err = w.f.WriteTo(io.Discard)
		case 4:
			dst, err := os.CreateTemp(b.dir, "copy")
			if err != nil {
				b.t.Fatal(err)
			}
			defer os.Remove(dst.Name())
			defer dst.Close()
			res.n, res.err = w.f.WriteTo(dst)
			io.Copy(&to, io.NewSectionReader(dst, 0, 1<<40))
		}
		res.data = to.Bytes()
		return res
	})
}

// close closes the files, and gives them back their names.
func (b *beside) close() {
	if b.away {
		b.other.do(foreignChange{Kind: "rename back"})
	}
	b.both("Close", func(w besideTwin) besideResult {
		w.side.Close()
		return besideResult{err: w.f.Close()}
	})
}
