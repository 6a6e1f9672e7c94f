package needle

import (
	"bytes"
	"encoding/binary"

	"go.dw1.io/mmapfile"
)

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
		for _, l := range loops {
			ways = append(ways, p.way(Way{Name: l.name, What: l.what, Parallel: true}, l.find))
		}
	}
	return ways
}

var loops = []struct {
	name, what string
	find       index
}{
	{"words-1", "eight words OR-ed, from one place", indexBlocks},
	{"words-4", "words from four places, 64 KiB apart", indexPlaces},
	{"equal-1", "`bytes.Equal` of 8 KiB, from one place", indexEqual(1, 64<<10, 8<<10)},
	{"equal-2", "`bytes.Equal` of 512 B, from two places, 32 KiB apart", indexEqual(2, 32<<10, 512)},
	{"equal-4", "`bytes.Equal` of 512 B, from four places, 256 KiB apart", indexEqual(4, 256<<10, 512)},
	{"avx2", "AVX2 in assembler, from one place", indexAVX2},
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

// mappedBefore is a search of a mapping whose pages were all touched.
func mappedBefore(find index) func(path string) (func(workers int) (int64, error), func() error, error) {
	return func(path string) (func(workers int) (int64, error), func() error, error) {
		f, err := mmapfile.Open(path)
		if err != nil {
			return nil, nil, err
		}
		p := f.Bytes()
		indexBlocks(p)
		return func(workers int) (int64, error) { return bytesParallel(p, workers, find) }, f.Close, nil
	}
}
