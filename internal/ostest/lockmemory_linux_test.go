package ostest

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/filetest"
	"go.dw1.io/mmapfile/internal/race"
)

func init() {
	filetest.Children["mlockall"] = childMlockall
	filetest.Children["lock"] = childLock
}

// childMlockall reads and writes a sparse file of 1 GiB until it is mapped. The process locks
// everything that it maps.
func childMlockall(args []string) error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_MEMLOCK, &limit); err != nil {
		return err
	}
	if os.Geteuid() != 0 && limit.Cur < 4<<30 {
		fmt.Println("skip: RLIMIT_MEMLOCK is", limit.Cur)
		return nil
	}
	if err := unix.Mlockall(unix.MCL_FUTURE); err != nil {
		fmt.Println("skip:", err)
		return nil
	}
	figures := func() (locked, resident int64) {
		locked, lerr := filetest.ProcessStatus("VmLck")
		resident, rerr := filetest.ProcessStatus("RssFile")
		if lerr != nil || rerr != nil {
			panic(fmt.Sprint(lerr, rerr))
		}
		return locked, resident
	}
	flag := os.O_RDONLY
	if args[1] == "Write" {
		flag = os.O_RDWR
	}
	f, err := mmapfile.OpenFile(args[0], flag, 0)
	if err != nil {
		return err
	}
	lockedBefore, residentBefore := figures()
	b := make([]byte, 64)
	for i := 0; i < 1000 && !filetest.Mapped(f); i++ {
		if n, err := f.ReadAt(b, int64(i%4)*64); n != len(b) || err != nil {
			return fmt.Errorf("ReadAt: %d, %w", n, err)
		}
	}
	if !filetest.Mapped(f) {
		return fmt.Errorf("the file is not mapped")
	}
	for i := range 200 {
		if n, err := f.ReadAt(b, int64(i%4)*64); n != len(b) || err != nil {
			return fmt.Errorf("ReadAt: %d, %w", n, err)
		}
		if flag == os.O_RDWR {
			if n, err := f.WriteAt(b, int64(i%4)*64); n != len(b) || err != nil {
				return fmt.Errorf("WriteAt: %d, %w", n, err)
			}
		}
	}
	for _, when := range []string{"mapped", "closed"} {
		locked, resident := figures()
		fmt.Printf("%s: %d MiB locked, %d MiB in memory\n", when, (locked-lockedBefore)>>20, (resident-residentBefore)>>20)
		if locked-lockedBefore > 512<<20 || resident-residentBefore > 512<<20 { // some of it is the heap
			return fmt.Errorf("the whole file is locked or in memory")
		}
		if err := f.Close(); when == "mapped" && err != nil {
			return err
		}
	}
	return nil
}

func TestReadAt_Mlockall(t *testing.T) {
	t.Parallel()
	if !filetest.MapsUnasked || filetest.Emulator != "" || race.Detector {
		t.Skip("nothing is mapped here, or too much is locked")
	}
	name := filetest.Temp(t, nil)
	if err := os.Truncate(name, 1<<30); err != nil {
		t.Fatal(err)
	}
	for _, way := range []string{"Read", "Write"} {
		t.Run(way, func(t *testing.T) {
			out := filetest.RunChild(t, filetest.ChildCommand(t, nil, "mlockall", name, way))
			if strings.HasPrefix(out, "skip:") {
				t.Skip("mlockall: ", out)
			}
			t.Log(out)
		})
	}
}

// childLock exceeds RLIMIT_MEMLOCK as a user for which the limit holds.
func childLock(args []string) error {
	const limit = 64 << 10
	if err := unix.Setrlimit(unix.RLIMIT_MEMLOCK, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
		return err
	}
	if os.Geteuid() == 0 { // CAP_IPC_LOCK exempts root
		if err := unix.Setresuid(65534, 65534, 65534); err != nil {
			return err
		}
	}
	f, err := mmapfile.Open(args[0])
	if err != nil {
		return err
	}
	size := f.Len()
	locked := func() int64 {
		n, err := filetest.ProcessStatus("VmLck")
		if err != nil {
			panic(err)
		}
		return n
	}
	if err := f.LockMemory(0, size); !errors.Is(err, unix.ENOMEM) && !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.EAGAIN) {
		return fmt.Errorf("over the limit: %v", err)
	}
	if n := locked(); n != 0 {
		return fmt.Errorf("%d bytes are locked after an error", n)
	}
	if err := f.LockMemory(1, 2*page); err != nil {
		return fmt.Errorf("within the limit: %w", err)
	}
	if n := locked(); n != 3*page {
		return fmt.Errorf("%d bytes are locked, want %d", n, 3*page)
	}
	if err := f.UnlockMemory(page, 1); err != nil || locked() != 2*page {
		return fmt.Errorf("%d bytes are locked after unlocking one page (%v)", locked(), err)
	}
	if err := f.LockMemory(0, page); err != nil || locked() != 2*page {
		return fmt.Errorf("%d bytes are locked after locking a page again (%v)", locked(), err)
	}
	if err := f.UnlockMemory(0, math.MaxInt64); err != nil || locked() != 0 {
		return fmt.Errorf("%d bytes are locked after unlocking all (%v)", locked(), err)
	}
	if err := f.LockMemory(0, page); err != nil {
		return err
	}
	if err := f.Close(); err != nil || locked() != 0 {
		return fmt.Errorf("%d bytes are locked after Close (%v)", locked(), err)
	}
	return nil
}

func TestLockMemory_OverLimit(t *testing.T) {
	t.Parallel()
	if !filetest.CanMap {
		t.Skip("nothing can be locked")
	}
	if filetest.Emulator != "" {
		t.Skip("the limit would be the emulator's")
	}
	if page > 16<<10 {
		t.Skip("four pages are more than the limit")
	}
	name := filetest.Temp(t, bytes.Repeat([]byte("x"), 1<<20))
	if err := os.Chmod(name, 0o644); err != nil {
		t.Fatal(err)
	}
	for dir := name; dir != os.TempDir() && dir != "/"; { // another user opens it
		dir = dir[:strings.LastIndexByte(dir, '/')]
		if fi, err := os.Stat(dir); err != nil || os.Chmod(dir, fi.Mode()|0o755) != nil {
			break
		}
	}
	filetest.RunChild(t, filetest.ChildCommand(t, nil, "lock", name))
}
