//go:build !unix || openbsd || nommap

package mmapfile

func addressSpace() int64 { return 0 }
