package scan

import (
	"bytes"
	"slices"
	"testing"
)

// Every length up to some steps, and every position of the byte.
func TestIndexNot_EveryLengthAndPosition(t *testing.T) {
	t.Parallel()
	const most = 5*step + 9
	for _, c := range []byte{0, 'a', 0x80, 0xff} {
		content := bytes.Repeat([]byte{c}, 1+most) // from 1, so words are not aligned
		for size := range most + 1 {
			p := content[1 : 1+size : 1+size]
			if got := indexNot(p, c); got != -1 {
				t.Fatalf("%d bytes of %#x: %d", size, c, got)
			}
			for i := range p {
				for _, bit := range []byte{1, 0x80} {
					p[i] ^= bit
					if got := indexNot(p, c); got != i {
						t.Fatalf("%d bytes of %#x, another at %d: %d", size, c, i, got)
					}
					p[i] ^= bit
				}
			}
		}
	}
}

// The first of two bytes is found, even if the second is in an earlier step of a
// later place.
func TestIndexNot_FirstOfTwoInLargePieces(t *testing.T) {
	t.Parallel()
	for _, size := range []int{4*place - 1, 4 * place, 4*place + step + 1, 9*place + 5} {
		p := bytes.Repeat([]byte{'a'}, size)
		if got := indexNot(p, 'a'); got != -1 {
			t.Fatalf("%d bytes: %d", size, got)
		}
		marks := []int{0, 1, step - 1, step, place - 1, place, place + 7, 2*place - step, 3*place - 1, 3 * place, 4*place - 2, 4*place - 1, 4 * place, size - 1}
		for _, first := range marks {
			for _, second := range marks {
				if first > second || second >= size {
					continue
				}
				p[first], p[second] = 'b', 'b'
				if got := indexNot(p, 'a'); got != first {
					t.Errorf("%d bytes, others at %d and %d: %d", size, first, second, got)
				}
				p[first], p[second] = 'a', 'a'
			}
		}
	}
}

func FuzzIndexNot(f *testing.F) {
	f.Add([]byte("aaab"), byte('a'), uint16(300))
	f.Add([]byte("\x00\x00\x01"), byte(0), uint16(1))
	f.Fuzz(func(t *testing.T, tail []byte, c byte, before uint16) {
		p := append(bytes.Repeat([]byte{c}, int(before)), tail...)
		if got, want := indexNot(p, c), slices.IndexFunc(p, func(b byte) bool { return b != c }); got != want {
			t.Errorf("%d, want %d", got, want)
		}
	})
}

// Each byte of a step is compared, in each of the four places.
func TestIndexNot_EveryByteOfABlock(t *testing.T) {
	t.Parallel()
	p := make([]byte, 4*place)
	b := (*block)(p)
	for at := 0; at < place; at += 64 * step {
		for i := range 4 * step {
			off := i/step*place + at + i%step
			p[off] = 1
			if b.consistsOf(0) {
				t.Errorf("a byte at %d is not seen", off)
			}
			p[off] = 0
		}
	}
	if !b.consistsOf(0) || b.consistsOf(1) {
		t.Error("zeros do not differ from others")
	}
}
