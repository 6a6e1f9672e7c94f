package ostest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/filetest"
)

// failWriteBack has the system lose data of the file name, and leaves a device that works. The error
// is reported once to each file that is open now.
func failWriteBack(t *testing.T, d *filetest.ThinDisk, name string) {
	t.Helper()
	w, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	d.Fill(0)
	if _, err = w.WriteAt(make([]byte, 1<<20), 8<<20); err == nil {
		err = w.Sync()
	}
	if err == nil {
		t.Skip("the device takes what it has no room for")
	}
	d.Free()
}

// A write that is durable when it returns reports a failed write-back of the past, once. Then no
// write is repeated, which would succeed and hide it. Others leave it to Sync.
func TestWrite_ErrorOfEarlierWriteBack(t *testing.T) {
	d := filetest.NewThinDisk(t, "ext4", "4096")
	const syncAttr = 0x8 // FS_SYNC_FL in linux/fs.h
	for i, c := range []struct {
		name string
		flag int
		attr uint32
	}{
		{"plain", 0, 0}, {"O_SYNC", os.O_SYNC, 0}, {"O_DSYNC", unix.O_DSYNC, 0}, {"chattr +S", 0, syncAttr},
	} {
		var results [3]string
		for kind := range results {
			name := filepath.Join(d.Dir, fmt.Sprint("file", i, kind))
			filetest.Write(t, name, filetest.Pattern(64<<10))
			inner, err := os.OpenFile(name, os.O_RDWR|c.flag, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer inner.Close()
			if c.attr != 0 {
				attr, err := unix.IoctlGetUint32(int(inner.Fd()), unix.FS_IOC_GETFLAGS)
				if err == nil {
					err = unix.IoctlSetPointerInt(int(inner.Fd()), unix.FS_IOC_SETFLAGS, int(attr|c.attr))
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			f := filetest.File(inner)
			if kind > 0 {
				m := filetest.OpenFile(t, name, os.O_RDWR|c.flag)
				if filetest.Map(t, m); kind == 2 {
					filetest.PrefaultWrites(t, m, filetest.Pattern(8<<10))
				}
				f = m
			}
			if _, err := f.Seek(100, io.SeekStart); err != nil {
				t.Fatal(err)
			}
			failWriteBack(t, d, name)
			n, err := f.Write([]byte("record"))
			pos, _ := f.Seek(0, io.SeekCurrent)
			serr := f.Sync()
			again := f.Sync()
			results[kind] = fmt.Sprint(n, " ", filetest.ErrorText(err, name), " at ", pos, ", then Sync: ", filetest.ErrorText(serr, name), " ", filetest.ErrorText(again, name))
			if wantErr := c.name != "plain"; kind == 0 && (err != nil) != wantErr {
				t.Skipf("%s: os.File.Write returned %v", c.name, err)
			}
		}
		for kind := 1; kind < len(results); kind++ {
			if results[kind] != results[0] {
				t.Errorf("%s, kind %d: got  %s\nwant %s", c.name, kind, results[kind], results[0])
			}
		}
	}
}

// SyncRange reports that the system could not write back what was stored.
func TestSyncRange_FailedWriteBack(t *testing.T) {
	d := filetest.NewThinDisk(t, "ext4", "4096")
	name := filepath.Join(d.Dir, "file")
	f, err := mmapfile.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600, 1<<20) // with blocks that the device does not have yet
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := f.Bytes()
	if b == nil {
		t.Skip("nothing is mapped here")
	}
	d.Fill(0)
	defer d.Free()
	for i := range b {
		b[i] = 1
	}
	if err := f.SyncRange(0, 1<<20); err == nil {
		t.Error("SyncRange reports no error")
	} else if pe := (*fs.PathError)(nil); !errors.As(err, &pe) || pe.Op != "sync" || pe.Path != name {
		t.Error(err)
	}
}

// A write that fails to become durable has made the file longer all the same.
func TestLen_AfterFailedSyncWrite(t *testing.T) {
	d := filetest.NewThinDisk(t, "ext4", "4096")
	for name, open := range map[string]func(name string) (*mmapfile.File, error){
		"OpenFile": func(name string) (*mmapfile.File, error) {
			return mmapfile.OpenFile(name, os.O_RDWR|os.O_SYNC, 0)
		},
		"New": func(name string) (*mmapfile.File, error) {
			inner, err := os.OpenFile(name, os.O_RDWR|os.O_SYNC, 0)
			if err != nil {
				return nil, err
			}
			return mmapfile.New(inner)
		},
	} {
		for _, way := range []string{"Write", "WriteAt"} {
			path := filepath.Join(d.Dir, name+way)
			filetest.Write(t, path, filetest.Pattern(5000))
			f, err := open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			filetest.Map(t, f)
			if _, err := f.Seek(0, io.SeekEnd); err != nil {
				t.Fatal(err)
			}
			if f.Len() != 5000 {
				t.Fatal(f.Len())
			}
			d.Fill(0)
			b := make([]byte, 1<<20)
			if way == "Write" {
				_, err = f.Write(b)
			} else {
				_, err = f.WriteAt(b, 5000)
			}
			size := f.Len()
			d.Free()
			if !errors.Is(err, syscall.EIO) && !errors.Is(err, syscall.ENOSPC) {
				t.Skipf("%s, %s: the write returned %v", name, way, err)
			}
			if fi, err := os.Stat(path); err != nil || size != fi.Size() {
				t.Errorf("%s, %s: Len is %d, and the file has %d: %v", name, way, size, fi.Size(), err)
			}
		}
	}
}
