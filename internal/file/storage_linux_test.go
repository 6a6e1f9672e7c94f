package file

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"go.dw1.io/mmapfile/internal/pages"
	"go.dw1.io/mmapfile/internal/sys"
)

// syncedFile maps a file of one page whose writes are durable when they return.
func syncedFile(t *testing.T, name string, prepare func(f *os.File)) *File {
	t.Helper()
	inner, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := inner.Write(make([]byte, pageSize)); err != nil {
		t.Fatal(err)
	}
	prepare(inner)
	inner.Close()
	f, err := OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if !canMap || f.Bytes() == nil {
		t.Skip("the file is not mapped")
	}
	HoldPages(t)
	prefaultAll(f)
	return f
}

// On a synchronous mount, and in a file with the attribute, every write is durable when it
// returns, so none is a mapped one. Reads are.
func TestWriteAt_SyncedByMountOrAttribute(t *testing.T) {
	t.Parallel()
	const syncAttr = 0x8 // FS_SYNC_FL in linux/fs.h
	for name, open := range map[string]func(t *testing.T) *File{
		"Mount": func(t *testing.T) *File {
			dir := t.TempDir()
			if err := syscall.Mount("mmapfile-test", dir, "tmpfs", syscall.MS_SYNCHRONOUS, "size=1m"); err != nil {
				t.Skip("only root can mount a file system: ", err)
			}
			t.Cleanup(func() { syscall.Unmount(dir, unix.MNT_DETACH) })
			return syncedFile(t, filepath.Join(dir, "f"), func(*os.File) {})
		},
		"Attribute": func(t *testing.T) *File {
			return syncedFile(t, filepath.Join(t.TempDir(), "f"), func(f *os.File) {
				attr, err := unix.IoctlGetUint32(int(f.Fd()), unix.FS_IOC_GETFLAGS)
				if err == nil {
					err = unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, int(attr|syncAttr))
				}
				if err != nil {
					t.Skip("the attribute cannot be set here: ", err)
				}
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := open(t)
			if f.storageOf()&sys.StorageSync == 0 || !f.lateErrors() {
				t.Errorf("the storage is %#x", f.storageOf())
			}
			if mapsWrites(f, func() { writeOften(t, f, 5000) }) {
				t.Error("a write is mapped, and not durable when it returns")
			}
			if m := f.m.Load(); m == nil || m.usable == 0 {
				t.Error("reads do not use the mapping")
			}
		})
	}
}

// Where the system has another reason against mapped writes, none is made.
func TestWriteAt_StorageWithoutMappedWrites(t *testing.T) {
	t.Parallel()
	f, _ := mappedFile(t, 4*int64(pageSize))
	again, err := OpenFile(f.Name(), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { again.Close() })
	again.storage.Store(uint32(sys.StorageLocal | sys.StorageNoWrites)) // exFAT, ntfs3, ZFS, APFS
	if again.Bytes() == nil {
		t.Fatal("the file is not mapped")
	}
	prefaultAll(again)
	if mapsWrites(again, func() { writeOften(t, again, 5000) }) {
		t.Error("a write is mapped")
	}
	if !mapsWrites(f, func() { writeOften(t, f, 5000) }) {
		t.Error("no write is mapped on this storage, so the test shows nothing")
	}
}

