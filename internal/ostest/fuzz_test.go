package ostest

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/filetest"
)

// Bytes encode a sequence of random operations: three for the file, then five for each
// operation. It runs on *os.File and on File, each with a file of its own, and all results
// must be the same.
//
//	byte 0    content (every third all zeros), state and flags
//	byte 1, 2 size: pages, and how far from the border
//	then      operation, place, distance from the place, length, detail

const (
	headBytes = 3
	opBytes   = 5
	maxOps    = 60
	// maxFuzzSize limits the size of files.
	maxFuzzSize = 400 << 10
)

func FuzzParity(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < headBytes+opBytes {
			t.Skip("no operation")
		}
		runRandom(t, data)
	})
}

func runRandom(t *testing.T, data []byte) {
	t.Helper()
	head, ops := data[:headBytes], data[headBytes:]
	kind := int(head[0])
	size := []int64{0, 1, 2, 3, 5, 16, 17, 32, 48}[int(head[1])%9]*page + int64(int8(head[2]))%40
	size = min(max(0, size), maxFuzzSize) // there are pages of 64 KiB
	content := make([]byte, size)
	if kind%3 != 0 {
		content = filetest.PatternWithZeros(size)
	}
	flag := []int{os.O_RDWR, os.O_RDWR, os.O_RDWR, os.O_RDONLY, os.O_RDWR | os.O_APPEND, os.O_WRONLY}[kind/3%6]
	st := []state{states[3], states[4], states[5], states[6], states[7]}[kind/18%5]

	top := filetest.Dir(t)
	defer os.RemoveAll(top) // the fuzzer's cleanups come late
	twins := [2]*run{
		{t: t, mode: silent, st: state{name: "os", os: true, prefaulted: st.prefaulted}, dir: filepath.Join(top, "os")},
		{t: t, mode: silent, st: st, dir: filepath.Join(top, "file")},
	}
	for _, r := range twins {
		if err := os.Mkdir(r.dir, 0o755); err != nil {
			t.Fatal(err)
		}
		r.path = filepath.Join(r.dir, "data")
		if err := os.WriteFile(r.path, content, 0o644); err != nil {
			t.Fatal(err)
		}
		z := &random{run: r, flag: flag, syncs: 1}
		z.f = r.open(flag)
		for i := 0; i+opBytes <= len(ops) && i < maxOps*opBytes; i += opBytes {
			z.one(ops[i : i+opBytes])
		}
		r.finish(z.f)
		for _, c := range r.all {
			c.Close()
		}
	}
	if diff(t, twins[0], twins[1]); t.Failed() {
		t.Logf("%s, %d bytes (zeros %v), bytes of the sequence: %q", flagName(flag), size, kind%3 == 0, data)
	}
}

// random executes the operations on one of the twins.
type random struct {
	*run
	f     filetest.File
	flag  int
	syncs int // how often it may still sync, because disks are slow
	// foreign reports that another handle has changed the file since a call asked for its size.
	foreign bool
}

// place turns two bytes into an offset near an edge.
func (z *random) place(kind, delta byte) int64 {
	size := z.size()
	d := int64(int8(delta)) % 70
	var at int64
	switch kind % 8 {
	case 0:
		at = 0
	case 1, 2:
		at = size
	case 3:
		at = size - size%page
	case 4:
		at = size / page / 2 * page
	case 5:
		at = (size + page - 1) / page * page
	case 6:
		at = size * int64(delta) / 256
	case 7:
		at = size/2 + d*100
	}
	return min(max(0, at+d), maxFuzzSize)
}

func (z *random) size() int64 {
	fi, err := os.Stat(z.path)
	if err != nil {
		z.t.Fatal(err)
	}
	return fi.Size()
}

// length turns a byte into a length, most often a small one.
func length(b byte) int64 {
	switch {
	case b < 160:
		return int64(b) % 80
	case b < 230:
		return int64(b-160) * 97
	}
	return int64(b-229) * 4001
}

// fill returns the bytes to write. Many are zeros, which prove nothing about the size.
func fill(n int64, detail byte) []byte {
	b := make([]byte, n)
	if detail%3 == 0 {
		return b
	}
	for i := range b {
		b[i] = detail + byte(i*3)
	}
	if detail%3 == 1 && n > 0 {
		b[n-1] = 0
	}
	return b
}

