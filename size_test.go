package mmapfile_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/filetest"
)

func TestLen_OwnCalls(t *testing.T) {
	for _, early := range []bool{false, true} {
		path := filetest.Temp(t, filetest.PatternWithZeros(100))
		f := filetest.Open(t, path)
		if early {
			f.Bytes()
		}
		want := func(n int, after string) {
			t.Helper()
			if got := f.Len(); got != n {
				t.Errorf("early %v: Len is %d after %s, want %d", early, got, after, n)
			}
		}
		want(100, "opening")
		f.WriteAt([]byte("xyz"), 150)
		want(153, "WriteAt")
		f.Truncate(20)
		want(20, "Truncate")
		f.Seek(0, io.SeekEnd)
		f.WriteString("more")
		want(24, "WriteString")
		f.ReadFrom(bytes.NewReader(filetest.PatternWithZeros(3 * page)))
		want(24+int(3*page), "ReadFrom")
		f.Truncate(0)
		want(0, "Truncate to nothing")
		f.Close()

		f = filetest.OpenFile(t, path, os.O_RDWR|os.O_APPEND)
		f.WriteString("some")
		if early {
			f.Bytes()
		}
		want(4, "the first append")
		f.WriteString("more")
		want(8, "an append")
		src, err := os.Open(filetest.Temp(t, filetest.PatternWithZeros(50)))
		if err != nil {
			t.Fatal(err)
		}
		defer src.Close()
		f.ReadFrom(src)
		want(58, "an append of a file")
		g := filetest.Open(t, path)
		if early {
			g.Bytes()
		}
		g.Len()
		g.Seek(0, io.SeekEnd)
		src.Seek(0, io.SeekStart)
		io.Copy(g, src)
		if g.Len() != 108 {
			t.Errorf("early %v: Len is %d after a copy by the kernel, want 108", early, g.Len())
		}
	}
	var none *mmapfile.File
	if none.Len() != 0 || none.Bytes() != nil {
		t.Error("a nil File has a length or bytes")
	}
}

// What a call has asked before a truncation and learns after a write does not change Len.
func TestLen_LateAnswer(t *testing.T) {
	t.Parallel()
	const size = 10_000
	name := filetest.Temp(t, filetest.Pattern(size))
	f := filetest.Open(t, name)
	for _, foreign := range []bool{false, true} {
		for _, answer := range []int64{size, size / 2, size / 3} {
			mmapfile.LearnLate(f, answer, func() {
				truncate := f.Truncate
				if foreign {
					truncate = func(size int64) error { return os.Truncate(name, size) }
				}
				_, err := f.WriteAt(make([]byte, size), 0)
				err = errors.Join(err, truncate(size/2))
				if fi, serr := f.Stat(); serr != nil || fi.Size() != size/2 {
					t.Fatalf("Stat: %v, %v", fi, serr)
				}
				if _, werr := f.WriteAt(make([]byte, size/2), size/2); err != nil || werr != nil {
					t.Fatal(err, werr)
				}
			})
			if n := f.Len(); n != size {
				t.Errorf("foreign %v: Len is %d after the answer %d, want %d", foreign, n, answer, size)
			}
		}
	}
}

// Len is the size of the file, whether the write or the truncation came last.
func TestLen_WriteBesideTruncate(t *testing.T) {
	filetest.NeedThreads(t)
	t.Parallel()
	for _, mapped := range []bool{false, true} {
		name := filetest.Temp(t, filetest.Pattern(10_000))
		f := filetest.Open(t, name)
		if mapped {
			mustMap(t, f)
		}
		for round := range filetest.Iterations(4000) {
			size := int64(1000 + round%1000)
			filetest.Together(t, 3, func(i int) error {
				switch i {
				case 0:
					_, err := f.WriteAt([]byte("beyond the end"), 5000+size)
					return err
				case 1:
					return f.Truncate(size)
				}
				_, err := f.ReadAt(make([]byte, 10_000), 0)
				if err == io.EOF {
					err = nil
				}
				return err
			})
			fi, err := f.Stat()
			if err != nil {
				t.Fatal(err)
			}
			if n := f.Len(); int64(n) != fi.Size() {
				t.Fatalf("round %d: Len is %d, the file's size %d", round, n, fi.Size())
			}
			want := filetest.Read(t, name)
			got := make([]byte, 10_000)
			n, err := f.ReadAt(got, 0)
			if n != len(want) || err != io.EOF {
				t.Fatalf("round %d: ReadAt returned %d, %v, of %d", round, n, err, len(want))
			}
			if filetest.SameBytes(t, "ReadAt", got[:n], want); t.Failed() {
				return
			}
		}
	}
}

