package mmapfile_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"go.dw1.io/mmapfile"
)

func init() {
	ftChildren["narrow"] = ftChildNarrow
}

// ftStatus is a figure in kB from /proc/self/status, in bytes.
func ftStatus(key string) (int64, error) {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, key+":"); ok {
			kb, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return kb << 10, err
		}
	}
	return 0, fmt.Errorf("no %s in /proc/self/status", key)
}

// ftNarrow is the size of a file and the address space that a process gets beyond what it has, which is less:
// much of it goes to a stack and an arena of C's malloc for each thread that Go starts.
func ftNarrow() (size, room int64) {
	if strconv.IntSize == 32 {
		return 1 << 30, 200 << 20
	}
	return 16 << 30, 4 << 30
}

// ftChildNarrow works on a file that is larger than the address space left to it.
func ftChildNarrow(args []string) error {
	used, err := ftStatus("VmSize")
	if err != nil {
		return err
	}
	size, room := ftNarrow()
	limit := uint64(used + room)
	if err := unix.Setrlimit(unix.RLIMIT_AS, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
		return err
	}
	f, err := mmapfile.OpenFile(args[0], os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if mmapfile.CanMap { // a copy in the heap of a Go program ends that program instead
		if b := f.Bytes(); b != nil {
			return fmt.Errorf("Bytes gave %d bytes", len(b))
		}
		called := false
		if err := f.View(0, size, func([]byte) error { called = true; return nil }); err == nil || called {
			return fmt.Errorf("View of it all: %v, called %v", err, called)
		}
	}
	if mmapfile.Mapped(f) {
		return errors.New("it is mapped")
	}
	if mmapfile.CanMap { // read, where it cannot be mapped
		total := 0
		for off, p := range f.Chunks(64 << 20) {
			if off != int64(total) {
				return fmt.Errorf("Chunks: a window at %d after %d bytes", off, total)
			}
			total += len(p)
			if off >= 256<<20 {
				break
			}
		}
		if total != 320<<20 {
			return fmt.Errorf("Chunks came to %d", total)
		}
		if _, err := mmapfile.At[byte](f, size-1); err == nil {
			return errors.New("At of a file that cannot be mapped")
		}
	}
	b := make([]byte, 10_000)
	for round := range 40 { // enough to want a mapping
		off := int64(round)*25_000_000 + 17
		if n, err := f.WriteAt(ftPattern(len(b)), off); n != len(b) || err != nil {
			return fmt.Errorf("WriteAt: %d, %w", n, err)
		}
		clear(b)
		if n, err := f.ReadAt(b, off); n != len(b) || err != nil || !bytes.Equal(b, ftPattern(len(b))) {
			return fmt.Errorf("ReadAt: %d, %w, %v", n, err, b[:20])
		}
		if pos, err := f.Seek(off+100, io.SeekStart); pos != off+100 || err != nil {
			return fmt.Errorf("Seek: %d, %w", pos, err)
		}
		if n, err := f.Read(b[:50]); n != 50 || err != nil || !bytes.Equal(b[:50], ftPattern(150)[100:]) {
			return fmt.Errorf("Read: %d, %w, %v", n, err, b[:50])
		}
	}
	if n := f.Len(); int64(n) != size {
		return fmt.Errorf("Len is %d", n)
	}
	return f.Close()
}

func TestFileLargerThanTheAddressSpaceIsServedBySystemCalls(t *testing.T) {
	t.Parallel()
	if mmapfile.RaceDetector {
		t.Skip("the race detector needs its address space")
	}
	if ftEmulator != "" {
		t.Skip("no limit of address space under " + ftEmulator)
	}
	name := ftTemp(t, nil)
	size, _ := ftNarrow()
	if err := os.Truncate(name, size); err != nil {
		t.Fatal(err)
	}
	ftRun(t, ftChild(t, nil, "narrow", name))
}

// ftSmallDisk mounts a tmpfs of 1 MiB and returns its directory.
func ftSmallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("mmapfile-test", dir, "tmpfs", 0, "size=1m,mode=777"); err != nil {
		t.Skip("a small disk can only be mounted by root: ", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// Every way to write fills the holes of a sparse file until the disk is full: how far it came, and
// with which error, is the same as with os.File.
func TestFillingHolesOfAFullDiskIsENOSPC(t *testing.T) {
	t.Parallel()
	const size = 4 << 20
	ways := map[string]func(f ftFile, b []byte, off int64) (int64, error){
		"WriteAt": func(f ftFile, b []byte, off int64) (int64, error) {
			n, err := f.WriteAt(b, off)
			return int64(n), err
		},
		"Write": func(f ftFile, b []byte, _ int64) (int64, error) { n, err := f.Write(b); return int64(n), err },
		"WriteString": func(f ftFile, b []byte, _ int64) (int64, error) {
			n, err := f.WriteString(string(b))
			return int64(n), err
		},
		"ReadFrom": func(f ftFile, b []byte, _ int64) (int64, error) { return f.ReadFrom(bytes.NewReader(b)) },
	}
	for way, write := range ways {
		for _, piece := range []int{1000, 4096, 100_000, size} {
			for _, warm := range []string{"Cold", "Mapped", "Hot"} {
				t.Run(fmt.Sprintf("%s/%d/%s", way, piece, warm), func(t *testing.T) {
					t.Parallel()
					var results [2]string
					for kind := range results {
						name := filepath.Join(ftSmallDisk(t), "sparse")
						ftPut(t, name, nil)
						if err := os.Truncate(name, size); err != nil {
							t.Fatal(err)
						}
						var f ftFile
						if kind == 0 {
							inner, err := os.OpenFile(name, os.O_RDWR, 0)
							if err != nil {
								t.Fatal(err)
							}
							defer inner.Close()
							f = inner
						} else {
							m := ftOpen(t, name)
							if warm != "Cold" {
								ftMap(t, m)
							}
							f = m
						}
						if warm == "Hot" { // the holes before and behind are reached by stores
							ftHeat(t, f, ftPattern(100_000))
						}
						var done, n int64
						var err error
						for off := int64(0); off < size && err == nil; off += n {
							n, err = write(f, ftPattern(piece), off)
							done += n
						}
						if !errors.Is(err, syscall.ENOSPC) {
							t.Errorf("kind %d: a full disk is %v after %d bytes", kind, err, done)
						}
						m, err2 := write(f, ftPattern(piece), done) // the last page may take some more
						results[kind] = fmt.Sprint(done, " ", ftErr(err, name), " ", m, " ", ftErr(err2, name))
						got := make([]byte, size)
						if n, err := f.ReadAt(got, 0); n != size || err != nil {
							t.Errorf("kind %d: reading it back: %d, %v", kind, n, err)
						}
						results[kind] += fmt.Sprint(" same as on disk: ", bytes.Equal(got, ftGet(t, name)))
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

func TestReadingHolesOfAFullDiskGivesZeros(t *testing.T) {
	t.Parallel()
	const size = 4 << 20
	for _, warm := range []bool{false, true} {
		dir := ftSmallDisk(t)
		name := filepath.Join(dir, "sparse")
		ftPut(t, name, nil)
		if err := os.Truncate(name, size); err != nil {
			t.Fatal(err)
		}
		f := ftOpen(t, name)
		if warm {
			ftMap(t, f)
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
		if !warm { // nobody asked for a mapping, so reading may not have filled the disk
			if err := os.WriteFile(filepath.Join(dir, "other"), ftPattern(900_000), 0o600); err != nil {
				t.Errorf("after the holes were read: %v", err)
			}
		}
		_ = f.Close()
	}
}

func TestViewOfHolesOfAFullDiskIsAnError(t *testing.T) {
	t.Parallel()
	if !mmapfile.CanMap {
		t.Skip("a copy has no holes")
	}
	const size = 4 << 20
	name := filepath.Join(ftSmallDisk(t), "sparse")
	ftPut(t, name, nil)
	if err := os.Truncate(name, size); err != nil {
		t.Fatal(err)
	}
	f := ftOpenMapped(t, name)
	err := f.View(0, size, func(p []byte) error {
		for i := 0; i < len(p); i += 4096 {
			p[i] = 1
		}
		return nil
	})
	if err == nil || errors.Is(err, os.ErrClosed) {
		t.Errorf("4 MiB stored on a disk of 1 MiB: %v", err)
	}
	if n, err := f.ReadAt(make([]byte, size), 0); n != size || err != nil {
		t.Errorf("ReadAt afterwards: %d, %v", n, err)
	}
}

func TestOpenFileWithASizeBeyondTheDiskIsENOSPC(t *testing.T) {
	t.Parallel()
	dir := ftSmallDisk(t)
	free := func() uint64 {
		var s unix.Statfs_t
		if err := unix.Statfs(dir, &s); err != nil {
			t.Fatal(err)
		}
		return s.Bfree
	}
	old := filepath.Join(dir, "old")
	ftPut(t, old, []byte("content"))
	before := free()
	for _, c := range []struct {
		name string
		flag int
	}{
		{"new", os.O_RDWR | os.O_CREATE},
		{"new", os.O_RDWR | os.O_CREATE | os.O_EXCL},
		{"new", os.O_RDWR | os.O_CREATE | os.O_TRUNC},
		{"new", os.O_WRONLY | os.O_CREATE},
		{"old", os.O_RDWR},
		{"old", os.O_RDWR | os.O_CREATE},
		{"old", os.O_WRONLY},
	} {
		name := filepath.Join(dir, c.name)
		f, err := mmapfile.OpenFile(name, c.flag, 0o600, 8<<20)
		var pe *os.PathError
		if !errors.Is(err, syscall.ENOSPC) || !errors.As(err, &pe) || pe.Path != name {
			t.Errorf("%s with flags %x: %s", c.name, c.flag, ftErr(err, name))
		}
		if f != nil {
			t.Errorf("%s with flags %x: a File comes with the error", c.name, c.flag)
		}
		if _, err := os.Lstat(filepath.Join(dir, "new")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s with flags %x: the new file was left behind (%v)", c.name, c.flag, err)
			_ = os.Remove(filepath.Join(dir, "new"))
		}
		if got := ftGet(t, old); string(got) != "content" {
			t.Errorf("%s with flags %x: the old file is %d bytes now", c.name, c.flag, len(got))
		}
		if after := free(); after != before {
			t.Errorf("%s with flags %x: %d blocks were free before, %d after", c.name, c.flag, before, after)
		}
	}
	// What there is room for is there to stay: filling it can no longer fail.
	name := filepath.Join(dir, "fits")
	f, err := mmapfile.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600, 500_000)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	ftFillDisk(t, filepath.Join(dir, "rest"))
	if b := f.Bytes(); len(b) != 500_000 {
		t.Errorf("Bytes gives %d bytes", len(b))
	}
	if n, err := f.WriteAt(ftPattern(500_000), 0); n != 500_000 || err != nil {
		t.Errorf("WriteAt into allocated blocks: %d, %v", n, err)
	}
	ftSame(t, "the file", ftGet(t, name), ftPattern(500_000))
}

func ftFillDisk(t *testing.T, name string) {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
}

// What is allocated elsewhere in the file is no room for its holes.
func TestOpenFile_SizeOfSparseFile(t *testing.T) {
	t.Parallel()
	const size = 512 << 10
	for _, parent := range []string{t.TempDir(), "/dev/shm"} {
		dir, err := os.MkdirTemp(parent, "mmapfile")
		if err != nil {
			t.Skip(err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		probe, err := os.Create(filepath.Join(dir, "probe"))
		if err != nil {
			t.Fatal(err)
		}
		err = unix.Fallocate(int(probe.Fd()), unix.FALLOC_FL_KEEP_SIZE, 0, 4096)
		probe.Close()
		if err != nil {
			t.Skip("nothing can be allocated here: ", err)
		}
		for _, hole := range []int64{0, 4096, size / 2} {
			name := filepath.Join(dir, fmt.Sprint("hole at ", hole))
			o, err := os.Create(name)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := o.Write(ftPattern(int(hole))); err != nil {
				t.Fatal(err)
			}
			if hole == size/2 { // kept after the end of the file
				if err := o.Truncate(size); err != nil {
					t.Fatal(err)
				}
				err = unix.Fallocate(int(o.Fd()), unix.FALLOC_FL_KEEP_SIZE, size, size)
			} else {
				_, err = o.WriteAt(make([]byte, size), size)
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(o.Sync(), o.Close()); err != nil {
				t.Fatal(err)
			}
			f, err := mmapfile.OpenFile(name, os.O_RDWR, 0, size)
			if err != nil {
				t.Fatal(err)
			}
			var st unix.Stat_t
			if err := unix.Stat(name, &st); err != nil {
				t.Fatal(err)
			}
			if pos, err := f.Seek(0, io.SeekCurrent); pos != 0 || err != nil {
				t.Errorf("%s: the cursor is at %d, %v", name, pos, err)
			}
			f.Close()
			if st.Blocks*512 < 2*size {
				t.Errorf("%s: %d bytes are allocated of %d", name, st.Blocks*512, 2*size)
			}
			if got := ftGet(t, name)[:hole]; !bytes.Equal(got, ftPattern(int(hole))) {
				t.Errorf("%s: its content has changed", name)
			}
			os.Remove(name)
		}
	}
}

// A file with all its blocks, also those that were never written, is left alone.
func TestOpenFile_SizeOfAllocatedFile(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	for _, parent := range []string{t.TempDir(), "/dev/shm"} {
		dir, err := os.MkdirTemp(parent, "mmapfile")
		if err != nil {
			t.Skip(err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		name := filepath.Join(dir, "file")
		f, err := mmapfile.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600, size)
		if err != nil {
			t.Fatal(err)
		}
		for off := int64(0); off < size; off += 64 << 10 { // some extents
			if _, err := f.WriteAt([]byte("written"), off); err != nil {
				t.Fatal(err)
			}
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		old := time.Now().Add(-time.Hour).Truncate(time.Second)
		if err := os.Chtimes(name, old, old); err != nil {
			t.Fatal(err)
		}
		if f, err = mmapfile.OpenFile(name, os.O_RDWR, 0, size); err != nil {
			t.Fatal(err)
		}
		f.Close()
		if fi, err := os.Stat(name); err != nil || !fi.ModTime().Equal(old) {
			t.Errorf("%s: its time was %v and is %v, %v", name, old, fi.ModTime(), err)
		}
	}
}
