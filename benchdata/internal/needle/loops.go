package needle

import (
	"bytes"
	"encoding/binary"
)

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

// loopPlaces is where a loop runs: the key of its rows is "Loop", and this.
var loopPlaces = []struct {
	name string
	way  func(w Way, find index) Way
}{
	{"Memory", func(w Way, find index) Way { w.Open = memory(find); return w }},
	{"Mapped", func(w Way, find index) Way { w.Open, w.Missing = mappedBefore(find), missingMmap; return w }},
	{"Fresh", func(w Way, find index) Way { w.Find, w.Missing = mappedParallel(find), missingMmap; return w }},
}

// LoopPlaces are the names of the places that the loops are compared in.
func LoopPlaces() []string {
	var names []string
	for _, p := range loopPlaces {
		names = append(names, p.name)
	}
	return names
}

// Loops are the candidates for scan.IndexNot in one of LoopPlaces: the bare loop on all workers, in
// pieces of 1 MiB. The one that scan has is named "words-4".
func Loops(place string) []Way {
	var ways []Way
	for _, p := range loopPlaces {
		if p.name != place {
			continue
		}
		for _, l := range loops() {
			ways = append(ways, p.way(Way{Name: l.name, What: l.what, Parallel: true}, l.find))
		}
	}
	return ways
}

type loop struct {
	name, what string
	find       index
}

func loops() []loop {
	return []loop{
		{"words-1", "eight words OR-ed, from one place", indexBlocks},
		{"words-4", "words from four places, 64 KiB apart", indexPlaces},
		{"equal-1", "`bytes.Equal` of 8 KiB, from one place", indexEqual(1, 64<<10, 8<<10)},
		{"equal-2", "`bytes.Equal` of 512 B, from two places, 32 KiB apart", indexEqual(2, 32<<10, 512)},
		{"equal-4", "`bytes.Equal` of 512 B, from four places, 256 KiB apart", indexEqual(4, 256<<10, 512)},
		{"avx2", "AVX2 in assembler, from one place", indexAVX2},
	}
}

const (
	wordStep  = 32
	wordPlace = 64 << 10
)

type wordBlock [4 * wordPlace]byte

// indexPlaces is the loop of scan.IndexNot (scan/indexnot.go), which nothing exports.
func indexPlaces(p []byte) int {
	i := 0
	for len(p)-i >= len(wordBlock{}) && (*wordBlock)(p[i:]).consistsOf(0) {
		i += len(wordBlock{})
	}
	return afterBlocks(p, i)
}

// afterBlocks is the index in p whose first zeros bytes are zero, by a loop that costs little in a block
// of some hundred KiB.
func afterBlocks(p []byte, zeros int) int {
	if i := indexBlocks(p[zeros:]); i >= 0 {
		return zeros + i
	}
	return -1
}

func (b *wordBlock) consistsOf(word uint64) bool {
	for i := 0; i <= wordPlace-wordStep; i += wordStep {
		if differ((*[wordStep]byte)(b[i:]), word)|differ((*[wordStep]byte)(b[wordPlace+i:]), word)|
			differ((*[wordStep]byte)(b[2*wordPlace+i:]), word)|differ((*[wordStep]byte)(b[3*wordPlace+i:]), word) != 0 {
			return false
		}
	}
	return true
}

func differ(b *[wordStep]byte, word uint64) uint64 {
	return (binary.NativeEndian.Uint64(b[0:]) ^ word) | (binary.NativeEndian.Uint64(b[8:]) ^ word) |
		(binary.NativeEndian.Uint64(b[16:]) ^ word) | (binary.NativeEndian.Uint64(b[24:]) ^ word)
}

// indexEqual compares size bytes at each of so many places in turn.
func indexEqual(places, apart, size int) index {
	zeros := make([]byte, size)
	return func(p []byte) int {
		i := 0
		for ; len(p)-i >= places*apart; i += places * apart {
			for j := 0; j < apart; j += size {
				for k := i + j; k < i+places*apart; k += apart {
					if !bytes.Equal(p[k:k+size], zeros) {
						return afterBlocks(p, i)
					}
				}
			}
		}
		return afterBlocks(p, i)
	}
}
