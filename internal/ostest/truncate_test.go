package ostest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/filetest"
)

// One goroutine truncates and extends the File, and sees the exact size. The others read.
func TestTruncate_BesideReads(t *testing.T) {
	filetest.NeedThreads(t)
	t.Parallel()
	const size = 100_000
	whole := filetest.Pattern(size)
	name := filetest.Temp(t, whole)
	f := filetest.OpenMapped(t, name)
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
				if filetest.CanMap {
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
		if n := f.Len(); n != int64(len(whole)) {
			return fmt.Errorf("round %d: Len is %d after WriteAt up to %d", round, n, len(whole))
		}
		if n, err := f.ReadAt(b, 0); n != len(whole) || err != io.EOF || !bytes.Equal(b[:n], whole) {
			return fmt.Errorf("round %d: ReadAt of the whole: %d, %w, or other bytes", round, n, err)
		}
	}
	return nil
}
