package mmapfile

import (
	"bytes"
	"math/rand/v2"
	"os"
	"testing"
)

// randomBytes returns n random bytes. Only the last one is fixed: it is not zero.
func randomBytes(n int) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{1}).Read(b)
	if n > 0 {
		b[n-1] = 1
	}
	return b
}

// copySizes has the sizes around which copies change their way.
var copySizes = []int{0, 1, pieceFrom - 1, pieceFrom, pieceFrom + 1, largeFrom - 1, largeFrom, largeFrom + 1, largePiece + 3, 2*largePiece + 7}

func TestCopyIn_Sizes(t *testing.T) {
	t.Parallel()
	src := randomBytes(2*largePiece + 7)
	for _, n := range copySizes {
		dst := make([]byte, n+1)
		if copyIn(dst[:n], src[:n]); !bytes.Equal(dst[:n], src[:n]) || dst[n] != 0 {
			t.Errorf("%d bytes: the copy differs, or the byte after it has changed", n)
		}
	}
}

// Source and target of a copy may overlap, as in WriteAt of the file's own Bytes.
func TestCopyIn_Overlapping(t *testing.T) {
	t.Parallel()
	const n = pieceFrom + 100
	for _, distance := range []int{-n, -smallPiece, -1, 0, 1, smallPiece, n - 1, n} {
		got := randomBytes(3 * n)
		want := bytes.Clone(got)
		copyIn(got[n:2*n], got[n+distance:2*n+distance])
		if copy(want[n:2*n], want[n+distance:2*n+distance]); !bytes.Equal(got, want) {
			t.Errorf("source at %d from the target: the copy differs", distance)
		}
	}
}

func TestMapping_Put(t *testing.T) {
	t.Parallel()
	src := randomBytes(2*largePiece + 7)
	for _, n := range copySizes {
		m := &mapping{data: make([]byte, n+20)}
		if m.put(src[:n], 10); !bytes.Equal(m.data[10:10+n], src[:n]) || m.data[9] != 0 || m.data[10+n] != 0 {
			t.Errorf("%d bytes: the copy differs, or the bytes around it have changed", n)
		}
	}
}

// One call reads or writes any number of bytes of a mapped file.
func TestReadAt_MappedSizes(t *testing.T) {
	t.Parallel()
	const off = 5000
	f, _ := mappedFile(t, 2*largePiece+20_000)
	src := randomBytes(2*largePiece + 7)
	for _, n := range copySizes {
		prefaultAll(f.file, 0)
		for range 3 { // the first one is a system call
			clear(f.Bytes())
			if got, err := f.WriteAt(src[:n], off); got != n || err != nil {
				t.Fatalf("WriteAt of %d bytes: %d, %v", n, got, err)
			}
		}
		b := make([]byte, n)
		if got, err := f.ReadAt(b, off); got != n || err != nil || !bytes.Equal(b, src[:n]) {
			t.Errorf("ReadAt of %d bytes: %d, %v, or wrong bytes", n, got, err)
		}
		if clear(b); n > 0 && (!f.load(f.m.Load(), b, off) || !bytes.Equal(b, src[:n])) {
			t.Errorf("load of %d bytes failed, or wrong bytes", n)
		}
		if p := f.Bytes(); !bytes.Equal(p[off:off+n], src[:n]) || p[off-1] != 0 || p[off+n] != 0 {
			t.Errorf("WriteAt of %d bytes: wrong bytes", n)
		}
	}
}

func TestReadable_TruncatedFile(t *testing.T) {
	t.Parallel()
	f, m := mappedFile(t, 4*int64(pageSize))
	if split {
		t.Skip("the system keeps pages of a truncated file")
	}
	if p := m.data[:4*pageSize]; !readable(p) || !storable(p) || !readable(p[:0]) || !storable(p[:0]) {
		t.Error("pages of the file cannot be read or written")
	}
	if err := os.Truncate(f.Name(), int64(pageSize)); err != nil {
		t.Fatal(err)
	}
	dst := make([]byte, 4*pageSize)
	for _, c := range []struct {
		from, to int
		want     bool
	}{
		{0, pageSize, true}, {100, pageSize - 1, true}, {0, pageSize + 1, false}, {100, pageSize + 1, false},
		{pageSize - 1, pageSize + 1, false}, {pageSize, 2 * pageSize, false}, {0, 4 * pageSize, false},
	} {
		p := m.data[c.from:c.to]
		if got := readable(p); got != c.want {
			t.Errorf("readable of %d to %d is %v", c.from, c.to, got)
		}
		if got := tryCopy(dst[:len(p)], p); got != c.want {
			t.Errorf("tryCopy of %d to %d is %v", c.from, c.to, got)
		}
		if got := c.from%pageSize == 0 && storable(p); got != (c.want && c.from == 0) {
			t.Errorf("storable of %d to %d is %v", c.from, c.to, got)
		}
	}
}
