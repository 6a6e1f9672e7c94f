package mmapfile

import (
	"bytes"
	"math/rand/v2"
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

// One call reads or writes any number of bytes of a mapped file.
func TestReadAt_MappedSizes(t *testing.T) {
	t.Parallel()
	const off, piece = 5000, 8 << 20
	f, _ := mappedFile(t, 2*piece+20_000)
	src := randomBytes(2*piece + 7)
	for _, n := range []int{0, 1, 1<<20 - 1, 1 << 20, 1<<20 + 1, 4<<20 - 1, 4 << 20, 4<<20 + 1, piece + 3, 2*piece + 7} {
		prefaultAll(f.file)
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
