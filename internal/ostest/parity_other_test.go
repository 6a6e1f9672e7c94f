package ostest

import (
	"fmt"
	"io"
	"os"

	"go.dw1.io/mmapfile/internal/filetest"
)

// The sequences in which another handle changes the file.

func init() {
	sequences = append(sequences,
		sequence{"another handle appends", few, readers, allModes, false, func(r *run, f filetest.File, size int64) {
			r.read(f, size+1)
			r.read(f, 1)
			for _, n := range []int64{1, 16, page - 1, page, 2*page + 3, 70 << 10} {
				fi, _ := os.Stat(r.path)
				end := fi.Size()
				r.otherWrites(filetest.PatternWithZeros(n), end)
				r.readAt(f, 10, end-5)
				r.readAt(f, n, end)
				r.readAt(f, n+1, end)
				r.read(f, n/2)
				r.read(f, n)
				r.read(f, 1)
				r.seek(f, 0, io.SeekEnd)
				r.stat(f)
				r.settle(f, r.path)
			}
			r.seek(f, 0, io.SeekStart)
			r.writeTo(f)
		}},
		sequence{"another handle appends, write and size", few, writers, allModes, false, func(r *run, f filetest.File, size int64) {
			for range 3 {
				fi, _ := os.Stat(r.path)
				end := fi.Size()
				r.otherWrites([]byte("appended by another"), end)
				r.writeAt(f, []byte("MINE"), end+3)
				r.write(f, []byte("cursor"))
				r.disk(r.path)
				r.stat(f)
				r.truncate(f, end+10)
				r.settle(f, r.path)
				r.otherWrites(make([]byte, page), end+4)
				r.writeAt(f, []byte("MINE"), end+page)
				r.readAt(f, 2*page, end)
			}
		}},
		sequence{"another handle writes inside", some, readers, quiet, false, func(r *run, f filetest.File, size int64) {
			for i, off := range []int64{0, 1, size / 2, size - 1, page - 2, size - page} {
				if off < 0 {
					continue
				}
				r.otherWrites([]byte(fmt.Sprint("new", i)), off)
				r.readAt(f, 9, off-2)
				r.readAt(f, 4, off)
				r.seek(f, off, io.SeekStart)
				r.read(f, 5)
				r.writeAt(f, []byte("ok"), off+1)
				r.readAt(f, 9, off)
				r.disk(r.path)
			}
		}},
		sequence{"another handle replaces data by zeros", few, rdwr, quiet, false, func(r *run, f filetest.File, size int64) {
			r.otherWrites(make([]byte, size), 0)
			r.readAt(f, size, 0)
			r.writeAt(f, []byte{0}, size-1)
			r.writeAt(f, []byte{1}, size-1)
			r.otherWrites(filetest.PatternWithZeros(size), 0)
			r.readAt(f, size, 0)
		}},
		sequence{"another handle truncates, then reads", borders, readers, quiet, true, func(r *run, f filetest.File, size int64) {
			for _, n := range cuts(size) {
				r.otherTruncates(n)
				around := []int64{n - 1, n, n + 1, n - 60, n + 60, n - n%page, n - n%page + page - 1, n - n%page + page, size - 1, 0}
				for i, off := range around {
					r.readAt(f, []int64{1, 8, 64, 100, page}[i%5], off)
					r.readAt(f, 1, off)
				}
				r.seek(f, n-3, io.SeekStart)
				r.read(f, 2)
				r.read(f, 2)
				r.read(f, 2)
				r.seek(f, 0, io.SeekStart)
				r.writeTo(f)
				r.restore(size)
				r.readAt(f, size, 0)
				r.settle(f, r.path)
			}
		}},
		sequence{"another handle truncates, a read comes first", few, readers, allModes, true, func(r *run, f filetest.File, size int64) {
			// Only one read after each truncation: the first one to meet the new end must notice.
			for _, n := range cuts(size) {
				for _, read := range []func(){
					func() { r.readAt(f, 1, n) },
					func() { r.readAt(f, 16, n-8) },
					func() { r.readAt(f, size, 0) },
					func() { r.readAt(f, 1, size-1) },
					func() { r.seek(f, n-1, io.SeekStart); r.read(f, 5) },
					func() { r.seek(f, 0, io.SeekEnd) },
					func() { r.stat(f) },
					func() { r.writeTo(f) },
				} {
					r.seek(f, 0, io.SeekStart)
					r.otherTruncates(n)
					read()
					r.restore(size)
				}
				r.settle(f, r.path)
			}
		}},
		sequence{"another handle truncates, then writes", append(few, bigZeros, sparse), rdwr, quiet, true, func(r *run, f filetest.File, size int64) {
			for _, n := range cuts(size) {
				for _, off := range []int64{n - 1, n, n + 1, n - 2, n + 70, n - n%page, n - n%page + page - 1, size - 1, size} {
					if off < 0 {
						continue
					}
					for _, b := range [][]byte{{7}, {0}, []byte("longer"), make([]byte, 100)} {
						r.otherTruncates(n)
						r.writeAt(f, b, off)
						r.disk(r.path)
						r.readAt(f, 120, off-10)
					}
				}
				r.restore(size)
				r.settle(f, r.path)
			}
		}},
		sequence{"another handle truncates, then writes at the cursor", few, writers, allModes, true, func(r *run, f filetest.File, size int64) {
			for _, n := range cuts(size) {
				r.seek(f, size/2, io.SeekStart)
				r.otherTruncates(n)
				r.write(f, []byte("written"))
				r.disk(r.path)
				r.read(f, 3)
				r.seek(f, 0, io.SeekEnd)
				r.write(f, []byte{0, 0})
				r.disk(r.path)
				r.restore(size)
				r.settle(f, r.path)
			}
		}},
		sequence{"another handle truncates and grows again", few, rdwr, quiet, true, func(r *run, f filetest.File, size int64) {
			for _, n := range cuts(size) {
				r.readAt(f, size, 0)
				r.otherTruncates(n)
				r.otherTruncates(size)
				r.readAt(f, size+1, 0)
				r.writeAt(f, []byte("in the new zeros"), n)
				r.disk(r.path)
				r.otherTruncates(n)
				r.otherWrites([]byte("regrown"), n)
				r.readAt(f, 20, n)
				r.read(f, 7)
				r.restore(size)
			}
		}},
		sequence{"two handles of the same kind", few, rdwr, allModes, true, func(r *run, f filetest.File, size int64) {
			g := r.open(os.O_RDWR)
			if g == nil {
				return
			}
			for i := range int64(4) {
				r.writeAt(f, []byte("by f"), i*page)
				r.readAt(g, 10, i*page-2)
				r.writeAt(g, []byte("by g"), i*page+2)
				r.readAt(f, 10, i*page)
				r.read(f, 11)
				r.read(g, 7)
				r.truncate(g, (4-i)*page-i)
				r.readAt(f, 2*page, (3-i)*page)
				r.write(f, []byte("at f's cursor"))
				r.seek(g, 0, io.SeekEnd)
				r.write(g, filetest.PatternWithZeros(page))
				r.readAt(f, 2*page, (3-i)*page)
				r.stat(f)
				r.stat(g)
			}
			r.close(g)
		}},
	)
}

// cuts returns the sizes to which a file of size bytes is truncated.
func cuts(size int64) []int64 {
	var ns []int64
	last := size - size%page
	for _, n := range []int64{size - 1, last + 1, last, last - 1, size / 2, size/2/64*64 + 64, page + 1, page, page - 1, 100, 1, 0} {
		if n >= 0 && n < size {
			ns = append(ns, n)
		}
	}
	return ns
}

// restore extends the file to size again through another handle.
func (r *run) restore(size int64) { r.otherTruncates(size) }
