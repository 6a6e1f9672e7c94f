package copies_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"go.dw1.io/mmapfile/internal/copies"
	"go.dw1.io/mmapfile/internal/filetest"
)

// What is stored into the copy is in the file after WriteBack, and nothing else is written: what other
// programs have written stays, and is in the copy after Refresh.
func TestCopies_Model(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		want := make([]byte, 1+r.IntN(200_000))
		for i := range want {
			want[i] = byte(r.IntN(256))
		}
		file, err := os.OpenFile(filepath.Join(filetest.Dir(t), "file"), os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		write := func(b []byte, off int64) {
			if _, err := file.WriteAt(b, off); err != nil {
				t.Fatal(err)
			}
			copy(want[off:], b)
		}
		write(want, 0)
		c := copies.New(file, os.O_RDWR)
		p := c.Bytes(len(want))
		ours := map[int]byte{} // stored, and not written back
		for range 30 {
			off := r.Int64N(int64(len(want)))
			b := make([]byte, min(int64(1+r.IntN(300)), int64(len(want))-off))
			for i := range b {
				b[i] = byte(r.IntN(3)) // often what is there
			}
			switch r.IntN(4) {
			case 0:
				for i, x := range b {
					if p[off+int64(i)] != x {
						p[off+int64(i)] = x
						ours[int(off)+i] = x
					}
				}
			case 1: // another program, which writes nothing that is stored here
				if err := c.WriteBack(0, -1); err != nil {
					t.Fatal(err)
				}
				for i, x := range ours {
					want[i] = x
				}
				clear(ours)
				write(b, off)
				c.Refresh(nil, 0)
			case 2: // this program, by system call
				if err := c.WriteBack(off, len(b)); err != nil {
					t.Fatal(err)
				}
				for i := range b {
					if x, ok := ours[int(off)+i]; ok {
						want[int(off)+i] = x
						delete(ours, int(off)+i)
					}
				}
				write(b, off)
				c.Refresh(b, off)
			case 3:
				c.Refresh(nil, 0)
			}
			got, err := os.ReadFile(file.Name())
			if err != nil || !bytes.Equal(got, want) {
				t.Fatalf("seed %d: the file has what was not written back, or lost what was (%v)", seed, err)
			}
			shown := bytes.Clone(want)
			for i, x := range ours {
				shown[i] = x
			}
			if !bytes.Equal(p, shown) {
				t.Fatalf("seed %d: the copy has neither what was stored nor what is in the file", seed)
			}
		}
		file.Close()
	}
}

// What is stored into one copy is in the others once it is in the file.
func TestCopies_TwoOfThem(t *testing.T) {
	t.Parallel()
	file := newFile(t, 100)
	c := copies.New(file, os.O_RDWR)
	short := c.Bytes(100)
	if _, err := file.WriteAt([]byte{0}, 999); err != nil {
		t.Fatal(err)
	}
	long := c.Bytes(1000)
	long[5], short[6] = 9, 8
	if err := c.WriteBack(0, -1); err != nil || short[5] != 9 || long[6] != 8 {
		t.Errorf("%d and %d, %v", short[5], long[6], err)
	}
}

// A store beside a write-back stays, also one that brings back what was there before.
func TestCopies_StoreBesideWriteBack(t *testing.T) {
	t.Parallel()
	c := copies.New(newFile(t, 100), os.O_RDWR)
	p := c.Bytes(100)
	var stop atomic.Bool
	var flushing sync.WaitGroup
	flushing.Go(func() {
		for !stop.Load() {
			_ = c.WriteBack(0, -1)
		}
	})
	for i := range 200_000 {
		p[5] = byte(i & 1)
		for range i % 300 { // so that it meets each step of a write-back
		}
		if stored(p) != byte(i&1) {
			t.Errorf("store %d is lost", i)
			break
		}
	}
	stop.Store(true)
	flushing.Wait()
}

//go:noinline
func stored(p []byte) byte { return p[5] }

func newFile(t *testing.T, n int) *os.File {
	t.Helper()
	file, err := os.OpenFile(filepath.Join(filetest.Dir(t), "file"), os.O_RDWR|os.O_CREATE, 0o600)
	if err == nil {
		_, err = file.WriteAt(make([]byte, n), 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return file
}
