package guard

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// copySizes has the sizes around which copies change their way.
var copySizes = []int{0, 1, pieceFrom - 1, pieceFrom, pieceFrom + 1, largeFrom - 1, largeFrom, largeFrom + 1, largePiece + 3, 2*largePiece + 7}

// randomBytes returns n random bytes.
func randomBytes(n int) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{1}).Read(b)
	return b
}

func TestCopyPieces_Sizes(t *testing.T) {
	t.Parallel()
	src := randomBytes(2*largePiece + 7)
	for _, n := range copySizes {
		dst := make([]byte, n+1)
		if CopyPieces(dst[:n], src[:n]); !bytes.Equal(dst[:n], src[:n]) || dst[n] != 0 {
			t.Errorf("%d bytes: the copy differs, or the byte after it has changed", n)
		}
	}
}

// Source and target of a copy may overlap, as in WriteAt of the file's own Bytes.
func TestCopyPieces_Overlapping(t *testing.T) {
	t.Parallel()
	const n = pieceFrom + 100
	for _, distance := range []int{-n, -smallPiece, -1, 0, 1, smallPiece, n - 1, n} {
		got := randomBytes(3 * n)
		want := bytes.Clone(got)
		CopyPieces(got[n:2*n], got[n+distance:2*n+distance])
		if copy(want[n:2*n], want[n+distance:2*n+distance]); !bytes.Equal(got, want) {
			t.Errorf("source at %d from the target: the copy differs", distance)
		}
	}
}

func TestPut_Sizes(t *testing.T) {
	t.Parallel()
	src := randomBytes(2*largePiece + 7)
	for _, n := range copySizes {
		data := make([]byte, n+20)
		if Put(data, src[:n], 10); !bytes.Equal(data[10:10+n], src[:n]) || data[9] != 0 || data[10+n] != 0 {
			t.Errorf("%d bytes: the copy differs, or the bytes around it have changed", n)
		}
	}
}
