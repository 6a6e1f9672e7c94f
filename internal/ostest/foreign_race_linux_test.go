package ostest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/filetest"
)

// Another process changes the file at the same time as the calls. Each byte that they read must have
// been there at some time, and each error must be one that os.File has, or the documented one of View
// and Guard. The first part of the file, up to the middle of a page, is changed by one goroutine
// alone, which must read what it wrote. In the end the File must show what the file is.
func TestFile_BesideProcessConcurrently(t *testing.T) {
	filetest.NeedThreads(t)
	for where, dir := range foreignDirs(t) {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			var calls atomic.Int64
			rounds := eachRound(t, func(_ int, seed uint64) {
				s := newStorm(t, filepath.Join(dir, "storm"), seed)
				s.round(stormRound)
				calls.Add(s.calls.Load())
			})
			t.Logf("%d rounds, %d calls", rounds, calls.Load())
		})
	}
}

const stormRound = 150 * time.Millisecond

// storm is one round of TestFile_BesideProcessConcurrently.
type storm struct {
	t     *testing.T
	seed  uint64
	name  string
	f     *mmapfile.File
	first int64 // bytes of the part that one goroutine changes
	calls atomic.Int64
}

func newStorm(t *testing.T, name string, seed uint64) *storm {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 0))
	s := &storm{t: t, seed: seed, name: name, first: page/2 + r.Int64N(2*page)}
	_ = os.Remove(name)
	filetest.Write(t, name, placedBytes(0, s.first+r.Int64N(8*page)))
	var err error
	if s.f, err = mmapfile.OpenFile(name, os.O_RDWR, 0); err != nil {
		t.Fatal(err)
	}
	if r.IntN(2) == 0 {
		filetest.Map(t, s.f)
	}
	return s
}

