//go:build !amd64

package needle

func indexAVX2(p []byte) int { return indexBlocks(p) }

func noteAVX2() string { return "measured without AVX2, which this processor does not have" }
