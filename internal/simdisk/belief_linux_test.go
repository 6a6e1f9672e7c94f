package simdisk_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"go.dw1.io/mmapfile/internal/filetest"
	"go.dw1.io/mmapfile/internal/logdisk"
	"go.dw1.io/mmapfile/internal/pages"
	"go.dw1.io/mmapfile/internal/simdisk"
)

const page = 4096

// story does to a disk what logs do, with a flush that fails, and tells what it sees.
func story(t *testing.T, dir string, fill, free func(), pin func(name string) (unpin func())) (told []string) {
	t.Helper()
	tell := func(format string, args ...any) { told = append(told, fmt.Sprintf(format, args...)) }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	class := func(err error) string {
		switch {
		case err == nil:
			return "nil"
		case errors.Is(err, syscall.EIO):
			return "EIO"
		case errors.Is(err, syscall.ENOSPC): // of the device under the file system
			return "EIO"
		}
		return err.Error()
	}
	name := filepath.Join(dir, "file")
	open := func() logdisk.File {
		f, err := logdisk.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o666)
		must(err)
		return f
	}
	fillPage := func(f logdisk.File, i int64, c byte) {
		_, err := f.WriteAt([]byte(strings.Repeat(string(c), page)), i*page)
		must(err)
	}
	see := func(when string, f interface {
		ReadAt(p []byte, off int64) (int, error)
	}) {
		b := make([]byte, 4)
		for i := range int64(4) {
			n, err := f.ReadAt(b[:1], i*page)
			tell("%s: page %d is %q, %d, %v", when, i, b[:n], n, err)
		}
	}
	f := open()
	other := open() // has the file open while the flush fails
	must(f.Allocate(0, 4*page))
	fillPage(f, 0, 'a')
	must(f.Flush())
	must(logdisk.SyncDir(dir))
	fill()
	for i := range int64(3) {
		fillPage(f, i+1, 'b')
	}
	unpin := pin(name)
	tell("the flush that fails: %s", class(f.FlushData()))
	tell("the next one: %s", class(f.FlushData()))
	tell("of another open file: %s", class(other.FlushData()))
	tell("and once more: %s", class(other.FlushData()))
	late := open()
	tell("of one that is opened later: %s", class(late.FlushData()))
	see("after the failure", f)
	free()
	tell("with room again: %s", class(f.FlushData()))
	see("with room again", f)
	must(other.Close())
	must(late.Close())
	unpin()
	s, err := f.Stored()
	if tell("Stored: %v, %v", s != nil, err); s != nil {
		see("as the disk has it", s)
		must(s.Close())
	}
	see("after its pages were dropped", f)
	fillPage(f, 1, 'c')
	must(f.FlushData())
	s, err = f.Stored()
	must(err)
	if s != nil {
		must(s.Close())
	}
	see("written again", f)
	must(f.Truncate(page + 10))
	must(f.Allocate(page+10, 3*page))
	see("truncated and made longer", f)
	must(f.Close())
	return told
}

// The simulated disk does what an ext4 does whose device fails.
func TestBelief_Ext4(t *testing.T) {
	if pages.Eager {
		t.Skip("the files are mapped by calls, so their pages cannot be dropped")
	}
	d := filetest.NewThinDisk(t, "ext4", "4096")
	real := story(t, d.Dir, func() { d.Fill(0) }, d.Free, d.Pin)
	w := simdisk.New(1)
	defer w.Release()
	w.MkdirDurable("simulated")
	defer logdisk.Mount("/simulated", w)()
	defer logdisk.Simulate(w)()
	var simulated []string
	w.Start().Do(func() {
		simulated = story(t, "/simulated", func() { w.Fails[simdisk.FailFlush] = 256; w.LoseAll = true }, func() { clear(w.Fails) }, func(string) func() { return func() {} })
	})
	if !slices.Equal(real, simulated) {
		for i := range max(len(real), len(simulated)) {
			a, b := "", ""
			if i < len(real) {
				a = real[i]
			}
			if i < len(simulated) {
				b = simulated[i]
			}
			if a != b {
				t.Errorf("ext4:      %s\nsimulated: %s", a, b)
			}
		}
	}
}
