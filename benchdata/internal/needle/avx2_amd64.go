package needle

import "golang.org/x/sys/cpu"

// zerosAVX2 counts the zeros that p begins with, in blocks of 256.
//
//go:noescape
func zerosAVX2(p []byte) int

func indexAVX2(p []byte) int {
	if !cpu.X86.HasAVX2 {
		return indexBlocks(p)
	}
	return after(p, zerosAVX2(p))
}

func noteAVX2() string {
	if !cpu.X86.HasAVX2 {
		return "measured without AVX2, which this processor does not have"
	}
	return ""
}
