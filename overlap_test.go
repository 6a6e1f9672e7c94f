package mmapfile_test

import (
	"bytes"
	"io"
	"math"
	"os"
	"runtime"
	"sync"
	"testing"

	"go.dw1.io/mmapfile"
)

// What two goroutines write to the same place is what one of them wrote.
func TestOverlappingWritesDoNotMix(t *testing.T) {
	t.Parallel()
	rounds := 3000
	if testing.Short() || mmapfile.RaceDetector {
		rounds = 300
	}
	const size = 100_000 // more than one of the regions that take turns
	f := ftOpen(t, ftTemp(t, bytes.Repeat([]byte{'A'}, 2*size)))
	one, other := bytes.Repeat([]byte{'A'}, size), bytes.Repeat([]byte{'B'}, size)
	ftHeat(t, f, bytes.Repeat([]byte{'A'}, 2*size))
	for round := range rounds {
		var writers sync.WaitGroup
		for _, b := range [][]byte{one, other} {
			writers.Add(1)
			go func() {
				defer writers.Done()
				if n, err := f.WriteAt(b, 10); n != size || err != nil {
					t.Errorf("WriteAt: %d, %v", n, err)
				}
			}()
		}
		writers.Wait()
		got := make([]byte, size)
		if _, err := f.ReadAt(got, 10); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, one) && !bytes.Equal(got, other) {
			t.Fatalf("round %d: a mixture of both", round)
		}
	}
}

// A store that meets a truncation by somebody else must leave nothing behind the end.
func TestStoreThatRacedATruncationIsNotReadBehindTheEnd(t *testing.T) {
	t.Parallel()
	const size = 8 << 20
	name := ftTemp(t, ftPattern(size))
	f := ftOpen(t, name)
	data := bytes.Repeat([]byte{'w'}, size)
	for range 8 {
		if _, err := f.WriteAt(data, 0); err != nil {
			t.Fatal(err)
		}
	}
	for round := range 30 {
		if _, err := f.WriteAt(data, 0); err != nil {
			t.Fatal(err)
		}
		done := make(chan error)
		go func() {
			_, err := f.WriteAt(data, 0)
			done <- err
		}()
		if err := os.Truncate(name, size-100); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		fi, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		n, _ := f.ReadAt(make([]byte, 50), size-60)
		if want := min(50, max(0, fi.Size()-(size-60))); int64(n) != want {
			t.Fatalf("round %d: the file has %d bytes, and ReadAt gives %d behind %d", round, fi.Size(), n, size-60)
		}
	}
}

// What View's function stores behind an end that somebody moved is not taken for the file's.
func TestStoreInViewBehindAMovedEndIsNotRead(t *testing.T) {
	t.Parallel()
	ftCanCut(t)
	name := ftTemp(t, ftPattern(8192))
	f := ftOpen(t, name)
	err := f.View(0, 4096, func(p []byte) error {
		if err := os.Truncate(name, 100); err != nil {
			return err
		}
		copy(p[200:], "ghost")
		return nil
	})
	if mmapfile.CanMap && err != nil {
		t.Fatal(err)
	}
	if n, err := f.ReadAt(make([]byte, 5), 200); n != 0 || err != io.EOF {
		t.Errorf("ReadAt behind the end: %d, %v", n, err)
	}
	if n, err := f.WriteAt([]byte("after"), 200); n != 5 || err != nil {
		t.Errorf("WriteAt behind the end: %d, %v", n, err)
	}
	if got := ftGet(t, name); len(got) != 205 || string(got[200:]) != "after" {
		t.Errorf("the file has %d bytes", len(got))
	}
}

