//go:build unix

package mmapfile_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"testing"

	"go.dw1.io/mmapfile"
)

func TestReadAt_EmptyFileGrows(t *testing.T) {
	t.Parallel()
	for _, by := range []string{"AnotherHandle", "Itself"} {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			name := tempFile(t, nil)
			f := mustOpen(t, name)
			if b := f.Bytes(); len(b) != 0 || mmapfile.Mapped(f) {
				t.Errorf("an empty file returned %d bytes, mapped %v", len(b), mmapfile.Mapped(f))
			}
			if n, err := f.ReadAt(make([]byte, 1), 0); n != 0 || err != io.EOF {
				t.Errorf("ReadAt of an empty file: %d, %v", n, err)
			}
			var w io.WriterAt = f
			if by == "AnotherHandle" {
				other, err := os.OpenFile(name, os.O_WRONLY, 0)
				if err != nil {
					t.Fatal(err)
				}
				defer other.Close()
				w = other
			}
			want := pattern(50_000)
			got := make([]byte, len(want))
			for size := 0; size < len(want); size += 777 {
				end := min(size+777, len(want))
				if _, err := w.WriteAt(want[size:end], int64(size)); err != nil {
					t.Fatal(err)
				}
				if n, err := f.ReadAt(got, 0); n != end || end < len(got) && err != io.EOF {
					t.Fatalf("ReadAt of a file of %d bytes: %d, %v", end, n, err)
				}
				sameBytes(t, "ReadAt", got[:end], want[:end])
				b := make([]byte, 1000)
				n, err := f.Read(b) // the cursor follows the end
				if err != nil || !bytes.Equal(b[:n], want[size:end]) {
					t.Fatalf("Read of what was added: %d, %v", n, err)
				}
				if n, err := f.Read(b); n != 0 || err != io.EOF {
					t.Fatalf("Read at the end: %d, %v", n, err)
				}
				if end > 20_000 {
					mustMap(t, f)
				}
			}
		})
	}
}

func TestFile_SparseOver4GiB(t *testing.T) {
	t.Parallel()
	const size = 5 << 30
	dir := t.TempDir()
	record := func(f anyFile) (seen []string) {
		note := func(what string, n int64, err error, b []byte) {
			seen = append(seen, what+" "+strconv.FormatInt(n, 10)+" "+errorText(err, f.Name())+" "+string(b))
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
		writeFile(t, name, nil)
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
		f := mustOpen(t, name)
		if kind == "mapped" {
			if strconv.IntSize == 32 || !mmapfile.CanMap {
				continue
			}
			if mustMap(t, f); int64(f.Len()) != size {
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

func TestFile_Unmappable(t *testing.T) {
	t.Parallel()
	t.Run("Directory", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		for _, n := range []string{"a", "b", "c"} {
			writeFile(t, filepath.Join(dir, n), nil)
		}
		f, err := mmapfile.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		wantUnmappable(t, f)
		for range 40 { // enough reads to map a file
			if _, err := f.ReadAt(make([]byte, 10), 0); err == nil || err == io.EOF {
				t.Fatalf("ReadAt of a directory: %v", err)
			}
		}
		names, err := f.Readdirnames(-1)
		if slices.Sort(names); err != nil || !slices.Equal(names, []string{"a", "b", "c"}) {
			t.Errorf("Readdirnames: %v, %v", names, err)
		}
	})
	t.Run("Pipe", func(t *testing.T) {
		t.Parallel()
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		f, err := mmapfile.New(r)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		g, err := mmapfile.New(w)
		if err != nil {
			t.Fatal(err)
		}
		want := pattern(300_000)
		wantUnmappable(t, f)
		wantUnmappable(t, g)
		sent := make(chan error, 1)
		go func() {
			_, err := g.ReadFrom(bytes.NewReader(want))
			sent <- errors.Join(err, g.Close())
		}()
		got, err := io.ReadAll(f)
		if err != nil {
			t.Error(err)
		}
		sameBytes(t, "the pipe's bytes", got, want)
		if err := <-sent; err != nil {
			t.Error(err)
		}
	})
	t.Run("Proc", func(t *testing.T) {
		t.Parallel()
		if runtime.GOOS != "linux" {
			t.Skip("no /proc like Linux's")
		}
		const name = "/proc/self/mountinfo" // more than one call's worth, and Stat says 0
		f, err := mmapfile.Open(name)
		if err != nil {
			t.Skip(err)
		}
		defer f.Close()
		wantUnmappable(t, f)
		got, err := io.ReadAll(f)
		if err != nil || !bytes.Contains(got, []byte(" / ")) {
			t.Errorf("%d bytes, %v", len(got), err)
		}
	})
	t.Run("Device", func(t *testing.T) {
		t.Parallel()
		f, err := mmapfile.OpenFile("/dev/zero", os.O_RDWR, 0)
		if err != nil {
			t.Skip(err)
		}
		defer f.Close()
		wantUnmappable(t, f)
		for range 40 {
			b := []byte("not zero")
			if n, err := f.Read(b); n != len(b) || err != nil || b[0] != 0 {
				t.Fatalf("Read of /dev/zero: %d, %v, %q", n, err, b)
			}
			if n, err := f.Write(b); n != len(b) || err != nil {
				t.Fatalf("Write to /dev/zero: %d, %v", n, err)
			}
		}
	})
}

// wantUnmappable checks that f, which cannot be mapped, exposes no memory.
func wantUnmappable(t *testing.T, f *mmapfile.File) {
	t.Helper()
	if b := f.Bytes(); b != nil {
		t.Errorf("Bytes has %d bytes", len(b))
	}
	called := false
	if err := f.View(0, 1, func([]byte) error { called = true; return nil }); err == nil || called {
		t.Errorf("View: %v, called: %v", err, called)
	}
	if mmapfile.Mapped(f) {
		t.Error("it is mapped")
	}
}

func init() {
	children["write"] = childWrite
}

const killedSize = 500_000

// killedWrites makes every kind of write on f. If exposed, it also writes into exposed memory.
func killedWrites(f *mmapfile.File, exposed bool) error {
	b := pattern(killedSize)
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
	if err := killedWrites(f, mmapfile.CanMap); err != nil {
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
	writeFile(t, mine, pattern(killedSize))
	writeFile(t, childs, pattern(killedSize))
	cmd := childCommand(t, nil, "write", childs)
	cmd.Stderr = os.Stderr
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	startChild(t, cmd)
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
	f := mustOpen(t, mine)
	if err := killedWrites(f, mmapfile.CanMap); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	want := readFile(t, mine)
	if len(want) != killedSize+10_006 || want[200_000] != patternByte(200_000)^0x80 {
		t.Fatal("the writes are not in the file even without a kill")
	}
	sameBytes(t, "the killed process's file", readFile(t, childs), want)
}
