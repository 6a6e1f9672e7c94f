package mmapfile_test

import (
	"fmt"
	"os"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"go.dw1.io/mmapfile"
)

func init() {
	ftChildren["rounds"] = ftChildRounds
	ftChildren["full"] = ftChildFull
}

// ftChildRounds opens, reads and closes a file of 300 MiB twenty times with 3 GiB of
// address space, and then needs a quarter of that for itself.
func ftChildRounds(args []string) error {
	limit := uint64(3 << 30)
	if err := unix.Setrlimit(unix.RLIMIT_AS, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
		return err
	}
	mapped := 0
	for range 20 {
		f, err := mmapfile.Open(args[0])
		if err != nil {
			return err
		}
		if args[1] == "Bytes" {
			if b := f.Bytes(); len(b) != 300<<20 || b[12345] != 0 {
				return fmt.Errorf("Bytes gave %d bytes", len(b))
			}
		}
		b := make([]byte, 64)
		for i := range 200 { // enough to want a mapping
			if n, err := f.ReadAt(b, int64(i%4)*64); n != len(b) || err != nil {
				return fmt.Errorf("ReadAt: %d, %w", n, err)
			}
		}
		if mmapfile.Mapped(f) {
			mapped++
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	if mapped == 0 {
		return fmt.Errorf("no file was mapped")
	}
	var heap [][]byte
	for range 12 { // fatal: out of memory, where there is no room
		heap = append(heap, make([]byte, 64<<20))
	}
	used, err := ftStatus("VmSize")
	fmt.Printf("%d mapped, %d MiB of address space with %d blocks\n", mapped, used>>20, len(heap))
	return err
}

func TestClose_LimitedAddressSpace(t *testing.T) {
	t.Parallel()
	switch {
	case !mmapfile.CanMap:
		t.Skip("nothing is mapped")
	case mmapfile.RaceDetector:
		t.Skip("the race detector needs its address space")
	case ftEmulator != "" || strconv.IntSize == 32:
		t.Skip("no limit of 3 GiB here")
	}
	name := ftTemp(t, nil)
	if err := os.Truncate(name, 300<<20); err != nil {
		t.Fatal(err)
	}
	for _, way := range []string{"ReadAt", "Bytes"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			t.Log(ftRun(t, ftChild(t, nil, "rounds", name, way)))
		})
	}
}

// ftChildFull maps a file of 100 MiB where the system has room for it once a closed one
// has given its address space back.
func ftChildFull(args []string) error {
	for range 2 {
		f, err := mmapfile.Open(args[0])
		if err != nil {
			return err
		}
		if b := f.Bytes(); len(b) != 100<<20 || b[12345] != 0 {
			return fmt.Errorf("Bytes gave %d bytes", len(b))
		}
		if err := f.Close(); err != nil {
			return err
		}
		used, err := ftStatus("VmSize")
		if err != nil {
			return err
		}
		var limit unix.Rlimit
		if err := unix.Getrlimit(unix.RLIMIT_AS, &limit); err != nil {
			return err
		}
		limit.Cur = uint64(used + 50<<20)
		if err := unix.Setrlimit(unix.RLIMIT_AS, &limit); err != nil {
			return err
		}
	}
	return nil
}

func TestBytes_CollectsAfterENOMEM(t *testing.T) {
	t.Parallel()
	if !mmapfile.CanMap || mmapfile.RaceDetector || ftEmulator != "" || strconv.IntSize == 32 {
		t.Skip("no limit of address space here")
	}
	name := ftTemp(t, nil)
	if err := os.Truncate(name, 100<<20); err != nil {
		t.Fatal(err)
	}
	ftRun(t, ftChild(t, nil, "full", name))
}
