//go:build !js

package billyfs_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-git/go-billy/v6"
	"github.com/go-git/go-billy/v6/osfs"

	"go.dw1.io/mmapfile/adapters/billyfs"
)

// BenchmarkReadAt reads 64 B anywhere in a file of 4 MiB, in memory: often from a file that stays open, by one
// goroutine and by several, and once from one that is opened for it.
func BenchmarkReadAt(b *testing.B) {
	const size = 4 << 20
	dir := b.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), bytes.Repeat([]byte("content."), size/8), 0o600); err != nil {
		b.Fatal(err)
	}
	p := make([]byte, 64)
	read := func(b *testing.B, f billy.File) {
		if _, err := f.ReadAt(p, rand.Int64N(size/64)*64); err != nil {
			b.Fatal(err)
		}
	}
	for _, fs := range []struct {
		name string
		billy.Filesystem
	}{
		{"osfs", osfs.New(dir)},
		{"osfs.WithMmap", osfs.New(dir, osfs.WithMmap())},
		{"billyfs", billyfs.New(dir)},
	} {
		open := func(b *testing.B) billy.File {
			f, err := fs.Open("file")
			if err != nil {
				b.Fatal(err)
			}
			return f
		}
		b.Run("open/fs="+fs.name, func(b *testing.B) {
			f := open(b)
			defer f.Close()
			for b.Loop() {
				read(b, f)
			}
		})
		b.Run("parallel/fs="+fs.name, func(b *testing.B) {
			f := open(b)
			defer f.Close()
			b.RunParallel(func(pb *testing.PB) {
				p := make([]byte, 64)
				for pb.Next() {
					if _, err := f.ReadAt(p, rand.Int64N(size/64)*64); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
		b.Run("once/fs="+fs.name, func(b *testing.B) {
			for b.Loop() {
				f := open(b)
				read(b, f)
				f.Close()
			}
		})
	}
}