func (s *storm) round(d time.Duration) {
	t := s.t
	t.Helper()
	defer s.f.Close()
	cmd := filetest.ChildCommand(t, nil, "storm", s.name, strconv.FormatUint(s.seed, 10), strconv.FormatInt(s.first, 10))
	var msg bytes.Buffer
	cmd.Stderr = &msg
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	side, err := os.OpenFile(s.name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer side.Close()
	filetest.StartChild(t, cmd)
	var stop atomic.Bool
	end := time.Now().Add(d)
	filetest.Together(t, 4, func(i int) error {
		r := rand.New(rand.NewPCG(s.seed, uint64(i)+2))
		one := s.anywhere
		switch i {
		case 0:
			one = s.atFirst()
		case 1:
			one = s.atCursor()
		}
		for !stop.Load() && time.Now().Before(end) {
			if err := one(r); err != nil {
				stop.Store(true)
				return err
			}
			s.calls.Add(1)
		}
		return nil
	})
	_ = in.Close()
	if err := cmd.Wait(); err != nil {
		t.Fatalf("the other process: %v\n%s", err, msg.String())
	}
	s.finally(side)
}

// finally compares the File with the file. A concurrent store through a mapping may have left bytes
// past the end, in the last page, that look like content: so the end is moved to a new page.
func (s *storm) finally(side *os.File) {
	t := s.t
	t.Helper()
	size, err := side.Seek(0, io.SeekEnd)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.f.Stat(); err != nil {
		t.Fatal(err)
	}
	if n := s.f.Len(); int64(n) != size {
		t.Errorf("in the end Len is %d, the file has %d bytes", n, size)
	}
	size = (size/page + 2) * page
	if err := side.Truncate(size); err != nil {
		t.Fatal(err)
	}
	want := make([]byte, size+1)
	if n, err := side.ReadAt(want, 0); int64(n) != size || err != io.EOF {
		t.Fatal(n, err)
	}
	got := make([]byte, size+1)
	if n, err := s.f.ReadAt(got, 0); int64(n) != size || err != io.EOF {
		t.Errorf("in the end ReadAt returned %d, %v, want %d, EOF", n, err, size)
	}
	filetest.SameBytes(t, "in the end", got, want)
	if err := s.f.View(0, size, func(p []byte) error {
		filetest.SameBytes(t, "in the end, View", p, want[:size])
		return nil
	}); err != nil {
		t.Error("in the end View returned ", err)
	}
	if fi, err := s.f.Stat(); err != nil || fi.Size() != size {
		t.Error("in the end Stat returned ", fi, err)
	}
	if n, err := s.f.Seek(0, io.SeekEnd); n != size || err != nil {
		t.Errorf("in the end Seek returned %d, %v, want %d", n, err, size)
	}
}

// atFirst returns calls in the part that nothing else changes: as without other processes.
func (s *storm) atFirst() func(r *rand.Rand) error {
	now, buf := placedBytes(0, s.first), make([]byte, s.first)
	return func(r *rand.Rand) error {
		at := r.Int64N(s.first)
		n := min(s.first-at, 1+pickLength(r))
		if r.IntN(3) == 0 {
			at = s.first - n // up to where another process may truncate
		}
		b, want := buf[:n], now[at:at+n]
		switch r.IntN(4) {
		case 0:
			for i := range want {
				x := r.Uint32()
				want[i] = byte(x & (x >> 8)) // often zero in part
			}
			if k, err := s.f.WriteAt(want, at); int64(k) != n || err != nil {
				return fmt.Errorf("WriteAt(%d, %d) in the first part: %d, %w", n, at, k, err)
			}
			return nil
		case 1:
			err := s.f.View(at, n, func(p []byte) error {
				copy(b, p)
				return nil
			})
			if err != nil {
				return fmt.Errorf("View(%d, %d) in the first part: %w", at, n, err)
			}
		default:
			if k, err := s.f.ReadAt(b, at); int64(k) != n || err != nil {
				return fmt.Errorf("ReadAt(%d, %d) in the first part: %d, %w", n, at, k, err)
			}
		}
		if !bytes.Equal(b, want) {
			return fmt.Errorf("%d bytes at %d in the first part are not those that were written", n, at)
		}
		return nil
	}
}

// placed checks bytes that were read at off, those in the first part apart.
func (s *storm) placed(b []byte, off int64) error {
	if skip := s.first - off; skip > 0 {
		b, off = b[min(skip, int64(len(b))):], s.first
	}
	return checkPlaced(b, off)
}

// atCursor returns calls at the cursor, which nothing else moves.
func (s *storm) atCursor() func(r *rand.Rand) error {
	pos := int64(0)
	return func(r *rand.Rand) (err error) {
		n := 1 + pickLength(r)
		switch r.IntN(8) {
		case 0, 1, 2:
			b := make([]byte, n)
			k, err := s.f.Read(b)
			if k < 0 || int64(k) > n || k == 0 && err != io.EOF || k > 0 && err != nil {
				return fmt.Errorf("Read(%d) at %d: %d, %w", n, pos, k, err)
			}
			if err := s.placed(b[:k], pos); err != nil {
				return fmt.Errorf("Read(%d) at %d: %d, %w", n, pos, k, err)
			}
			pos += int64(k)
		case 3:
			at := max(pos, s.first)
			if _, err := s.f.Seek(at, io.SeekStart); err != nil {
				return err
			}
			k, err := s.f.Write(placedBytes(at, n))
			if int64(k) != n || err != nil {
				return fmt.Errorf("Write(%d) at %d: %d, %w", n, at, k, err)
			}
			pos = at + n
		case 4:
			var b bytes.Buffer
			k, err := s.f.WriteTo(&b)
			if int64(b.Len()) != k || err != nil {
				return fmt.Errorf("WriteTo at %d: %d, %w, and %d bytes", pos, k, err, b.Len())
			}
			if err := s.placed(b.Bytes(), pos); err != nil {
				return fmt.Errorf("WriteTo at %d: %w", pos, err)
			}
			pos += k
		case 5:
			pos, err = s.f.Seek(0, io.SeekEnd)
		case 6:
			var now int64
			if now, err = s.f.Seek(0, io.SeekCurrent); err == nil && now != pos {
				err = fmt.Errorf("the cursor is at %d, want %d", now, pos)
			}
		default:
			pos, err = s.f.Seek(r.Int64N(stormMost*page), io.SeekStart)
		}
		return err
	}
}

// anywhere makes one call at an offset.
func (s *storm) anywhere(r *rand.Rand) error {
	at := r.Int64N(stormMost * page)
	if r.IntN(2) == 0 {
		at = pickPlace(r, int64(s.f.Len()))
	}
	n := 1 + pickLength(r)
	b := make([]byte, n)
	switch k := r.IntN(12); k {
	case 0, 1:
		at = max(at, s.first)
		if k, err := s.f.WriteAt(placedBytes(at, n), at); int64(k) != n || err != nil {
			return fmt.Errorf("WriteAt(%d, %d): %d, %w", n, at, k, err)
		}
	case 2:
		if r.IntN(10) > 0 {
			return nil
		}
		at = max(at, s.first)
		if err := s.f.Truncate(at); err != nil {
			return fmt.Errorf("Truncate(%d): %w", at, err)
		}
	case 3:
		if fi, err := s.f.Stat(); err != nil || fi.Size() < s.first {
			return fmt.Errorf("Stat: %v, %w", fi, err)
		}
	case 4, 5, 6:
		err := s.f.View(at, n, func(p []byte) error {
			if int64(len(p)) != n {
				return errors.New("wrong length")
			}
			copy(b, p)
			if k == 6 && at >= s.first {
				copy(p, placedBytes(at, n))
			}
			return s.placed(b, at)
		})
		if err != io.EOF && !isTruncated(err, "view") {
			return fmt.Errorf("View(%d, %d): %w", at, n, err)
		}
	case 7:
		if !filetest.CanMap || filetest.Emulator != "" {
			return nil // a copy, which calls write, too; or faults without an address, see Guard
		}
		err := s.f.Guard(func() error {
			p := s.f.Bytes()
			if at < int64(len(p)) {
				k := copy(b, p[at:])
				return s.placed(b[:k], at)
			}
			return nil
		})
		if !isTruncated(err, "guard") {
			return fmt.Errorf("Guard: %w", err)
		}
	default:
		k, err := s.f.ReadAt(b, at)
		if err := filetest.CheckReadResult(k, int(n), err); err != nil {
			return fmt.Errorf("ReadAt(%d, %d): %w", n, at, err)
		}
		if err := s.placed(b[:k], at); err != nil {
			return fmt.Errorf("ReadAt(%d, %d): %w", n, at, err)
		}
	}
	return nil
}

// A file that is truncated and extended all the time looks whole again when the cause of a fault is
// looked for. It is no failure of the disk.
func TestView_TruncatedAllTheTime(t *testing.T) {
	if !filetest.CanMap {
		t.Skip("no faults without mappings")
	}
	filetest.NeedFaultAddresses(t)
	for where, dir := range foreignDirs(t) {
		for _, store := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/store=%v", where, store), func(t *testing.T) {
				t.Parallel()
				name, size := filepath.Join(dir, strconv.FormatBool(store)), 4*page
				filetest.Write(t, name, filetest.Pattern(int(size)))
				f := filetest.OpenMapped(t, name)
				var stop atomic.Bool
				filetest.Together(t, 3, func(i int) error {
					if i > 0 {
						for !stop.Load() {
							if err := errors.Join(os.Truncate(name, 0), os.Truncate(name, size)); err != nil {
								return err
							}
						}
						return nil
					}
					defer stop.Store(true)
					end := time.Now().Add(500 * time.Millisecond)
					for faults := 0; faults < filetest.Iterations(100) && time.Now().Before(end); {
						err := f.View(0, size, func(p []byte) error {
							for range 100 {
								if filetest.LoadBytes(p[size-1:]); store {
									p[0] = 0
								}
							}
							return nil
						})
						if err != io.EOF && !isTruncated(err, "view") {
							return err
						} else if err != nil && err != io.EOF {
							faults++
						}
					}
					return nil
				})
			})
		}
	}
}

// isTruncated reports whether err is nil, or that of op for a truncated file.
func isTruncated(err error, op string) bool {
	pe, ok := errors.AsType[*fs.PathError](err)
	return err == nil || ok && pe.Op == op && pe.Err == io.ErrUnexpectedEOF
}
