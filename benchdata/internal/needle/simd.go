//go:build goexperiment.simd && amd64

package needle

import "simd/archsimd"

func init() {
	missingSIMD = "this processor has no AVX2"
	if archsimd.X86.AVX2() {
		indexSIMD, missingSIMD = indexVectors, ""
	}
}

func indexVectors(p []byte) int {
	rest := p
	for len(rest) >= 256 {
		b := (*[256]byte)(rest)
		x0, x1 := vector(b, 0).Or(vector(b, 1)), vector(b, 2).Or(vector(b, 3))
		x2, x3 := vector(b, 4).Or(vector(b, 5)), vector(b, 6).Or(vector(b, 7))
		if !x0.Or(x1).Or(x2.Or(x3)).IsZero() {
			break
		}
		rest = rest[256:]
	}
	archsimd.ClearAVXUpperBits()
	return after(p, len(p)-len(rest))
}
