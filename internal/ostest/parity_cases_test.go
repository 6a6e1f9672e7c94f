package ostest

import (
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"go.dw1.io/mmapfile/internal/filetest"
	"go.dw1.io/mmapfile/internal/race"
)

// A sequence is one row of the matrix. It runs once for every content, flag, mode and
// state. If flags is nil, do gets a nil f and opens its files itself.
type sequence struct {
	name     string
	contents []content
	flags    []int
	modes    []mode
	shrinks  bool // another handle truncates the file
	do       func(r *run, f filetest.File, size int64)
}

// sequences is the table. The other files add to it.
var sequences []sequence

func TestParity_Calls(t *testing.T) {
	t.Parallel()
	for _, s := range sequences {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			in := states
			if s.shrinks && runtime.GOOS == "windows" {
				// Windows refuses it with error 1224 if Bytes has mapped the file.
				in = slices.DeleteFunc(slices.Clone(states), func(st state) bool { return st.name == "eager" || st.prefaulted && !st.os })
				t.Run("mapped states", func(t *testing.T) { t.Skip("Windows refuses to truncate a mapped file") })
			}
			contents, modes := s.contents, s.modes
			if runtime.GOARCH == "wasm" && len(contents) > 2 {
				contents = contents[:2]
				if testing.Short() {
					contents = contents[1:] // the first is the empty file
				}
				t.Run("further contents", func(t *testing.T) { t.Skip("wasm takes its time: two contents only, and under -short one") })
			}
			if strings.HasPrefix(s.name, "copies") && runtime.GOARCH == "wasm" && testing.Short() {
				t.Skip("copies take minutes on wasm: not under -short")
			}
			slow := testing.Short() || runtime.GOARCH == "wasm" || runtime.GOOS == "windows"
			if strings.HasPrefix(s.name, "copies") && slow {
				contents, modes = contents[:1], modes[:1]
				t.Run("further contents and modes", func(t *testing.T) { t.Skip("one only under -short, on wasm and under wine, where copies take minutes") })
			}
			if race.Detector && testing.Short() {
				contents, modes = contents[len(contents)-1:], modes[:1]
				t.Run("further contents and modes", func(t *testing.T) { t.Skip("one only under -short and the race detector, which sees no difference") })
			}
			for _, c := range contents {
				for _, m := range modes {
					if s.flags == nil {
						t.Run(fmt.Sprintf("%s/%s", c.name, m), func(t *testing.T) {
							compareIn(t, in, m, &c, func(r *run) { s.do(r, nil, c.size) })
						})
					}
					for _, flag := range s.flags {
						t.Run(fmt.Sprintf("%s/%s/%s", c.name, flagName(flag), m), func(t *testing.T) {
							compareIn(t, in, m, &c, func(r *run) {
								if f := r.open(flag); f != nil {
									s.do(r, f, c.size)
									r.finish(f)
								}
							})
						})
					}
				}
			}
		})
	}
}

func flagName(flag int) string {
	s := [...]string{os.O_RDONLY: "RDONLY", os.O_WRONLY: "WRONLY", os.O_RDWR: "RDWR"}[flag&(os.O_WRONLY|os.O_RDWR)]
	for _, x := range []struct {
		bit  int
		name string
	}{{os.O_APPEND, "APPEND"}, {os.O_SYNC, "SYNC"}, {os.O_TRUNC, "TRUNC"}, {os.O_CREATE, "CREATE"}, {os.O_EXCL, "EXCL"}} {
		if flag&x.bit != 0 {
			s += "+" + x.name
		}
	}
	return s
}

func filled(name string, b []byte) content {
	return content{name, int64(len(b)), func(t *testing.T, path string) {
		t.Helper()
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}}
}

