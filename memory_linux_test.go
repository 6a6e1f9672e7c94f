package mmapfile_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/filetest"
)

func init() {
	filetest.Children["mlockall"] = childMlockall
	filetest.Children["lock"] = childLock
	filetest.Children["eagain"] = childEAGAIN
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
	for i := 0; i < 1000 && !mmapfile.Mapped(f); i++ {
		if n, err := f.ReadAt(b, int64(i%4)*64); n != len(b) || err != nil {
			return fmt.Errorf("ReadAt: %d, %w", n, err)
		}
	}
	if !mmapfile.Mapped(f) {
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
	if !mmapfile.MapsUnasked || filetest.Emulator != "" || mmapfile.RaceDetector {
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
	size := int64(f.Len())
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
	if !mmapfile.CanMap {
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

func TestAdvise_PopulateWriteFullDisk(t *testing.T) {
	t.Parallel()
	if !mmapfile.CanMap {
		t.Skip("nothing is populated")
	}
	if filetest.Emulator != "" {
		t.Skip("qemu-user ignores this advice")
	}
	name := filetest.SmallDisk(t) + "/data"
	f, err := mmapfile.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, size := range []int64{4 << 20, 4<<20 - 100} {
		if err := f.Truncate(size); err != nil { // on a disk of 1 MiB
			t.Fatal(err)
		}
		err := f.Advise(0, size, mmapfile.PopulateWrite)
		if !errors.Is(err, unix.EFAULT) && !errors.Is(err, unix.EIO) && !errors.Is(err, unix.ENOSPC) {
			t.Errorf("populating %d bytes of a disk of 1 MiB: %v", size, err)
		}
	}
}

func TestAdvise_ManyRanges(t *testing.T) {
	t.Parallel()
	if !mmapfile.CanMap {
		t.Skip("there is no mapping")
	}
	f := filetest.Open(t, filetest.Temp(t, filetest.Pattern(1<<20)))
	before := filetest.CountMaps(t)
	for off := int64(0); off < 1<<20; off += 4096 {
		if err := f.Advise(off, 4096, mmapfile.WillNeed); err != nil {
			t.Fatal(err)
		}
	}
	f.Bytes()
	if n := filetest.CountMaps(t); n > before+50 { // other tests run in parallel
		t.Errorf("%d maps, %d before", n, before)
	}
}

// A kernel that always asks to try again must not hang the program.
func TestAdvise_AlwaysEAGAIN(t *testing.T) {
	t.Parallel()
	if filetest.Emulator != "" || !mmapfile.CanMap {
		t.Skip("needs a filter of system calls")
	}
	filetest.RunChild(t, filetest.ChildCommand(t, nil, "eagain", filetest.Temp(t, filetest.Pattern(100_000))))
}

// childEAGAIN populates a file while madvise(2) answers EAGAIN to that.
func childEAGAIN(args []string) error {
	f, err := mmapfile.OpenFile(args[0], os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	f.Bytes()
	const adviceAt = 16 + 2*8 // the third argument in struct seccomp_data, on a little-endian machine
	load := func(at uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
	}
	unless := func(k uint32, skip uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: k, Jf: skip}
	}
	is := func(k uint32, skip uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: k, Jt: skip}
	}
	filter := []unix.SockFilter{
		load(0), unless(unix.SYS_MADVISE, 4),
		load(adviceAt), is(unix.MADV_POPULATE_READ, 1), unless(unix.MADV_POPULATE_WRITE, 1),
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EAGAIN)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program))); errno != 0 {
		return nil // the system has no such filters
	}
	for _, a := range []mmapfile.Advice{mmapfile.PopulateRead, mmapfile.PopulateWrite} {
		if err := f.Advise(0, 100_000, a); !errors.Is(err, unix.EAGAIN) {
			return fmt.Errorf("%v: %w", a, err)
		}
	}
	return nil
}

// What a mapping has of a file counts as memory of the process, and POSIX_FADV_DONTNEED does not
// drop it from the page cache. After DontNeed neither holds.
func TestAdvise_DontNeedReleases(t *testing.T) {
	t.Parallel()
	if !mmapfile.CanMap {
		t.Skip("nothing is mapped in this build")
	}
	const size = 4 << 20
	name := filetest.Temp(t, filetest.Pattern(size))
	drop := func() {
		t.Helper()
		f, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := f.Sync(); err != nil { // dirty pages stay
			t.Fatal(err)
		}
		if err := unix.Fadvise(int(f.Fd()), 0, size, unix.FADV_DONTNEED); err != nil {
			t.Fatal(err)
		}
	}
	f := filetest.OpenReadOnly(t, name)
	want := func(when string, mapped, cached int64) {
		t.Helper()
		got, err := f.Resident(0, size)
		if err != nil {
			t.Fatal(err)
		}
		if rss := filetest.MappedMemory(t, name); rss != mapped || got != cached {
			t.Errorf("%s: the process has %d bytes of the file and the page cache %d, want %d and %d", when, rss, got, mapped, cached)
		}
	}
	drop()
	if n, err := f.Resident(0, size); err != nil || n != 0 {
		t.Skip("the file system keeps its pages: ", n, err)
	}
	if err := f.Advise(0, size, mmapfile.PopulateRead); err != nil {
		t.Fatal(err)
	}
	want("read", size, size)
	drop()
	want("dropped while mapped", size, size)
	if err := f.Advise(0, size, mmapfile.DontNeed); err != nil {
		t.Fatal(err)
	}
	want("released", 0, size)
	drop()
	want("dropped", 0, 0)
}
