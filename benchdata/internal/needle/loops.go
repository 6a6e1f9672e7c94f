package needle

import "encoding/binary"

// index is the offset of the first byte of p that is not zero, -1 if there is none.
type index func(p []byte) int

func indexBytes(p []byte) int {
	for i, b := range p {
		if b != 0 {
			return i
		}
	}
	return -1
}

func indexWords(p []byte) int {
	rest := p
	for len(rest) >= 8 && binary.NativeEndian.Uint64(rest) == 0 {
		rest = rest[8:]
	}
	return after(p, len(p)-len(rest))
}

// indexBlocks has one branch for eight words.
func indexBlocks(p []byte) int {
	rest := p
	for len(rest) >= 64 {
		b := (*[64]byte)(rest)
		or := binary.NativeEndian.Uint64(b[0:]) | binary.NativeEndian.Uint64(b[8:]) |
			binary.NativeEndian.Uint64(b[16:]) | binary.NativeEndian.Uint64(b[24:]) |
			binary.NativeEndian.Uint64(b[32:]) | binary.NativeEndian.Uint64(b[40:]) |
			binary.NativeEndian.Uint64(b[48:]) | binary.NativeEndian.Uint64(b[56:])
		if or != 0 {
			break
		}
		rest = rest[64:]
	}
	return after(p, len(p)-len(rest))
}

// Files for some processors set these.
var (
	indexAVX2, indexSIMD index = indexBlocks, indexBlocks

	noteAVX2    = "measured without AVX2, which this processor does not have"
	missingSIMD = "it needs GOEXPERIMENT=simd, on amd64"
)

// after is the index in p whose first zeros bytes are zero. What a loop over more than bytes leaves
// is a block with something in it, or the last bytes.
func after(p []byte, zeros int) int {
	if i := indexBytes(p[zeros:]); i >= 0 {
		return zeros + i
	}
	return -1
}

// inPieces calls find for a piece at a time: the scheduler cannot interrupt assembler.
func inPieces(find index) index {
	return func(p []byte) int {
		for off := 0; off < len(p); off += piece {
			if i := find(p[off:min(off+piece, len(p))]); i >= 0 {
				return off + i
			}
		}
		return -1
	}
}