// Where the system cannot prefault, a page gets mapped writes only after a system call has written
// it: one that was only read may be a hole, which a mapped write finds full too late. Not parallel,
// because it changes what all Files ask.
func TestWriteAt_HoleWithoutPrefaulting(t *testing.T) {
	Refuse(t, "Prefault", errors.ErrUnsupported)
	f := lazyFile(t, 4*pages.BlockSize)
	if err := f.Truncate(0); err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(4 * pages.BlockSize); err != nil { // all of it is a hole
		t.Fatal(err)
	}
	if f.Bytes() == nil || !f.m.Load().writes {
		t.Skip("no write is mapped here")
	}
	readAt(t, f, 0, 2*pages.BlockSize)
	allocated := func() int64 {
		if err := f.inner.Sync(); err != nil { // blocks are allocated late
			t.Fatal(err)
		}
		var st unix.Stat_t
		if err := unix.Stat(f.Name(), &st); err != nil {
			t.Fatal(err)
		}
		return st.Blocks * 512
	}
	mapped := 0
	for i := range 20 {
		for range 100 {
			before := allocated()
			isMapped := mapsWrites(f, func() {
				if _, err := f.WriteAt([]byte("page"), int64(i*pageSize)); err != nil {
					t.Fatal(err)
				}
			})
			if !isMapped {
				continue
			}
			mapped++
			if want := int64((i + 1) * pageSize); before < want {
				t.Fatalf("a write of page %d is mapped, and %d bytes are allocated", i, before)
			}
			break
		}
	}
	if mapped == 0 {
		t.Error("no write is mapped, so the test shows nothing")
	}
}

// Where an error of a write may be that of an earlier one, Write is one system call at the kernel's
// offset, and no WriteAt that might have to be repeated.
func TestWrite_OnceWhereErrorsAreLate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		flag    int
		storage sys.Storage
		late    bool
	}{
		{"plain", 0, 0, false},
		{"O_SYNC", os.O_SYNC, 0, true},
		{"O_DSYNC", unix.O_DSYNC, 0, true},
		{"sync mount", 0, sys.StorageLocal | sys.StorageSync | sys.StorageNoWrites, true},
		{"remote", 0, sys.StorageRemote, true},
	} {
		path := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(path, make([]byte, 3*pageSize), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := OpenFile(path, os.O_RDWR|c.flag, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		f.storage.Store(uint32(c.storage))
		if !canMap || f.Bytes() == nil { // the File keeps the cursor from then on
			t.Skip("the file is not mapped")
		}
		at := false
		writes.Store(f, func() { at = true })
		if n, err := f.Write([]byte("once")); n != 4 || err != nil || !OwnCursor(f) {
			t.Fatalf("%s: %d, %v, own cursor %v", c.name, n, err, OwnCursor(f))
		}
		if writes.Delete(f); at == c.late {
			t.Errorf("%s: by WriteAt: %v", c.name, at)
		}
		if pos, err := f.Seek(0, 1); pos != 4 || err != nil || f.Len() != int64(3*pageSize) {
			t.Errorf("%s: the cursor is at %d, the length is %d, %v", c.name, pos, f.Len(), err)
		}
	}
}

// With WholeWrites no write is mapped, and reads are.
func TestWholeWrites_NoneMapped(t *testing.T) {
	t.Parallel()
	f, _ := mappedFile(t, 4*int64(pageSize))
	whole, err := Options{WholeWrites: true}.OpenFile(f.Name(), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { whole.Close() })
	if whole.Bytes() == nil {
		t.Fatal("the file is not mapped")
	}
	prefaultAll(whole)
	if mapsWrites(whole, func() { writeOften(t, whole, 5000) }) {
		t.Error("a write is mapped")
	}
	whole.pages.Note(pages.Ready, 0, int64(pageSize))
	b := []byte{1}
	if ok, _ := whole.load(whole.m.Load(), b, 10); !ok || b[0] != 'o' {
		t.Errorf("a read does not use the mapping, or gives %q", b)
	}
}

// A write by system call that fails has filled no hole, so its pages get no mapped writes.
func TestWriteAt_FailedFillsNoHole(t *testing.T) {
	t.Parallel()
	f, _ := mappedFile(t, 4*int64(pageSize))
	if !isPrefaulted(f, 0, pageSize) {
		t.Skip("the policy prefaults nothing")
	}
	was := f.length.Before()
	if err := f.writeAtDone(was, make([]byte, pageSize), 0, 0, syscall.ENOSPC); err != syscall.ENOSPC {
		t.Fatal(err)
	}
	if isPrefaulted(f, 0, pageSize) {
		t.Error("the page stays prefaulted")
	}
}