// sparse has holes at both ends and in the middle, and so zeros as well.
var sparse = content{"sparse", 5*page + 100, func(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, at := range []int64{page + 5, 3*page + page/2} {
		if _, err := f.WriteAt([]byte("data between holes"), at); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Truncate(5*page + 100); err != nil {
		t.Fatal(err)
	}
}}

var (
	empty     = filled("empty", nil)
	threePage = filled("3 pages+17", filetest.PatternWithZeros(3*page+17))
	zeros3    = filled("3 pages+17 of zeros", make([]byte, 3*page+17))
	big       = filled("200KB", filetest.PatternWithZeros(200<<10))
	bigZeros  = filled("200KB of zeros", make([]byte, 200<<10))
	// zeroTail ends in zeros, where the last byte proves nothing about the length.
	zeroTail = filled("zero tail", append(filetest.PatternWithZeros(2*page+100), make([]byte, page)...))

	borders = []content{
		empty, filled("1 byte", []byte("x")), filled("page-1", filetest.PatternWithZeros(page-1)),
		filled("page", filetest.PatternWithZeros(page)), filled("page+1", filetest.PatternWithZeros(page+1)),
		threePage, big, filled("1 zero", make([]byte, 1)), filled("page of zeros", make([]byte, page)),
		filled("page+1 of zeros", make([]byte, page+1)), zeros3, bigZeros, zeroTail, sparse,
	}
	few  = []content{empty, threePage, zeros3, zeroTail}
	some = []content{empty, filled("1 byte", []byte("x")), filled("page", filetest.PatternWithZeros(page)), threePage, zeros3, sparse}

	three = []content{empty, filled("page", filetest.PatternWithZeros(page)), sparse}

	readers  = []int{os.O_RDONLY, os.O_RDWR}
	writers  = []int{os.O_RDWR, os.O_WRONLY, os.O_RDWR | os.O_APPEND}
	allFlags = []int{os.O_RDONLY, os.O_WRONLY, os.O_RDWR, os.O_RDWR | os.O_APPEND, os.O_WRONLY | os.O_APPEND, os.O_RDWR | os.O_TRUNC}
	rdwr     = []int{os.O_RDWR}

	quiet    = []mode{silent}
	allModes = []mode{silent, probed, kernel}
)

// around returns the offsets to try in a file of that size.
func around(size int64) []int64 {
	end := (size + page - 1) / page * page
	return []int64{-1, math.MinInt64, 0, 1, page - 1, page, size - 17, size - 1, size, size + 1, end - 1, end, end + 1,
		size + page, size / 2, math.MaxInt64 - page, math.MaxInt64 - 1, math.MaxInt64}
}

func init() {
	sequences = append(sequences,
		sequence{"read in pieces to the end and beyond", borders, readers, allModes, false, func(r *run, f filetest.File, size int64) {
			for _, n := range []int64{0, 1, 7, page - 1, page, page + 1, size / 3, size, 10, 0} {
				r.read(f, n)
			}
			r.seek(f, -min(size, 5), io.SeekEnd)
			r.read(f, 3)
			r.read(f, 3)
			r.read(f, 3)
		}},
		sequence{"read all, many small", some, readers, allModes, false, func(r *run, f filetest.File, size int64) {
			for range 40 {
				r.read(f, size/37+1)
			}
		}},
		sequence{"read at every alignment around the end", borders, readers, quiet, false, func(r *run, f filetest.File, size int64) {
			for _, off := range around(size) {
				for _, n := range []int64{0, 1, 2, 16, 17, 18, page, size + 1} {
					r.readAt(f, n, off)
				}
			}
		}},
		sequence{"nothing read, nothing written", three, allFlags, allModes, false, func(r *run, f filetest.File, size int64) {
			for range 2 {
				r.read(f, 0)
				r.readAt(f, 0, 0)
				r.readAt(f, 0, size+5)
				r.readAt(f, 0, -1)
				r.write(f, nil)
				r.writeString(f, "")
				r.writeAt(f, nil, 0)
				r.writeAt(f, nil, size+5)
				r.writeAt(f, nil, -1)
				r.step(f, "Read(nil)", func() string { n, err := f.Read(nil); return r.did(int64(n), err, nil) })
				r.seek(f, 0, io.SeekEnd)
			}
		}},
		sequence{"seek from everywhere to everywhere", three, allFlags, allModes, false, func(r *run, f filetest.File, size int64) {
			for _, whence := range []int{0, 1, 2, 5, -1, 1 << 20} {
				for _, off := range append(around(size), -size, -size-1, 1<<62, -1<<62, 1<<44) {
					r.seek(f, off, whence)
				}
				r.read(f, 3)
			}
			r.seek(f, 1, io.SeekStart)
			r.read(f, 4)
			r.seek(f, 2, io.SeekCurrent)
			r.read(f, 4)
			r.seek(f, -3, io.SeekCurrent)
			r.read(f, 4)
		}},
		sequence{"read and write at a cursor far out", few, allFlags, allModes, false, func(r *run, f filetest.File, size int64) {
			for _, off := range []int64{1 << 62, math.MaxInt64, math.MaxInt64 - 3} {
				if js(off) {
					continue
				}
				r.seek(f, off, io.SeekStart)
				r.read(f, 8)
				r.write(f, []byte("too far out"))
				r.seek(f, 10, io.SeekCurrent)
				r.seek(f, 0, io.SeekCurrent)
				r.seek(f, 0, io.SeekStart)
				r.read(f, 1)
			}
		}},
		sequence{"write at every alignment around the end", borders, []int{os.O_RDWR}, quiet, false, func(r *run, f filetest.File, size int64) {
			for _, n := range []int64{0, 1, 17, page} {
				for _, off := range around(size) {
					if off > 1<<40 && off < math.MaxInt64-page {
						continue
					}
					r.writeAt(f, filetest.PatternWithZeros(n), off)
					r.readAt(f, n+2, off-1)
				}
				r.stat(f)
				r.settle(f, r.path)
			}
		}},
		sequence{"write at, all flags", few, allFlags, allModes, false, func(r *run, f filetest.File, size int64) {
			for _, off := range around(size) {
				r.writeAt(f, []byte("abc"), off)
			}
			r.disk(r.path)
		}},
		sequence{"write at the cursor", few, allFlags, allModes, false, func(r *run, f filetest.File, size int64) {
			r.write(f, []byte("first"))
			r.read(f, 4)
			r.writeString(f, "second")
			r.seek(f, -2, io.SeekEnd)
			r.write(f, []byte("across the end"))
			r.read(f, 4)
			r.stat(f)
			r.disk(r.path)
			r.seek(f, 2, io.SeekStart)
			r.write(f, filetest.PatternWithZeros(page+3))
			r.read(f, 9)
			r.write(f, filetest.PatternWithZeros(page))
			r.seek(f, 0, io.SeekStart)
			r.read(f, 4*page)
		}},
		sequence{"small writes one after the other", few, writers, allModes, false, func(r *run, f filetest.File, size int64) {
			for i := range 300 {
				r.write(f, filetest.PatternWithZeros(int64(i%50)))
			}
			r.readAt(f, 9000, 0)
			r.seek(f, 0, io.SeekStart)
			for i := range 300 {
				r.write(f, []byte{byte(i), 0})
				r.read(f, int64(i%7))
			}
			r.readAt(f, 9000, 0)
		}},
		sequence{"one place written over and over", few, rdwr, quiet, false, func(r *run, f filetest.File, size int64) {
			for i := range 300 {
				off := max(0, size-20)
				r.writeAt(f, []byte{byte(i), byte(i >> 8), 0}, off)
				r.readAt(f, 5, off)
				if i%64 == 63 {
					r.disk(r.path)
				}
			}
			r.writeAt(f, []byte("across the end after many stores"), max(0, size-5))
			r.readAt(f, 60, max(0, size-10))
		}},
		sequence{"hole past the end", three, append(writers, os.O_RDWR|os.O_TRUNC), allModes, false, func(r *run, f filetest.File, size int64) {
			r.seek(f, size+50, io.SeekStart)
			r.read(f, 1)
			r.write(f, []byte("hole"))
			r.stat(f)
			r.readAt(f, 60, size)
			r.writeAt(f, []byte("far"), size+3*page)
			r.readAt(f, 2*page, size+page)
			r.seek(f, 0, io.SeekEnd)
			r.seek(f, size-1, io.SeekStart)
			r.read(f, 4*page)
		}},
		sequence{"truncate", borders, []int{os.O_RDWR}, quiet, false, truncations},
		sequence{"truncate, all flags", few, allFlags, allModes, false, truncations},
		sequence{"write after truncate", few, writers, allModes, false, func(r *run, f filetest.File, size int64) {
			r.read(f, size)
			r.truncate(f, size/2)
			r.write(f, []byte("at the old cursor"))
			r.readAt(f, size+30, 0)
			r.truncate(f, size/2+3)
			r.writeAt(f, []byte("behind"), size/2+1)
			r.truncate(f, size+page)
			r.readAt(f, size+2*page, 0)
			r.settle(f, r.path)
			r.writeAt(f, []byte("new end"), size+page-3)
			r.readAt(f, 20, size+page-5)
			r.truncate(f, 0)
			r.readAt(f, 1, 0)
			r.writeString(f, "again")
			r.readAt(f, 20, 0)
			r.seek(f, 0, io.SeekStart)
			r.read(f, 20)
		}},
	)
}

func truncations(r *run, f filetest.File, size int64) {
	r.seek(f, size/2, io.SeekStart)
	for _, n := range []int64{size, size + 1, size - 1, size - size%page, size - size%page + 1, size / 2, size/2 + page,
		-1, math.MinInt64, math.MaxInt64, 5, 0, 1, page, page - 1, 3 * page, 2*page + 11} {
		r.truncate(f, n)
		r.stat(f)
		r.readAt(f, 8, n-4)
		r.readAt(f, 8, n)
		r.read(f, 8)
		r.seek(f, -4, io.SeekCurrent)
		r.write(f, []byte("ab"))
		r.writeAt(f, []byte("xyz"), n-1)
	}
	r.disk(r.path)
}
