//go:build unix

package mmapfile_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"math/rand/v2"

	"go.dw1.io/mmapfile"
)

// ftFills are contents that hide a stale length more or less well.
func ftFills(size int) map[string][]byte {
	mixed := ftPattern(size)
	for i := range mixed {
		if i/97%3 != 0 {
			mixed[i] = 0
		}
	}
	return map[string][]byte{"Pattern": ftPattern(size), "Zeros": make([]byte, size), "Mixed": mixed}
}

// An ftAct is one call, and what came of it as text.
type ftAct struct {
	name string
	hot  bool // have the pages written often before, so that the call may be a store
	do   func(f ftFile) string
}

// ftActs are the calls worth making when the file's length changes from size to cut.
func ftActs(size, cut int) []ftAct {
	page := os.Getpagesize()
	border := (cut + page - 1) / page * page
	offs := []int{0, cut - 65, cut - 1, cut, cut + 1, border - 1, border, size - 70, size - 1, size, size + 5}
	slices.Sort(offs)
	offs = slices.DeleteFunc(slices.Compact(offs), func(off int) bool { return off < 0 })
	data := bytes.Repeat([]byte("new content "), 2000)
	zero := make([]byte, 8192)
	var acts []ftAct
	add := func(hot bool, do func(f ftFile) string, format string, args ...any) {
		acts = append(acts, ftAct{fmt.Sprintf(format, args...), hot, do})
	}
	at := func(off int, do func(f ftFile) string) func(f ftFile) string {
		return func(f ftFile) string {
			_, err := f.Seek(int64(off), io.SeekStart)
			return fmt.Sprint(ftErr(err, f.Name()), " ", do(f))
		}
	}
	for i, off := range offs {
		for _, n := range []int{1, 64, 4096, size} {
			read := func(n int, err error, b []byte, f ftFile) string {
				return fmt.Sprintf("%d %s %s", n, ftErr(err, f.Name()), b[:max(n, 0)])
			}
			add(false, func(f ftFile) string {
				b := make([]byte, n)
				m, err := f.ReadAt(b, int64(off))
				return read(m, err, b, f)
			}, "ReadAt(%d,%d)", n, off)
			add(false, at(off, func(f ftFile) string {
				b := make([]byte, n)
				m, err := f.Read(b)
				return read(m, err, b, f)
			}), "Read(%d)at%d", n, off)
			if n = min(n, len(zero)); (i+n)%2 == 0 && n > 64 {
				continue
			}
			for _, b := range [][]byte{data[:n], zero[:n]} {
				write := func(n int, err error, f ftFile) string { return fmt.Sprint(n, " ", ftErr(err, f.Name())) }
				add(true, func(f ftFile) string {
					m, err := f.WriteAt(b, int64(off))
					return write(m, err, f)
				}, "WriteAt(%d,%d)zero=%v", n, off, b[0] == 0)
				if n == 64 {
					add(true, at(off, func(f ftFile) string {
						m, err := f.Write(b)
						return write(m, err, f)
					}), "Write(%d)at%d,zero=%v", n, off, b[0] == 0)
				}
			}
		}
		add(false, at(off, func(f ftFile) string {
			var to bytes.Buffer
			n, err := f.WriteTo(&to)
			return fmt.Sprintf("%d %s %s", n, ftErr(err, f.Name()), to.Bytes())
		}), "WriteTo,from%d", off)
		add(false, at(off, func(f ftFile) string {
			n, err := f.WriteTo(io.Discard)
			return fmt.Sprintf("%d %s", n, ftErr(err, f.Name()))
		}), "WriteTo,from%d,discarded", off)
		add(true, at(off, func(f ftFile) string {
			n, err := f.ReadFrom(strings.NewReader("from a reader"))
			return fmt.Sprint(n, " ", ftErr(err, f.Name()))
		}), "ReadFrom,at%d", off)
	}
	return acts
}

// An ftSeen is everything that can be seen after a call.
type ftSeen struct{ result, cursor, again, disk string }

// ftAfter acts on a file that was mapped (and hot) before change was done to it behind its back.
func ftAfter(t testing.TB, kind int, name string, act ftAct, content []byte, change func(name string)) (seen ftSeen) {
	t.Helper()
	ftPut(t, name, content)
	var f ftFile
	if kind == 0 {
		inner, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		f = inner
	} else {
		m, err := mmapfile.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		ftMap(t, m)
		if act.hot {
			ftHeat(t, m, content)
		}
		f = m
	}
	defer f.Close()
	whole := make([]byte, len(content))
	if _, err := f.ReadAt(whole, 0); err != nil {
		t.Fatal(err)
	}
	change(name)
	seen.result = act.do(f)
	pos, err := f.Seek(0, io.SeekCurrent)
	seen.cursor = fmt.Sprint(pos, " ", ftErr(err, name))
	again := make([]byte, len(content)+30000)
	n, err := f.ReadAt(again, 0)
	seen.again = fmt.Sprintf("%d %s %s", n, ftErr(err, name), again[:n])
	seen.disk = string(ftGet(t, name))
	return seen
}

