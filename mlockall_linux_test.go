package mmapfile_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"go.dw1.io/mmapfile"
)

func init() {
	ftChildren["mlockall"] = ftChildMlockall
}

// ftChildMlockall reads and writes a file of 1 GiB without data until it is mapped, where
// all that is mapped becomes locked.
func ftChildMlockall(args []string) error {
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
		locked, lerr := ftStatus("VmLck")
		resident, rerr := ftStatus("RssFile")
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
	for i := 0; i < 1000 && !mmapfile.Mapped(f); i++ {
		if n, err := f.ReadAt(b, int64(i%4)*64); n != len(b) || err != nil {
			return fmt.Errorf("ReadAt: %d, %w", n, err)
		}
	}
	if !mmapfile.Mapped(f) {
		return fmt.Errorf("it is not mapped")
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
		if locked-lockedBefore > 512<<20 || resident-residentBefore > 512<<20 { // the heap grows, too
			return fmt.Errorf("the whole file is locked, or in memory")
		}
		if err := f.Close(); when == "mapped" && err != nil {
			return err
		}
	}
	return nil
}

func TestReadAt_Mlockall(t *testing.T) {
	t.Parallel()
	if !mmapfile.MapsUnasked || ftEmulator != "" || mmapfile.RaceDetector {
		t.Skip("nothing is mapped here, or too much is locked")
	}
	name := ftTemp(t, nil)
	if err := os.Truncate(name, 1<<30); err != nil {
		t.Fatal(err)
	}
	for _, way := range []string{"Read", "Write"} {
		t.Run(way, func(t *testing.T) {
			out := ftRun(t, ftChild(t, nil, "mlockall", name, way))
			if strings.HasPrefix(out, "skip:") {
				t.Skip("mlockall: ", out)
			}
			t.Log(out)
		})
	}
}