var randomOps = []func(z *random, at, n int64, detail byte){
	func(z *random, at, n int64, detail byte) { z.read(z.f, n) },
	func(z *random, at, n int64, detail byte) { z.readAt(z.f, n, at) },
	func(z *random, at, n int64, detail byte) { z.readAt(z.f, 1+n%3, at) },
	func(z *random, at, n int64, detail byte) { z.write(z.f, fill(n, detail)) },
	func(z *random, at, n int64, detail byte) { z.writeString(z.f, string(fill(n, detail))) },
	func(z *random, at, n int64, detail byte) { z.writeAt(z.f, fill(n, detail), at) },
	func(z *random, at, n int64, detail byte) { z.writeAt(z.f, fill(1+n%3, detail), at) },
	func(z *random, at, n int64, detail byte) {
		switch detail % 4 {
		case 0:
			z.seek(z.f, at-z.size(), io.SeekEnd)
		case 1:
			z.seek(z.f, n-30, io.SeekCurrent)
		default:
			z.seek(z.f, at, io.SeekStart)
		}
	},
	func(z *random, at, n int64, detail byte) { z.truncate(z.f, at) },
	(*random).copyIn,
	(*random).copyOut,
	func(z *random, at, n int64, detail byte) {
		if z.syncs--; z.syncs >= 0 {
			z.sync(z.f)
		}
	},
	(*random).lengths,
	(*random).bytes,
	(*random).view,
	(*random).handOver,
	(*random).reopen,
	(*random).burstOfReads,
	(*random).burstOfWrites,
	(*random).burstOfWrites,
	func(z *random, at, n int64, detail byte) { z.overwrite(fill(n, detail), z.size()) },
	func(z *random, at, n int64, detail byte) { z.overwrite(fill(n, detail), at) },
	(*random).cut,
	(*random).cut,
	func(z *random, at, n int64, detail byte) { z.seek(z.f, 0, io.SeekCurrent) },
	func(z *random, at, n int64, detail byte) { z.disk(z.path) },
}

func (z *random) one(op []byte) {
	if z.size() > maxFuzzSize {
		z.cut(maxFuzzSize/2, 0, 0)
	}
	randomOps[int(op[0])%len(randomOps)](z, z.place(op[1], op[2]), length(op[3]), op[4])
	if op[3]%2 == 0 { // not always, since Len asks for the size if it is stale
		z.len()
	}
}

func (z *random) cut(at, n int64, detail byte) {
	if runtime.GOOS == "windows" {
		return // refused while the file is mapped
	}
	z.otherTruncates(at)
	z.foreign = true
}

func (z *random) overwrite(b []byte, off int64) {
	z.otherWrites(b, off)
	z.foreign = true
}

func (z *random) copyIn(at, n int64, detail byte) {
	data := fill(n, detail)
	switch detail >> 4 % 4 {
	case 0:
		z.readFrom(z.f, "bytes", bytes.NewReader(data))
	case 1:
		z.readFrom(z.f, "plain", onlyReader{bytes.NewReader(data)})
	case 2:
		z.step(nil, "ReadFrom limited", func() string { return limited(z.run, z.f, bytes.NewReader(data), n/2) })
	case 3:
		src := filepath.Join(z.dir, "src")
		if err := os.WriteFile(src, data, 0o644); err != nil {
			z.t.Fatal(err)
		}
		o, err := os.Open(src)
		if err != nil {
			z.t.Fatal(err)
		}
		defer o.Close()
		z.step(nil, "ReadFrom limited os.File", func() string { return limited(z.run, z.f, o, n/2+1) })
		z.readFrom(z.f, "os.File", o)
	}
}

func (z *random) copyOut(at, n int64, detail byte) {
	switch detail % 3 {
	case 0:
		z.writeTo(z.f)
	case 1:
		z.step(nil, "CopyN", func() string {
			var b bytes.Buffer
			k, err := io.CopyN(&b, z.f, n)
			return z.did(k, err, b.Bytes())
		})
	case 2:
		o, err := os.Create(filepath.Join(z.dir, "dst"))
		if err != nil {
			z.t.Fatal(err)
		}
		defer o.Close()
		z.step(nil, "Copy to os.File", func() string {
			k, err := io.Copy(o, z.f)
			return z.did(k, err, nil)
		})
		z.disk(o.Name())
	}
}

