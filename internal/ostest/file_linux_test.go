package ostest

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/filetest"
)

// A seal of a memfd, set before or after many calls, has the same effect as with os.File.
func TestNewFile_SealedMemfd(t *testing.T) {
	t.Parallel()
	const size = 100_000
	seals := map[string]int{
		"Write": unix.F_SEAL_WRITE, "FutureWrite": unix.F_SEAL_FUTURE_WRITE, "Shrink": unix.F_SEAL_SHRINK,
		"Grow": unix.F_SEAL_GROW, "Seal": unix.F_SEAL_SEAL,
	}
	for name, seal := range seals {
		for _, first := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/First=%v", name, first), func(t *testing.T) {
				var results [2]string
				for kind := range results {
					fd, err := unix.MemfdCreate("mmapfile", unix.MFD_ALLOW_SEALING|unix.MFD_CLOEXEC)
					if err != nil {
						t.Skip(err)
					}
					var f filetest.File
					if kind == 0 {
						f = os.NewFile(uintptr(fd), "memfd")
					} else {
						f = mmapfile.NewFile(uintptr(fd), "memfd")
					}
					defer f.Close()
					if _, err := f.Write(filetest.Pattern(size)); err != nil {
						t.Fatal(err)
					}
					did := func(what string, n int64, err error) {
						results[kind] += fmt.Sprintln(what, n, filetest.ErrorText(err, "memfd"))
					}
					add := func() {
						_, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seal)
						did("F_ADD_SEALS", 0, err)
					}
					if first {
						add()
					}
					b := make([]byte, 64)
					for range 300 {
						n, err := f.ReadAt(b, 5000)
						m, werr := f.WriteAt([]byte("again"), 5000)
						did("ReadAt", int64(n), err)
						did("WriteAt", int64(m), werr)
					}
					if !first {
						add()
					}
					n, err := f.WriteAt([]byte("after"), 5000)
					did("WriteAt", int64(n), err)
					n, err = f.WriteAt(filetest.Pattern(10), size-5)
					did("WriteAt over the end", int64(n), err)
					did("Truncate to less", 0, f.Truncate(size-100))
					did("Truncate to more", 0, f.Truncate(size+100))
					all, err := io.ReadAll(io.NewSectionReader(f, 0, 2*size))
					did("ReadAll", int64(len(all)), err)
					results[kind] += string(all)
				}
				if results[0] != results[1] {
					for i, line := range strings.Split(results[0], "\n") {
						if got := strings.Split(results[1], "\n"); i >= len(got) || got[i] != line {
							t.Fatalf("step %d:\nos.File %.200q\nFile    %.200q", i, line, got[min(i, len(got)-1)])
						}
					}
				}
			})
		}
	}
}
