package needle

import "golang.org/x/sys/cpu"

// zerosAVX2 counts the zeros that p begins with, in blocks of 256.
//
//go:noescape
func zerosAVX2(p []byte) int

func init() {
	if cpu.X86.HasAVX2 {
		indexAVX2, noteAVX2 = func(p []byte) int { return after(p, zerosAVX2(p)) }, ""
	}
}
