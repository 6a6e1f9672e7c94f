package file_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"go.dw1.io/mmapfile/internal/filetest"
)

// Each method fills the holes of a sparse file until the disk is full. The number of bytes and the
// error are those of os.File.
func TestWrite_HolesOfFullDisk(t *testing.T) {
	t.Parallel()
	const size = 4 << 20
	ways := map[string]func(f filetest.File, b []byte, off int64) (int64, error){
		"WriteAt": func(f filetest.File, b []byte, off int64) (int64, error) {
			n, err := f.WriteAt(b, off)
			return int64(n), err
		},
		"Write": func(f filetest.File, b []byte, _ int64) (int64, error) { n, err := f.Write(b); return int64(n), err },
		"WriteString": func(f filetest.File, b []byte, _ int64) (int64, error) {
			n, err := f.WriteString(string(b))
			return int64(n), err
		},
		"ReadFrom": func(f filetest.File, b []byte, _ int64) (int64, error) { return f.ReadFrom(bytes.NewReader(b)) },
	}
	for way, write := range ways {
		for _, piece := range []int{1000, 4096, 100_000, size} {
			for _, state := range []string{"Cold", "Mapped", "Hot"} {
				t.Run(fmt.Sprintf("%s/%d/%s", way, piece, state), func(t *testing.T) {
					t.Parallel()
					var results [2]string
					for kind := range results {
						name := filepath.Join(filetest.SmallDisk(t), "sparse")
						filetest.Write(t, name, nil)
						if err := os.Truncate(name, size); err != nil {
							t.Fatal(err)
						}
						var f filetest.File
						if kind == 0 {
							inner, err := os.OpenFile(name, os.O_RDWR, 0)
							if err != nil {
								t.Fatal(err)
							}
							defer inner.Close()
							f = inner
						} else {
							m := filetest.Open(t, name)
							if state != "Cold" {
								mustMap(t, m)
							}
							f = m
						}
						if state == "Hot" { // mapped writes reach the holes after them
							filetest.PrefaultWrites(t, f, filetest.Pattern(100_000))
						}
						var done, n int64
						var err error
						for off := int64(0); off < size && err == nil; off += n {
							n, err = write(f, filetest.Pattern(piece), off)
							done += n
						}
						if !errors.Is(err, syscall.ENOSPC) {
							t.Errorf("kind %d: the error of a full disk is %v after %d bytes", kind, err, done)
						}
						m, err2 := write(f, filetest.Pattern(piece), done) // the last page may take some more
						results[kind] = fmt.Sprint(done, " ", filetest.ErrorText(err, name), " ", m, " ", filetest.ErrorText(err2, name))
						got := make([]byte, size)
						if n, err := f.ReadAt(got, 0); n != size || err != nil {
							t.Errorf("kind %d: reading it back: %d, %v", kind, n, err)
						}
						results[kind] += fmt.Sprint(" same as on disk: ", bytes.Equal(got, filetest.Read(t, name)))
						results[kind] += fmt.Sprint(" zeros at the end: ", len(bytes.TrimRight(got, "\x00")))
					}
					if results[1] != results[0] {
						t.Errorf("got  %s\nwant %s", results[1], results[0])
					}
				})
			}
		}
	}
}

func TestReadAt_HolesOfFullDisk(t *testing.T) {
	t.Parallel()
	const size = 4 << 20
	for _, mapped := range []bool{false, true} {
		dir := filetest.SmallDisk(t)
		name := filepath.Join(dir, "sparse")
		filetest.Write(t, name, nil)
		if err := os.Truncate(name, size); err != nil {
			t.Fatal(err)
		}
		f := filetest.Open(t, name)
		if mapped {
			mustMap(t, f)
		}
		for _, piece := range []int{100, 4096, 300_000, size} {
			b := make([]byte, piece)
			for off := int64(0); off+int64(piece) <= size; off += int64(piece) + 50_000 {
				b[0], b[piece-1] = 1, 1
				if n, err := f.ReadAt(b, off); n != piece || err != nil || len(bytes.Trim(b, "\x00")) != 0 {
					t.Fatalf("ReadAt(%d, %d): %d, %v", piece, off, n, err)
				}
			}
		}
		if n, err := io.Copy(io.Discard, io.NewSectionReader(f, 0, size)); n != size || err != nil {
			t.Errorf("copied %d, %v", n, err)
		}
		var to bytes.Buffer
		if n, err := f.WriteTo(&to); n != size || err != nil || len(bytes.Trim(to.Bytes(), "\x00")) != 0 {
			t.Errorf("WriteTo: %d, %v", n, err)
		}
		if !mapped { // without a mapping, reads must not allocate blocks
			if err := os.WriteFile(filepath.Join(dir, "other"), filetest.Pattern(900_000), 0o600); err != nil {
				t.Errorf("writing after the holes were read: %v", err)
			}
		}
		_ = f.Close()
	}
}