// An open that asks for too much is not to undo what others append meanwhile.
func TestSizedOpenThatFailsLeavesAppendsAlone(t *testing.T) {
	t.Parallel()
	name := ftTemp(t, ftPattern(100))
	before, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	open := func() {
		t.Helper()
		if f, err := mmapfile.OpenFile(name, os.O_RDWR, 0, math.MaxInt64-1); err == nil {
			f.Close()
			t.Fatal("there was room for 2^63 bytes")
		}
	}
	open()
	if fi, err := os.Stat(name); err != nil || mmapfile.CanMap && !fi.ModTime().Equal(before.ModTime()) {
		t.Errorf("the time moved from %v to %v: %v", before.ModTime(), fi.ModTime(), err)
	}
	if runtime.GOOS != "linux" { // elsewhere the length is tried out, see writeZeros
		return
	}
	w, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	done := make(chan int64)
	stop := make(chan bool)
	go func() {
		written := int64(100)
		for {
			select {
			case <-stop:
				done <- written
				return
			default:
				n, _ := w.Write([]byte("line\n"))
				written += int64(n)
			}
		}
	}()
	for range 500 {
		open()
	}
	close(stop)
	if want := <-done; int64(len(ftGet(t, name))) != want {
		t.Errorf("the file has %d bytes of %d", len(ftGet(t, name)), want)
	}
}

// A write beside a truncation of the same File comes before it or after it, as a whole.
func TestTruncate_BesideWriteAt(t *testing.T) {
	t.Parallel()
	rounds := 6000
	if testing.Short() || mmapfile.RaceDetector {
		rounds = 600
	}
	const size, off, n, cut = 100_000, 1000, 60_000, 30_500
	name := ftTemp(t, nil)
	f := ftOpen(t, name)
	old, b := bytes.Repeat([]byte{'A'}, size), bytes.Repeat([]byte{'B'}, n)
	stored := 0
	for round := range rounds {
		if err := f.Truncate(size); err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt(old, 0); err != nil {
			t.Fatal(err)
		}
		ftMap(t, f)
		mmapfile.MakeReady(f)
		if _, err := f.WriteAt(old, 0); err != nil {
			t.Fatal(err)
		}
		if mmapfile.Stored(f) {
			stored++
		}
		var both sync.WaitGroup
		both.Go(func() {
			for range round % 50 {
				runtime.Gosched() // at another place of the write each time
			}
			for _, size := range []int64{cut, size} {
				if err := f.Truncate(size); err != nil {
					t.Error(err)
				}
			}
		})
		both.Go(func() {
			if k, err := f.WriteAt(b, off); k != n || err != nil {
				t.Errorf("WriteAt: %d, %v", k, err)
			}
		})
		both.Wait()
		if k := bytes.Count(ftGet(t, name), b[:1]); k != n && k != cut-off {
			t.Fatalf("round %d: of %d bytes that were written %d are left, and %d come before the cut", round, n, k, cut-off)
		}
	}
	if mmapfile.MapsUnasked && stored < rounds/2 {
		t.Errorf("only %d of %d rounds with mapped writes", stored, rounds)
	}
}

// A length that was true once is not to be allocated.
func TestWriteToBufferAfterTruncationTakesWhatThereIs(t *testing.T) {
	t.Parallel()
	name := ftTemp(t, ftPattern(100))
	if err := os.Truncate(name, 1<<40); err != nil {
		t.Skip("no file of a terabyte here: ", err)
	}
	f := ftOpen(t, name)
	for range 40 {
		if _, err := f.ReadAt(make([]byte, 10), 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Truncate(name, 100); err != nil {
		t.Fatal(err)
	}
	var buf bytes.Buffer
	if n, err := f.WriteTo(&buf); n != 100 || err != nil || !bytes.Equal(buf.Bytes(), ftPattern(100)) {
		t.Errorf("WriteTo: %d, %v", n, err)
	}
}

func TestSyncAfterBytesWasChangedBehindAMovedEndGivesNothingBack(t *testing.T) {
	t.Parallel()
	ftCanCut(t)
	name := ftTemp(t, ftPattern(8192))
	f := ftOpen(t, name)
	b := f.Bytes()
	if b == nil {
		t.Fatal("no Bytes")
	}
	if mmapfile.CanMap {
		b[90]++ // the page of 5000 will be gone
	} else {
		b[5000]++
	}
	if err := os.Truncate(name, 100); err != nil {
		t.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		t.Error(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if got := ftGet(t, name); len(got) != 100 {
		t.Errorf("the file has %d bytes", len(got))
	}
}