// ftDiffer says in brief where got is not what os.File's want is.
func ftDiffer(got, want ftSeen) string {
	part := func(what, got, want string) string {
		if got == want {
			return ""
		}
		i := 0
		for i < len(got) && i < len(want) && got[i] == want[i] {
			i++
		}
		cut := func(s string) string { return s[max(0, min(len(s), i)-60):min(len(s), i+60)] }
		return fmt.Sprintf("\n%s: got (%d) …%q…\n    os.File (%d) …%q…", what, len(got), cut(got), len(want), cut(want))
	}
	return part("result", got.result, want.result) + part("cursor", got.cursor, want.cursor) +
		part("read again", got.again, want.again) + part("on disk", got.disk, want.disk)
}

func ftCuts(size int) []int {
	page := os.Getpagesize()
	return []int{0, 1, page / 2, page, 2*page + 100, 2*page + 128, 3*page - 1, 3 * page, size - size%page + 8, size - 1}
}

func TestEveryCallAfterForeignTruncationIsAsWithOSFile(t *testing.T) {
	page := os.Getpagesize()
	size := 5*page + 700
	changes := []struct {
		name string
		do   func(name string, cut int) error
	}{
		{"Cut", func(name string, cut int) error { return os.Truncate(name, int64(cut)) }},
		{"CutAndExtended", func(name string, cut int) error {
			if err := os.Truncate(name, int64(cut)); err != nil {
				return err
			}
			return os.Truncate(name, int64(size+page/2))
		}},
	}
	for fill, content := range ftFills(size) {
		for _, cut := range ftCuts(size) {
			for _, change := range changes {
				t.Run(fmt.Sprintf("%s/%s/%d", change.name, fill, cut), func(t *testing.T) {
					t.Parallel()
					dir, failed := t.TempDir(), 0
					for i, act := range ftActs(size, cut) {
						// Each case has its share of the calls; all of them together have all.
						if (testing.Short() || mmapfile.RaceDetector) && i%7 != cut%7 || i%3 == (cut+len(fill))%3 || fill == "Mixed" && i%4 != cut%4 {
							continue
						}
						var seen [2]ftSeen
						for kind := range seen {
							name := filepath.Join(dir, fmt.Sprint(kind))
							seen[kind] = ftAfter(t, kind, name, act, content, func(name string) {
								if err := change.do(name, cut); err != nil {
									t.Fatal(err)
								}
							})
						}
						if diff := ftDiffer(seen[1], seen[0]); diff != "" {
							t.Errorf("%s: %s", act.name, diff)
							if failed++; failed == 5 {
								t.Fatal("and so on")
							}
						}
					}
				})
			}
		}
	}
}

func TestForeignTruncationByAnotherProcessIsSeenAtOnce(t *testing.T) {
	t.Parallel()
	page := os.Getpagesize()
	size := 4*page + 300
	content := ftPattern(size)
	cmd := ftChild(t, nil, "truncate")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	ftStart(t, cmd)
	replies := bufio.NewReader(out)
	dir := t.TempDir()
	for _, cut := range ftCuts(size) {
		for i, act := range ftActs(size, cut) {
			if i%9 != cut%9 {
				continue // the test above makes them all
			}
			var seen [2]ftSeen
			for kind := range seen {
				name := filepath.Join(dir, fmt.Sprint(kind))
				seen[kind] = ftAfter(t, kind, name, act, content, func(name string) {
					fmt.Fprintf(in, "%d %q\n", cut, name)
					if line, err := replies.ReadString('\n'); err != nil || line != "done\n" {
						t.Fatalf("the child said %q, %v", line, err)
					}
				})
			}
			if diff := ftDiffer(seen[1], seen[0]); diff != "" {
				t.Fatalf("cut at %d, %s: %s", cut, act.name, diff)
			}
		}
	}
	_ = in.Close()
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
}

