package mmapfile_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"go.dw1.io/mmapfile"
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

func TestView_HolesOfFullDisk(t *testing.T) {
	t.Parallel()
	if !mmapfile.CanMap {
		t.Skip("a copy has no holes")
	}
	const size = 4 << 20
	name := filepath.Join(filetest.SmallDisk(t), "sparse")
	filetest.Write(t, name, nil)
	if err := os.Truncate(name, size); err != nil {
		t.Fatal(err)
	}
	f := mustOpenMapped(t, name)
	err := f.View(0, size, func(p []byte) error {
		for i := 0; i < len(p); i += 4096 {
			p[i] = 1
		}
		return nil
	})
	if err == nil || errors.Is(err, os.ErrClosed) {
		t.Errorf("4 MiB written to a disk of 1 MiB: %v", err)
	}
	if n, err := f.ReadAt(make([]byte, size), 0); n != size || err != nil {
		t.Errorf("ReadAt afterwards: %d, %v", n, err)
	}
}

// Prefaulting allocates no blocks in holes that are not written.
func TestWriteAt_HolesStay(t *testing.T) {
	t.Parallel()
	name := filetest.Temp(t, nil)
	if err := os.Truncate(name, 64<<20); err != nil {
		t.Fatal(err)
	}
	f := filetest.Open(t, name)
	const after = 32 << 20 // these blocks are not those of the holes
	if err := unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, 64<<20, after); err != nil {
		t.Skip("no blocks can be allocated past the end: ", err)
	}
	mustMap(t, f)
	const pages = 10
	for page := range int64(pages) {
		for range 2000 {
			if _, err := f.WriteAt([]byte("content"), 1<<20+page*64<<10); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	var st unix.Stat_t
	if err := unix.Stat(name, &st); err != nil {
		t.Fatal(err)
	}
	if got := st.Blocks*512 - after; got > 2*pages*int64(max(st.Blksize, 4096)) {
		t.Errorf("%d bytes are allocated for %d pages", got, pages)
	}
}

// The first of many writes is a system call: the kernel notifies watchers then.
func TestWriteAt_FirstIsSystemCall(t *testing.T) {
	t.Parallel()
	name := filetest.Temp(t, filetest.Pattern(8192))
	f := filetest.Open(t, name)
	b := filetest.Pattern(64)
	for range 300 {
		if _, err := f.WriteAt(b, 0); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := f.Stat(); err != nil { // ends the period of the writes before
		t.Fatal(err)
	}
	watch, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		t.Skip(err)
	}
	defer unix.Close(watch)
	if _, err := unix.InotifyAddWatch(watch, name, unix.IN_MODIFY); err != nil {
		t.Skip(err)
	}
	for range 5 {
		if _, err := f.WriteAt(b, 0); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := unix.Read(watch, make([]byte, 4096)); n <= 0 {
		t.Errorf("the watcher was notified of none of five writes: %v", err)
	}
}

// A time in the future that a program sets stays.
func TestWriteAt_TimeSetAheadStays(t *testing.T) {
	t.Parallel()
	name := filetest.Temp(t, filetest.Pattern(8192))
	f := filetest.Open(t, name)
	for range 300 {
		if _, err := f.WriteAt([]byte("again"), 0); err != nil {
			t.Fatal(err)
		}
	}
	ahead := time.Now().Add(24 * time.Hour).Truncate(time.Second)
	if err := os.Chtimes(name, ahead, ahead); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if fi, err := os.Stat(name); err != nil || !fi.ModTime().Equal(ahead) {
		t.Errorf("the time is %v, not %v: %v", fi.ModTime(), ahead, err)
	}
}
