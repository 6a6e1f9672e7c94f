package dirfs

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"go.dw1.io/mmapfile"
)

// BenchmarkDirFS compares DirFS with os.DirFS: benchstat -col /impl -row /call,/dir.
func BenchmarkDirFS(b *testing.B) {
	top, err := os.MkdirTemp(os.Getenv("BENCH_DIR"), "mmapfile-dirfs-")
	if err != nil {
		b.Fatal(err)
	}
	defer os.RemoveAll(top)
	dir := filepath.Join(top, "dir")
	for i := range 100 {
		for _, sub := range []string{"", "sub", "sub/deeper"} {
			name := filepath.Join(dir, sub, fmt.Sprintf("file%02d", i))
			if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
				b.Fatal(err)
			}
			if err := os.WriteFile(name, make([]byte, 1000), 0o600); err != nil {
				b.Fatal(err)
			}
		}
	}
	link := dir + "link"
	if err := os.Symlink(dir, link); err != nil {
		b.Skip(err)
	}
	buf := make([]byte, 2000)
	read := func(b *testing.B, fsys fs.FS, name string) {
		f, err := fsys.Open(name)
		if err != nil {
			b.Fatal(err)
		}
		if n, err := f.Read(buf); n != 1000 || err != nil {
			b.Fatal(n, err)
		}
		f.Close()
	}
	for _, call := range []struct {
		name string
		do   func(b *testing.B, fsys fs.FS)
	}{
		{"ReadDir", func(b *testing.B, fsys fs.FS) { fs.ReadDir(fsys, ".") }},
		{"ReadDirSub", func(b *testing.B, fsys fs.FS) { fs.ReadDir(fsys, "sub") }},
		{"ReadDirSubInfo", func(b *testing.B, fsys fs.FS) {
			list, _ := fs.ReadDir(fsys, "sub")
			for _, e := range list {
				e.Info()
			}
		}},
		{"Open", func(b *testing.B, fsys fs.FS) { read(b, fsys, "file07") }},
		{"OpenSub", func(b *testing.B, fsys fs.FS) { read(b, fsys, "sub/file07") }},
		{"OpenDeeper", func(b *testing.B, fsys fs.FS) { read(b, fsys, "sub/deeper/file07") }},
		{"OpenMissing", func(b *testing.B, fsys fs.FS) { fsys.Open("sub/missing") }},
		{"ReadFile", func(b *testing.B, fsys fs.FS) { fs.ReadFile(fsys, "file07") }},
		{"Stat", func(b *testing.B, fsys fs.FS) { fs.Stat(fsys, "file07") }},
		{"StatSub", func(b *testing.B, fsys fs.FS) { fs.Stat(fsys, "sub/file07") }},
	} {
		for _, in := range []string{dir, link} {
			for _, v := range []struct {
				name string
				fsys fs.FS
			}{{"os", os.DirFS(in)}, {"mmapfile", mmapfile.DirFS(in)}} {
				b.Run(fmt.Sprintf("call=%s/dir=%s/impl=%s", call.name, filepath.Base(in), v.name), func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						call.do(b, v.fsys)
					}
				})
			}
		}
	}
}