func TestReadsDuringForeignTruncationsGiveOldBytesOrZeros(t *testing.T) {
	t.Parallel()
	const size = 200_000
	for _, by := range []string{"AnotherHandle", "AnotherProcess", "Itself"} {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			name := ftTemp(t, ftPattern(size))
			f := ftOpenMapped(t, name)
			var readers sync.WaitGroup
			var stop atomic.Bool
			start := func(read func(r *rand.Rand, b []byte) error) {
				r := rand.New(rand.NewPCG(1, uint64(size)))
				readers.Add(1)
				go func() {
					defer readers.Done()
					b := make([]byte, size)
					for ftGoOn(&stop) {
						if err := read(r, b); err != nil {
							t.Error(err)
							return
						}
					}
				}()
			}
			start(func(r *rand.Rand, b []byte) error {
				b, off := b[:1+r.IntN(300)], r.Int64N(size)
				n, err := f.ReadAt(b, off)
				if err := ftReadResult(n, len(b), err); err != nil {
					return fmt.Errorf("short ReadAt at %d: %w", off, err)
				}
				return ftOldOrZero(b[:n], off)
			})
			start(func(r *rand.Rand, b []byte) error {
				n, err := f.ReadAt(b, 0)
				if err := ftReadResult(n, len(b), err); err != nil {
					return fmt.Errorf("ReadAt of the whole: %w", err)
				}
				return ftOldOrZero(b[:n], 0)
			})
			start(func(r *rand.Rand, b []byte) error {
				off := r.Int64N(size)
				if _, err := f.Seek(off, io.SeekStart); err != nil {
					return err
				}
				n, err := f.Read(b[:5000])
				if n < 0 || n > 5000 || (n > 0) != (err == nil) || n == 0 && err != io.EOF {
					return fmt.Errorf("Read at %d: %d, %v", off, n, err)
				}
				return ftOldOrZero(b[:n], off)
			})
			start(func(r *rand.Rand, b []byte) error {
				if ftEmulator != "" {
					return nil // as in TestTruncateInALoopIsExactWhileOthersRead
				}
				off := r.Int64N(size - 10_000)
				var bad error
				err := f.View(off, 10_000, func(p []byte) error {
					bad = ftOldOrZero(p, off)
					return nil
				})
				if err != nil {
					return nil // the range was gone, before or while it was looked at
				}
				return bad
			})
			rounds := 1500
			if testing.Short() || mmapfile.RaceDetector {
				rounds = 300
			}
			switch by {
			case "AnotherHandle":
				other, err := os.OpenFile(name, os.O_RDWR, 0)
				if err != nil {
					t.Fatal(err)
				}
				defer other.Close()
				if err := ftChurn(other, size, rounds); err != nil {
					t.Error(err)
				}
			case "AnotherProcess":
				defer readers.Wait()
				defer stop.Store(true)
				ftRun(t, ftChild(t, nil, "churn", name, fmt.Sprint(rounds)))
			case "Itself":
				if err := ftChurn(f, size, rounds); err != nil {
					t.Error(err)
				}
			}
			stop.Store(true)
			ftWithin(t, 30*time.Second, readers.Wait)
		})
	}
}

func TestWriteToDuringForeignTruncationsNeverCrashes(t *testing.T) {
	t.Parallel()
	const size = 200_000
	name := ftTemp(t, ftPattern(size))
	f := ftOpenMapped(t, name)
	var churn sync.WaitGroup
	churn.Add(1)
	var stop atomic.Bool
	go func() {
		defer churn.Done()
		defer stop.Store(true)
		other, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			t.Error(err)
			return
		}
		defer other.Close()
		if err := ftChurn(other, size, 300); err != nil {
			t.Error(err)
		}
	}()
	defer churn.Wait()
	for ftGoOn(&stop) {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			t.Fatal(err)
		}
		var to bytes.Buffer
		n, err := f.WriteTo(&to)
		if err != nil || n != int64(to.Len()) {
			t.Fatalf("WriteTo: %d, %v with %d bytes delivered", n, err, to.Len())
		}
		if err := ftOldOrZero(to.Bytes(), 0); err != nil {
			t.Fatal(err)
		}
		if pos, err := f.Seek(0, io.SeekCurrent); pos != n || err != nil {
			t.Fatalf("the cursor is at %d, %v after %d bytes", pos, err, n)
		}
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			t.Fatal(err)
		}
		if n, err = f.WriteTo(io.Discard); err != nil || n > size {
			t.Fatalf("WriteTo io.Discard: %d, %v", n, err)
		}
		if pos, err := f.Seek(0, io.SeekCurrent); pos != n || err != nil {
			t.Fatalf("the cursor is at %d, %v after %d bytes", pos, err, n)
		}
	}
}

func TestStoresDuringForeignTruncationsAreKeptOrCut(t *testing.T) {
	t.Parallel()
	const size = 100_000
	content := ftPattern(size)
	name := ftTemp(t, content)
	f := ftOpenMapped(t, name)
	ftHeat(t, f, content)
	var churn sync.WaitGroup
	var stop atomic.Bool
	churn.Add(1)
	go func() {
		defer churn.Done()
		defer stop.Store(true)
		for range 500 {
			cut := rand.Int64N(size)
			if err := os.Truncate(name, cut); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	defer churn.Wait()
	for i := 0; !stop.Load(); i++ {
		off := rand.Int64N(size - 100)
		if n, err := f.WriteAt(content[off:off+100], off); n != 100 || err != nil {
			t.Fatalf("WriteAt: %d, %v", n, err)
		}
	}
	churn.Wait()
	// Nobody cuts any more: from now on every store stays.
	for off := int64(0); off < size; off += 100 {
		if n, err := f.WriteAt(content[off:off+100], off); n != 100 || err != nil {
			t.Fatalf("WriteAt: %d, %v", n, err)
		}
	}
	ftSame(t, "the file", ftGet(t, name), content)
}
