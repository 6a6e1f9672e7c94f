//go:build goexperiment.simd && amd64 && !go1.27

package needle

import "simd/archsimd"

func vector(b *[256]byte, n int) archsimd.Uint8x32 {
	return archsimd.LoadUint8x32((*[32]byte)(b[32*n:]))
}
