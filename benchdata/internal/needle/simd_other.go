//go:build !(goexperiment.simd && amd64)

package needle

func indexSIMD(p []byte) int { return indexBlocks(p) }

func missingSIMD() string { return "it needs GOEXPERIMENT=simd, on amd64" }
