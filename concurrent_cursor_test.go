package mmapfile_test

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"testing"

	"go.dw1.io/mmapfile"
)

const ftRecord = 16

// ftTakeovers is what may happen to the cursor's place while it is in use.
var ftTakeovers = map[string]func(f *mmapfile.File) error{
	"Nothing": func(*mmapfile.File) error { return nil },
	"Mapped": func(f *mmapfile.File) error {
		if mmapfile.CanMap && f.Bytes() == nil {
			return fmt.Errorf("not mapped")
		}
		return nil
	},
	"Fd":          func(f *mmapfile.File) error { f.Fd(); return nil },
	"SyscallConn": func(f *mmapfile.File) error { _, err := f.SyscallConn(); return err },
	"OS":          func(f *mmapfile.File) error { f.OS(); return nil },
	"MappedAndOS": func(f *mmapfile.File) error {
		if mmapfile.CanMap {
			f.Bytes()
		}
		f.OS()
		return nil
	},
	"SeekInPlace": func(f *mmapfile.File) error {
		_, err := f.Seek(0, io.SeekCurrent)
		return err
	},
	"CopyOfNothing": func(f *mmapfile.File) error {
		_, err := f.ReadFrom(&io.LimitedReader{R: f, N: 0})
		return err
	},
}

func TestCursorReadsOfManyGoroutinesPartitionTheFile(t *testing.T) {
	ftNeedsThreads(t)
	t.Parallel()
	records := uint64(ftLess(40_000))
	content := make([]byte, records*ftRecord)
	for i := range records {
		binary.LittleEndian.PutUint64(content[i*ftRecord:], uint64(i))
		binary.LittleEndian.PutUint64(content[i*ftRecord+8:], ^uint64(i))
	}
	for name, takeover := range ftTakeovers {
		for _, mapped := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/mapped=%v", name, mapped), func(t *testing.T) {
				t.Parallel()
				f := ftOpen(t, ftTemp(t, content))
				if mapped {
					ftMap(t, f)
				}
				count := make([]atomic.Int32, records)
				var done atomic.Int64
				ftTogether(t, 5, func(i int) error {
					var r io.Reader = f
					b := make([]byte, ftRecord*(1+3*i))
					for taken := false; ; {
						n, err := r.Read(b)
						if err == io.EOF && n == 0 {
							return nil
						}
						if err != nil || n%ftRecord != 0 || n == 0 {
							return fmt.Errorf("Read: %d, %w", n, err)
						}
						for p := b[:n]; len(p) > 0; p = p[ftRecord:] {
							at := binary.LittleEndian.Uint64(p)
							if at >= records || binary.LittleEndian.Uint64(p[8:]) != ^at {
								return fmt.Errorf("not a record: %x", p[:ftRecord])
							}
							count[at].Add(1)
						}
						if done.Add(int64(n)) > int64(len(content)/2) && i == 0 && !taken {
							taken = true
							if err := takeover(f); err != nil {
								return err
							}
							if name == "OS" || name == "MappedAndOS" {
								r = f.OS() // from now on both move the one cursor
							}
						}
					}
				})
				for i := range count {
					if n := count[i].Load(); n != 1 {
						t.Fatalf("record %d was read %d times", i, n)
					}
				}
				if pos, err := f.Seek(0, io.SeekCurrent); pos != int64(len(content)) || err != nil {
					t.Errorf("the cursor ends at %d, %v", pos, err)
				}
			})
		}
	}
}

func TestCursorWritesOfManyGoroutinesPartitionTheFile(t *testing.T) {
	ftNeedsThreads(t)
	t.Parallel()
	const writers = 5
	each := ftLess(8000)
	for name, takeover := range ftTakeovers {
		for _, start := range []string{"Empty", "Lazy", "Mapped", "Hot", "Append"} {
			t.Run(name+"/"+start, func(t *testing.T) {
				t.Parallel()
				size := writers * each * ftRecord
				if start == "Empty" || start == "Append" {
					size = 0
				}
				file := ftTemp(t, make([]byte, size))
				flag := os.O_RDWR
				if start == "Append" {
					flag |= os.O_APPEND
				}
				f, err := mmapfile.OpenFile(file, flag, 0)
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				switch start {
				case "Hot":
					ftMap(t, f)
					ftHeat(t, f, make([]byte, size))
				case "Mapped":
					ftMap(t, f)
				}
				var done atomic.Int64
				ftTogether(t, writers, func(i int) error {
					var w io.Writer = f
					b := make([]byte, ftRecord)
					taken := false
					for seq := range each {
						binary.LittleEndian.PutUint64(b, uint64(i)+1)
						binary.LittleEndian.PutUint64(b[8:], uint64(seq))
						if n, err := w.Write(b); n != ftRecord || err != nil {
							return fmt.Errorf("Write: %d, %w", n, err)
						}
						if done.Add(1) > int64(writers*each/2) && i == 0 && !taken {
							taken = true
							if err := takeover(f); err != nil {
								return err
							}
							if name == "OS" || name == "MappedAndOS" {
								w = f.OS()
							}
						}
					}
					return nil
				})
				if err := f.Close(); err != nil {
					t.Error(err)
				}
				got := ftGet(t, file)
				if len(got) != writers*each*ftRecord {
					t.Fatalf("the file has %d bytes, want %d", len(got), writers*each*ftRecord)
				}
				var next [writers]uint64 // each goroutine's records are in its order
				for at := 0; at < len(got); at += ftRecord {
					i, seq := binary.LittleEndian.Uint64(got[at:]), binary.LittleEndian.Uint64(got[at+8:])
					if i < 1 || i > writers || seq != next[i-1] {
						t.Fatalf("at %d is record %d of goroutine %d", at, seq, i)
					}
					next[i-1]++
				}
			})
		}
	}
}

func TestSeeksAndCopiesOfManyGoroutinesKeepTheCursorSane(t *testing.T) {
	ftNeedsThreads(t)
	t.Parallel()
	const size = 50_000
	f := ftOpen(t, ftTemp(t, ftPattern(size)))
	ftTogether(t, 6, func(i int) error {
		b := make([]byte, 100)
		for round := range ftLess(3000) {
			switch i {
			case 0:
				if pos, err := f.Seek(int64(round%size), io.SeekStart); pos != int64(round%size) || err != nil {
					return fmt.Errorf("Seek: %d, %w", pos, err)
				}
			case 1:
				if pos, err := f.Seek(0, io.SeekCurrent); pos < 0 || pos > size || err != nil {
					return fmt.Errorf("Seek: %d, %w", pos, err)
				}
			case 2, 3:
				n, err := f.Read(b)
				if err != nil && err != io.EOF {
					return err
				}
				if err := ftContiguous(b[:n]); err != nil {
					return err
				}
			case 4:
				if _, err := io.Copy(io.Discard, io.LimitReader(f, 500)); err != nil {
					return err
				}
			case 5:
				if round == 20 && mmapfile.CanMap && f.Bytes() == nil {
					return fmt.Errorf("not mapped")
				}
				if pos, err := f.Seek(0, io.SeekEnd); pos != size || err != nil {
					return fmt.Errorf("Seek: %d, %w", pos, err)
				}
			}
		}
		return nil
	})
}
