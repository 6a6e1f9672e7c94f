//go:build unix

package mmapfile_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"go.dw1.io/mmapfile"
)

func init() {
	ftChildren["write"] = ftChildWrite
}

const ftKilledSize = 500_000

// ftKilledWrites makes every kind of write on f; stores through lent memory too if f lends it.
func ftKilledWrites(f *mmapfile.File, stores bool) error {
	b := ftPattern(ftKilledSize)
	for i := range b {
		b[i] ^= 0x80
	}
	write := func(n int, off int64) error {
		_, err := f.WriteAt(b[off:off+int64(n)], off)
		return err
	}
	if err := write(300, 7); err != nil { // cold: before anything is mapped
		return err
	}
	if stores && f.Bytes() == nil {
		return fmt.Errorf("the file does not map")
	}
	for _, off := range []int64{1000, 70_000, 140_001, 499_000} {
		if err := write(1000, off); err != nil {
			return err
		}
	}
	for i := range 500 { // hot: the same pages again and again
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
	if _, err := f.WriteAt([]byte("beyond"), ftKilledSize+10_000); err != nil {
		return err
	}
	if !stores {
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

func ftChildWrite(args []string) error {
	f, err := mmapfile.OpenFile(args[0], os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err := ftKilledWrites(f, mmapfile.CanMap); err != nil {
		return err
	}
	fmt.Println("written")
	_, err = io.Copy(io.Discard, os.Stdin) // until killed
	return err
}

func TestWritesOfAKilledProcessAreInTheFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	mine, childs := filepath.Join(dir, "mine"), filepath.Join(dir, "childs")
	ftPut(t, mine, ftPattern(ftKilledSize))
	ftPut(t, childs, ftPattern(ftKilledSize))
	cmd := ftChild(t, nil, "write", childs)
	cmd.Stderr = os.Stderr
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	ftStart(t, cmd)
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "written\n" {
		t.Fatalf("the child said %q, %v", line, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("the child ended of itself")
	}
	// The same writes in this process, closed as it should be.
	f := ftOpen(t, mine)
	if err := ftKilledWrites(f, mmapfile.CanMap); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	want := ftGet(t, mine)
	if len(want) != ftKilledSize+10_006 || want[200_000] != ftByte(200_000)^0x80 {
		t.Fatal("the writes are not in the file even without a kill")
	}
	ftSame(t, "the killed process's file", ftGet(t, childs), want)
}
