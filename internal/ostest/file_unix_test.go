//go:build unix

package ostest

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/filetest"
)

func TestFile_SparseOver4GiB(t *testing.T) {
	t.Parallel()
	const size = 5 << 30
	dir := t.TempDir()
	record := func(f filetest.File) (seen []string) {
		note := func(what string, n int64, err error, b []byte) {
			seen = append(seen, what+" "+strconv.FormatInt(n, 10)+" "+filetest.ErrorText(err, f.Name())+" "+string(b))
		}
		b := make([]byte, 64)
		for _, off := range []int64{0, 1<<31 - 10, 1 << 31, 1<<32 - 7, 1 << 32, size - 64, size - 10, size, size + 5} {
			n, err := f.ReadAt(b, off)
			note("ReadAt", int64(n), err, b[:n])
			n, err = f.WriteAt([]byte("far out"), off)
			note("WriteAt", int64(n), err, nil)
			n, err = f.ReadAt(b, off)
			note("ReadAt", int64(n), err, b[:n])
		}
		pos, err := f.Seek(0, io.SeekEnd)
		note("Seek", pos, err, nil)
		pos, err = f.Seek(-100, io.SeekCurrent)
		note("Seek", pos, err, nil)
		n, err := f.Read(b)
		note("Read", int64(n), err, b[:n])
		n, err = f.Write([]byte("and further"))
		note("Write", int64(n), err, nil)
		var to bytes.Buffer
		m, err := f.WriteTo(&to)
		note("WriteTo", m, err, to.Bytes())
		fi, err := f.Stat()
		note("Stat", fi.Size(), err, nil)
		note("Truncate", 0, f.Truncate(size-3), nil)
		n, err = f.ReadAt(b, size-20)
		note("ReadAt", int64(n), err, b[:n])
		return seen
	}
	var want []string
	for _, kind := range []string{"os", "mmapfile", "mapped"} {
		name := filepath.Join(dir, kind)
		filetest.Write(t, name, nil)
		if err := os.Truncate(name, size); err != nil {
			t.Skip("no sparse files here: ", err)
		}
		if kind == "os" {
			f, err := os.OpenFile(name, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			want = record(f)
			_ = f.Close()
			continue
		}
		f := filetest.Open(t, name)
		if kind == "mapped" {
			if strconv.IntSize == 32 || !filetest.CanMap {
				continue
			}
			if filetest.Map(t, f); f.Len() != size {
				t.Errorf("Len is %d", f.Len())
			}
		}
		if got := record(f); !slices.Equal(got, want) {
			for i := range want {
				if got[i] != want[i] {
					t.Errorf("%s: got %q, want %q", kind, got[i], want[i])
				}
			}
		}
		_ = f.Close()
	}
}

func init() {
	filetest.Children["write"] = childWrite
}

const killedSize = 500_000

// killedWrites makes every kind of write on f. If exposed, it also writes into exposed memory.
func killedWrites(f *mmapfile.File, exposed bool) error {
	b := filetest.Pattern(killedSize)
	for i := range b {
		b[i] ^= 0x80
	}
	write := func(n int, off int64) error {
		_, err := f.WriteAt(b[off:off+int64(n)], off)
		return err
	}
	if err := write(300, 7); err != nil { // before anything is mapped
		return err
	}
	if exposed && f.Bytes() == nil {
		return fmt.Errorf("the file is not mapped")
	}
	for _, off := range []int64{1000, 70_000, 140_001, 499_000} {
		if err := write(1000, off); err != nil {
			return err
		}
	}
	for i := range 500 { // the same pages again and again, until writes are mapped
		if err := write(64, int64(200_000+i)); err != nil {
			return err
		}
	}
	if _, err := f.Seek(300_000, io.SeekStart); err != nil {
		return err
	}
	for i := range 500 {
		if _, err := f.Write(b[300_000+40*i:][:40]); err != nil {
			return err
		}
	}
	if _, err := f.WriteAt([]byte("beyond"), killedSize+10_000); err != nil {
		return err
	}
	if !exposed {
		return nil
	}
	p := f.Bytes()
	copy(p[400_000:400_100], b[400_000:400_100])
	p[450_000] = 1
	return f.View(460_000, 10, func(p []byte) error {
		copy(p, "0123456789")
		return nil
	})
}

func childWrite(args []string) error {
	f, err := mmapfile.OpenFile(args[0], os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err := killedWrites(f, filetest.CanMap); err != nil {
		return err
	}
	fmt.Println("written")
	_, err = io.Copy(io.Discard, os.Stdin) // until killed
	return err
}

func TestWrite_KilledProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	mine, childs := filepath.Join(dir, "mine"), filepath.Join(dir, "childs")
	filetest.Write(t, mine, filetest.Pattern(killedSize))
	filetest.Write(t, childs, filetest.Pattern(killedSize))
	cmd := filetest.ChildCommand(t, nil, "write", childs)
	cmd.Stderr = os.Stderr
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	filetest.StartChild(t, cmd)
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "written\n" {
		t.Fatalf("the child said %q, %v", line, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("the child ended before it was killed")
	}
	// The same writes in this process, with Close.
	f := filetest.Open(t, mine)
	if err := killedWrites(f, filetest.CanMap); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	want := filetest.Read(t, mine)
	if len(want) != killedSize+10_006 || want[200_000] != filetest.PatternByte(200_000)^0x80 {
		t.Fatal("the writes are not in the file even without a kill")
	}
	filetest.SameBytes(t, "the killed process's file", filetest.Read(t, childs), want)
}
