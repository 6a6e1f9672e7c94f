package ostest

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

// Not in parallel: a child that another test starts has copies of all descriptors until its
// exec, and so keeps the blocks of files that were removed.
func TestOpenFile_SizeBeyondDisk(t *testing.T) {
	dir := filetest.SmallDisk(t)
	free := func() uint64 {
		var s unix.Statfs_t
		if err := unix.Statfs(dir, &s); err != nil {
			t.Fatal(err)
		}
		return s.Bfree
	}
	old := filepath.Join(dir, "old")
	filetest.Write(t, old, []byte("content"))
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
			t.Errorf("%s with flags %x: %s", c.name, c.flag, filetest.ErrorText(err, name))
		}
		if f != nil {
			t.Errorf("%s with flags %x: both a File and an error", c.name, c.flag)
		}
		if _, err := os.Lstat(filepath.Join(dir, "new")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s with flags %x: the new file still exists (%v)", c.name, c.flag, err)
			_ = os.Remove(filepath.Join(dir, "new"))
		}
		if got := filetest.Read(t, old); string(got) != "content" {
			t.Errorf("%s with flags %x: the old file is %d bytes now", c.name, c.flag, len(got))
		}
		if after := free(); after != before {
			t.Errorf("%s with flags %x: %d blocks were free before, %d after", c.name, c.flag, before, after)
		}
	}
	// The blocks of a size that fits are allocated, so writing to them cannot fail.
	name := filepath.Join(dir, "fits")
	f, err := mmapfile.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600, 500_000)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	filetest.FillDisk(t, filepath.Join(dir, "rest"))
	if b := f.Bytes(); len(b) != 500_000 {
		t.Errorf("Bytes returned %d bytes", len(b))
	}
	if n, err := f.WriteAt(filetest.Pattern(500_000), 0); n != 500_000 || err != nil {
		t.Errorf("WriteAt into allocated blocks: %d, %v", n, err)
	}
	filetest.SameBytes(t, "the file", filetest.Read(t, name), filetest.Pattern(500_000))
}

// The holes of a file are allocated even if it has enough blocks elsewhere.
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
			if _, err := o.Write(filetest.Pattern(int(hole))); err != nil {
				t.Fatal(err)
			}
			if hole == size/2 { // allocated past the end of the file
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
			if got := filetest.Read(t, name)[:hole]; !bytes.Equal(got, filetest.Pattern(int(hole))) {
				t.Errorf("%s: its content has changed", name)
			}
			os.Remove(name)
		}
	}
}

// A file with all its blocks is not changed, even if some of them were never written.
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

// A file of a lower layer is mapped if it is known not to change. If it changes all the same,
// reads return the old or the new file, and no call fails.
func TestImmutable_Overlayfs(t *testing.T) {
	filetest.NeedsGain(t)
	t.Parallel()
	var fs unix.Statfs_t
	if err := unix.Statfs(t.TempDir(), &fs); err != nil || fs.Type == unix.TMPFS_MAGIC {
		t.Skip("of an overlay of a tmpfs no file is mapped unasked: ", err)
	}
	name := mountOverlay(t, bytes.Repeat([]byte("old "), 4096))
	f := mustOpenImmutable(t, name)
	readOften(t, f)
	if filetest.Mapped(f) != filetest.MapsUnasked {
		t.Errorf("mapped: %v", filetest.Mapped(f))
	}
	other := filetest.OpenFile(t, name, os.O_RDONLY)
	if readOften(t, other); filetest.Mapped(other) {
		t.Error("without the promise it is mapped, too")
	}
	if err := os.Truncate(name, page+1); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 64)
	for off := int64(0); off < 4*4096+page; off += page / 2 {
		if n, err := f.ReadAt(got, off); err != nil && err != io.EOF || n > 0 && !bytes.HasPrefix([]byte("old old "), got[:min(n, 8)]) {
			t.Errorf("ReadAt at %d: %d, %v", off, n, err)
		}
	}
}

func TestPrivate_OpenPipe(t *testing.T) {
	t.Parallel()
	name := filetest.Temp(t, nil) + "pipe"
	if err := unix.Mkfifo(name, 0o600); err != nil {
		t.Skip(err)
	}
	filetest.Within(t, func() {
		f, err := mmapfile.Options{Private: true}.OpenFile(name, os.O_RDWR, 0)
		if f != nil || !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("a pipe: %v", err)
		}
	})
}