func (z *random) lengths(at, n int64, detail byte) {
	z.len()
	z.stat(z.f)
	z.foreign = false
	z.len()
}

// len compares Len with the size of the file, unless another handle has changed the file and
// no call has asked for its size since.
func (z *random) len() {
	if z.foreign {
		return
	}
	z.step(nil, "Len", func() string {
		if m, ok := z.f.(*mmapfile.File); ok {
			return fmt.Sprint(m.Len())
		}
		return fmt.Sprint(z.size())
	})
}

// bytes compares Bytes with the file, and writes into it.
func (z *random) bytes(at, n int64, detail byte) {
	if z.flag&os.O_WRONLY != 0 {
		return
	}
	want, err := os.ReadFile(z.path)
	if err != nil {
		z.t.Fatal(err)
	}
	got := want
	m, ok := z.f.(*mmapfile.File)
	if ok {
		got = m.Bytes()
	}
	z.note("Bytes", len(got), filetest.Show(got), cap(got) == len(got) || !ok)
	if z.flag != os.O_RDWR || detail%2 == 0 || at >= int64(len(want)) || len(got) != len(want) {
		return
	}
	data := fill(min(n, int64(len(want))-at), detail)
	if ok {
		copy(got[at:], data)
		runtime.KeepAlive(m)
	} else {
		z.f.WriteAt(data, at)
	}
	z.readAt(z.f, n+2, max(0, at-1))
}

// view compares View with ReadAt, and writes into it.
func (z *random) view(at, n int64, detail byte) {
	if z.flag&os.O_WRONLY != 0 {
		return
	}
	store := z.flag == os.O_RDWR && detail%2 == 1
	data := fill(n, detail)
	z.step(nil, fmt.Sprintf("View(%d, %d) store %v", at, n, store), func() string {
		if m, ok := z.f.(*mmapfile.File); ok {
			var s string
			err := m.View(at, n, func(p []byte) error {
				s = filetest.Show(p)
				if store {
					copy(p, data)
				}
				return nil
			})
			return s + " " + z.run.err(err)
		}
		if at+n > z.size() {
			return " io.EOF"
		}
		b := make([]byte, n)
		z.f.ReadAt(b, at)
		if store {
			z.f.WriteAt(data, at)
		}
		return filetest.Show(b) + " nil"
	})
}

// handOver hands the descriptor out and moves its offset.
func (z *random) handOver(at, n int64, detail byte) {
	o, ok := z.f.(*os.File)
	m, _ := z.f.(*mmapfile.File)
	switch detail % 3 {
	case 0:
		z.f.Fd()
	case 1:
		z.f.SyscallConn()
	case 2:
		if !ok {
			o = m.OS()
		}
		pos, err := o.Seek(0, io.SeekCurrent)
		z.note("cursor of OS", pos, z.run.err(err))
		o.Seek(at, io.SeekStart)
	}
	z.read(z.f, n)
}

func (z *random) reopen(at, n int64, detail byte) {
	z.close(z.f)
	z.disk(z.path)
	z.f = z.open(z.flag)
	z.foreign = false
}

// burstOfReads reads so often that the file gets mapped.
func (z *random) burstOfReads(at, n int64, detail byte) {
	z.step(nil, fmt.Sprintf("reads at %d", at), func() string {
		sum := crc32.NewIEEE()
		b := make([]byte, 1+n%16)
		for range 40 {
			k, err := z.f.ReadAt(b, at)
			fmt.Fprint(sum, k, z.run.err(err))
			sum.Write(b[:k])
		}
		return fmt.Sprint(sum.Sum32())
	})
}

// burstOfWrites writes so often that the writes are mapped.
func (z *random) burstOfWrites(at, n int64, detail byte) {
	n = 1 + n%16
	z.step(nil, fmt.Sprintf("writes of %d at %d", n, at), func() string {
		var got strings.Builder
		for i := range 100 {
			k, err := z.f.WriteAt(fill(n, detail+byte(i)*2), at)
			if i == 0 || i == 99 {
				fmt.Fprint(&got, z.did(int64(k), err, nil), " ")
			}
		}
		return got.String()
	})
	z.readAt(z.f, n+2, max(0, at-1))
}