// One goroutine truncates and extends the File, and sees the exact size. The others read.
func TestTruncate_BesideReads(t *testing.T) {
	filetest.NeedThreads(t)
	t.Parallel()
	const size = 100_000
	whole := filetest.Pattern(size)
	name := filetest.Temp(t, whole)
	f := mustOpenMapped(t, name)
	var stop atomic.Bool
	filetest.Together(t, 5, func(i int) error {
		r := rand.New(rand.NewPCG(uint64(i), 3))
		b := make([]byte, size+100)
		if i == 0 {
			defer stop.Store(true)
			rounds := filetest.Iterations(2000)
			if runtime.GOOS == "windows" {
				rounds = 100 // each keeps one more range, because slices of Bytes stay valid
			}
			return truncateAndExtend(f, r, whole, rounds)
		}
		for filetest.KeepGoing(&stop) {
			off := r.Int64N(size)
			switch i {
			case 1: // up to the end
				n, err := f.ReadAt(b, off)
				if err := errors.Join(filetest.CheckReadResult(n, len(b), err), filetest.CheckOldOrZero(b[:n], off)); err != nil {
					return err
				}
			case 2:
				n, err := f.ReadAt(b[:200], off)
				if err := errors.Join(filetest.CheckReadResult(n, 200, err), filetest.CheckOldOrZero(b[:n], off)); err != nil {
					return err
				}
			case 3:
				if filetest.Emulator != "" {
					return nil // the fault address may be wrong, and the page may exist again by now
				}
				var bad error
				_ = f.View(off, 100, func(p []byte) error { bad = filetest.CheckOldOrZero(p, off); return nil })
				if bad != nil {
					return bad
				}
			case 4:
				if mmapfile.CanMap {
					if n := len(f.Bytes()); n > size+100 {
						return fmt.Errorf("Bytes has %d bytes", n)
					}
				}
				if _, err := f.Seek(off, io.SeekStart); err != nil {
					return err
				}
				n, err := f.Read(b[:300])
				if err != nil && err != io.EOF {
					return err
				}
				if err := filetest.CheckOldOrZero(b[:n], off); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// truncateAndExtend truncates and extends f, and checks its size and content each time.
func truncateAndExtend(f *mmapfile.File, r *rand.Rand, whole []byte, rounds int) error {
	b := make([]byte, len(whole)+1)
	for round := range rounds {
		cut := r.Int64N(int64(len(whole)))
		if err := f.Truncate(cut); err != nil {
			return err
		}
		if n := f.Len(); int64(n) != cut {
			return fmt.Errorf("round %d: Len is %d after Truncate(%d)", round, n, cut)
		}
		if fi, err := f.Stat(); err != nil || fi.Size() != cut {
			return fmt.Errorf("round %d: Stat returned %d after Truncate(%d), %w", round, fi.Size(), cut, err)
		}
		off := max(0, cut-10)
		if n, err := f.ReadAt(b[:100], off); int64(n) != cut-off || err != io.EOF {
			return fmt.Errorf("round %d: ReadAt returned %d, %w, 10 bytes before the end", round, n, err)
		}
		if n, err := f.ReadAt(b[:1], cut); n != 0 || err != io.EOF {
			return fmt.Errorf("round %d: ReadAt returned %d, %w at the end", round, n, err)
		}
		if round%2 == 0 {
			if err := f.Truncate(int64(len(whole))); err != nil {
				return err
			}
			n, err := f.ReadAt(b, cut)
			if n != len(whole)-int(cut) || err != io.EOF || len(bytes.Trim(b[:n], "\x00")) != 0 {
				return fmt.Errorf("round %d: ReadAt of what was extended: %d, %w", round, n, err)
			}
		}
		if n, err := f.WriteAt(whole[cut:], cut); n != len(whole)-int(cut) || err != nil {
			return fmt.Errorf("round %d: WriteAt: %d, %w", round, n, err)
		}
		if n := f.Len(); n != len(whole) {
			return fmt.Errorf("round %d: Len is %d after WriteAt up to %d", round, n, len(whole))
		}
		if n, err := f.ReadAt(b, 0); n != len(whole) || err != io.EOF || !bytes.Equal(b[:n], whole) {
			return fmt.Errorf("round %d: ReadAt of the whole: %d, %w, or other bytes", round, n, err)
		}
	}
	return nil
}

// A write beside a truncation of the same File happens as a whole, before it or after it.
func TestTruncate_BesideWriteAt(t *testing.T) {
	t.Parallel()
	rounds := 6000
	if testing.Short() || mmapfile.RaceDetector {
		rounds = 600
	}
	const size, off, n, cut = 100_000, 1000, 60_000, 30_500
	name := filetest.Temp(t, nil)
	f := filetest.Open(t, name)
	old, b := bytes.Repeat([]byte{'A'}, size), bytes.Repeat([]byte{'B'}, n)
	stored := 0
	for round := range rounds {
		if err := f.Truncate(size); err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt(old, 0); err != nil {
			t.Fatal(err)
		}
		mustMap(t, f)
		mmapfile.PrefaultAll(f)
		if _, err := f.WriteAt(old, 0); err != nil {
			t.Fatal(err)
		}
		if mmapfile.WroteMapped(f) {
			stored++
		}
		var both sync.WaitGroup
		both.Go(func() {
			for range round % 50 {
				runtime.Gosched() // another moment of the write in each round
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
		if k := bytes.Count(filetest.Read(t, name), b[:1]); k != n && k != cut-off {
			t.Fatalf("round %d: %[3]d of the %[2]d written bytes are left, want all or the %[4]d before the truncation", round, n, k, cut-off)
		}
	}
	if mmapfile.MapsUnasked && stored < rounds/2 {
		t.Errorf("only %d of %d rounds with mapped writes", stored, rounds)
	}
}

// A mapped write beside a truncation by another handle leaves no bytes past the end that are read.
func TestWriteAt_EndAfterForeignTruncation(t *testing.T) {
	t.Parallel()
	const size = 8 << 20
	name := filetest.Temp(t, filetest.Pattern(size))
	f := filetest.Open(t, name)
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
			t.Fatalf("round %d: the file has %d bytes, and ReadAt returns %d at %d", round, fi.Size(), n, size-60)
		}
	}
}
