//go:build unix

package ostest

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/filetest"
	"go.dw1.io/mmapfile/internal/race"
)

// truncateContents returns contents that make a stale length easy or hard to notice.
func truncateContents(size int) map[string][]byte {
	mixed := filetest.Pattern(size)
	for i := range mixed {
		if i/97%3 != 0 {
			mixed[i] = 0
		}
	}
	return map[string][]byte{"Pattern": filetest.Pattern(size), "Zeros": make([]byte, size), "Mixed": mixed}
}

// A truncateCall is one call. It returns its result as text.
type truncateCall struct {
	name     string
	prefault bool // prefault the pages first, so that the call may be a mapped write
	do       func(f filetest.File) string
}

// truncateCalls returns the calls to make on a file that was truncated from size to cut.
func truncateCalls(size, cut int) []truncateCall {
	page := os.Getpagesize()
	border := (cut + page - 1) / page * page
	offs := []int{0, cut - 65, cut - 1, cut, cut + 1, border - 1, border, size - 70, size - 1, size, size + 5}
	slices.Sort(offs)
	offs = slices.DeleteFunc(slices.Compact(offs), func(off int) bool { return off < 0 })
	data := bytes.Repeat([]byte("new content "), 2000)
	zero := make([]byte, 8192)
	var acts []truncateCall
	add := func(prefault bool, do func(f filetest.File) string, format string, args ...any) {
		acts = append(acts, truncateCall{fmt.Sprintf(format, args...), prefault, do})
	}
	at := func(off int, do func(f filetest.File) string) func(f filetest.File) string {
		return func(f filetest.File) string {
			_, err := f.Seek(int64(off), io.SeekStart)
			return fmt.Sprint(filetest.ErrorText(err, f.Name()), " ", do(f))
		}
	}
	for i, off := range offs {
		for _, n := range []int{1, 64, 4096, size} {
			read := func(n int, err error, b []byte, f filetest.File) string {
				return fmt.Sprintf("%d %s %s", n, filetest.ErrorText(err, f.Name()), b[:max(n, 0)])
			}
			add(false, func(f filetest.File) string {
				b := make([]byte, n)
				m, err := f.ReadAt(b, int64(off))
				return read(m, err, b, f)
			}, "ReadAt(%d,%d)", n, off)
			add(false, at(off, func(f filetest.File) string {
				b := make([]byte, n)
				m, err := f.Read(b)
				return read(m, err, b, f)
			}), "Read(%d)at%d", n, off)
			if n = min(n, len(zero)); (i+n)%2 == 0 && n > 64 {
				continue
			}
			for _, b := range [][]byte{data[:n], zero[:n]} {
				write := func(n int, err error, f filetest.File) string {
					return fmt.Sprint(n, " ", filetest.ErrorText(err, f.Name()))
				}
				add(true, func(f filetest.File) string {
					m, err := f.WriteAt(b, int64(off))
					return write(m, err, f)
				}, "WriteAt(%d,%d)zero=%v", n, off, b[0] == 0)
				if n == 64 {
					add(true, at(off, func(f filetest.File) string {
						m, err := f.Write(b)
						return write(m, err, f)
					}), "Write(%d)at%d,zero=%v", n, off, b[0] == 0)
				}
			}
		}
		add(false, at(off, func(f filetest.File) string {
			var to bytes.Buffer
			n, err := f.WriteTo(&to)
			return fmt.Sprintf("%d %s %s", n, filetest.ErrorText(err, f.Name()), to.Bytes())
		}), "WriteTo,from%d", off)
		add(false, at(off, func(f filetest.File) string {
			n, err := f.WriteTo(io.Discard)
			return fmt.Sprintf("%d %s", n, filetest.ErrorText(err, f.Name()))
		}), "WriteTo,from%d,discarded", off)
		add(true, at(off, func(f filetest.File) string {
			n, err := f.ReadFrom(strings.NewReader("from a reader"))
			return fmt.Sprint(n, " ", filetest.ErrorText(err, f.Name()))
		}), "ReadFrom,at%d", off)
	}
	return acts
}

// A callResult is everything that can be observed after a call.
type callResult struct{ result, cursor, again, disk string }

// callAfter makes a call on a file that was mapped before another handle changed it.
func callAfter(t testing.TB, kind int, name string, act truncateCall, content []byte, change func(name string)) (seen callResult) {
	t.Helper()
	filetest.Write(t, name, content)
	var f filetest.File
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
		filetest.Map(t, m)
		if act.prefault {
			filetest.PrefaultWrites(t, m, content)
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
	seen.cursor = fmt.Sprint(pos, " ", filetest.ErrorText(err, name))
	again := make([]byte, len(content)+30000)
	n, err := f.ReadAt(again, 0)
	seen.again = fmt.Sprintf("%d %s %s", n, filetest.ErrorText(err, name), again[:n])
	seen.disk = string(filetest.Read(t, name))
	return seen
}

// diffResults describes in brief how got differs from want, the result of os.File.
func diffResults(got, want callResult) string {
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

// truncateSizes returns the sizes to which a file of size bytes is truncated.
func truncateSizes(size int) []int {
	page := os.Getpagesize()
	return []int{0, 1, page / 2, page, 2*page + 100, 2*page + 128, 3*page - 1, 3 * page, size - size%page + 8, size - 1}
}

func TestFile_AfterForeignTruncation(t *testing.T) {
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
	for fill, content := range truncateContents(size) {
		for _, cut := range truncateSizes(size) {
			for _, change := range changes {
				t.Run(fmt.Sprintf("%s/%s/%d", change.name, fill, cut), func(t *testing.T) {
					t.Parallel()
					dir, failed := t.TempDir(), 0
					for i, act := range truncateCalls(size, cut) {
						// Each case makes a part of the calls. All cases together make all of them.
						if (testing.Short() || race.Detector) && i%7 != cut%7 || i%3 == (cut+len(fill))%3 || fill == "Mixed" && i%4 != cut%4 {
							continue
						}
						var seen [2]callResult
						for kind := range seen {
							name := filepath.Join(dir, fmt.Sprint(kind))
							seen[kind] = callAfter(t, kind, name, act, content, func(name string) {
								if err := change.do(name, cut); err != nil {
									t.Fatal(err)
								}
							})
						}
						if diff := diffResults(seen[1], seen[0]); diff != "" {
							t.Errorf("%s: %s", act.name, diff)
							if failed++; failed == 5 {
								t.Fatal("too many differences")
							}
						}
					}
				})
			}
		}
	}
}

func TestFile_TruncatedByProcess(t *testing.T) {
	t.Parallel()
	page := os.Getpagesize()
	size := 4*page + 300
	content := filetest.Pattern(size)
	cmd := filetest.ChildCommand(t, nil, "truncate")
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
	replies := bufio.NewReader(out)
	dir := t.TempDir()
	for _, cut := range truncateSizes(size) {
		for i, act := range truncateCalls(size, cut) {
			if i%9 != cut%9 {
				continue // TestFile_AfterForeignTruncation makes all of them
			}
			var seen [2]callResult
			for kind := range seen {
				name := filepath.Join(dir, fmt.Sprint(kind))
				seen[kind] = callAfter(t, kind, name, act, content, func(name string) {
					fmt.Fprintf(in, "%d %q\n", cut, name)
					if line, err := replies.ReadString('\n'); err != nil || line != "done\n" {
						t.Fatalf("the child said %q, %v", line, err)
					}
				})
			}
			if diff := diffResults(seen[1], seen[0]); diff != "" {
				t.Fatalf("truncated to %d, %s: %s", cut, act.name, diff)
			}
		}
	}
	_ = in.Close()
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
}
