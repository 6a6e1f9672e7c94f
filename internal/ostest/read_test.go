package ostest

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"sync/atomic"
	"testing"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/filetest"
)

func TestReadAt_FileGrowing(t *testing.T) {
	filetest.NeedThreads(t)
	t.Parallel()
	for _, by := range []string{"WriteAt", "Write", "ReadFrom", "Append"} {
		for _, mapped := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/mapped=%v", by, mapped), func(t *testing.T) {
				t.Parallel()
				whole := filetest.Pattern(filetest.Iterations(2 << 20))
				name := filetest.Temp(t, whole[:100])
				flag := os.O_RDWR
				if by == "Append" {
					flag |= os.O_APPEND
				}
				f, err := mmapfile.OpenFile(name, flag, 0)
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				if mapped {
					filetest.Map(t, f)
				}
				var published atomic.Int64
				published.Store(100)
				filetest.Together(t, 4, func(i int) error {
					if i == 0 {
						defer published.Store(-1)
						return growFile(f, by, whole, &published)
					}
					r := rand.New(rand.NewPCG(uint64(i), 2))
					buf := make([]byte, 20_000)
					for {
						known := published.Load()
						if known < 0 {
							return nil
						}
						b := buf[:1+r.IntN(len(buf))]
						off := max(0, known-int64(r.IntN(30_000)))
						n, err := f.ReadAt(b, off)
						if err := filetest.CheckReadResult(n, len(b), err); err != nil {
							return err
						}
						written := int(min(known-off, int64(len(b))))
						if n < written || !bytes.Equal(b[:written], whole[off:off+int64(written)]) {
							return fmt.Errorf("%d bytes at %d of a file of %d, or other bytes", n, off, known)
						}
						if err := filetest.CheckOldOrZero(b[:n], off); err != nil {
							return err
						}
						if i == 3 {
							if n := f.Len(); int64(n) < known {
								return fmt.Errorf("Len is %d of %d", n, known)
							}
							if b := f.Bytes(); filetest.CanMap && int64(len(b)) < known {
								return fmt.Errorf("Bytes are %d of %d", len(b), known)
							}
						}
					}
				})
				filetest.SameBytes(t, "the file", filetest.Read(t, name), whole)
			})
		}
	}
}

// growFile appends the rest of whole to the 100 bytes of f, and publishes its progress.
func growFile(f *mmapfile.File, by string, whole []byte, published *atomic.Int64) error {
	if _, err := f.Seek(100, io.SeekStart); err != nil {
		return err
	}
	for off, step := 100, 1; off < len(whole); step = step*7%4999 + 1 {
		end := min(off+step, len(whole))
		var n int
		var err error
		switch by {
		case "WriteAt":
			n, err = f.WriteAt(whole[off:end], int64(off))
		case "Write", "Append":
			n, err = f.Write(whole[off:end])
		case "ReadFrom":
			var m int64
			m, err = f.ReadFrom(bytes.NewReader(whole[off:end]))
			n = int(m)
		}
		if n != end-off || err != nil {
			return fmt.Errorf("%s: %d of %d, %w", by, n, end-off, err)
		}
		if n := f.Len(); n < int64(end) {
			return fmt.Errorf("Len is %d after %s up to %d", n, by, end)
		}
		off = end
		published.Store(int64(off))
	}
	return nil
}
