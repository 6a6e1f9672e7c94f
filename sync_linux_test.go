package mmapfile_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"go.dw1.io/mmapfile"
)

func init() {
	ftChildren["flush"] = ftChildFlush
	ftChildren["lock"] = ftChildLock
	ftChildren["hot"] = ftChildHot
}

// ftFlushes is every way to have something flushed. A child makes them one by one, with a look at a
// file that is not there before each, which tells them apart in the trace.
var ftFlushes = []struct {
	name   string
	policy mmapfile.FlushPolicy
	store  func(f *mmapfile.File) error
	flush  func(f *mmapfile.File) error
}{
	{"sync-after-write", mmapfile.FlushPolicy{}, ftStoreByWrite, (*mmapfile.File).Sync},
	{"sync-after-store", mmapfile.FlushPolicy{}, ftStoreIntoBytes, (*mmapfile.File).Sync},
	{"syncrange-after-write", mmapfile.FlushPolicy{}, ftStoreByWrite, ftSyncRange},
	{"syncrange-after-store", mmapfile.FlushPolicy{}, ftStoreIntoBytes, ftSyncRange},
	{"bytes-policy", mmapfile.FlushPolicy{Bytes: 1000}, func(*mmapfile.File) error { return nil }, ftStoreByWrite},
	{"bytes-policy-mapped", mmapfile.FlushPolicy{Bytes: 1000}, func(f *mmapfile.File) error { f.Bytes(); return nil }, ftStoreByWrite},
	{"interval-policy", mmapfile.FlushPolicy{Interval: 5 * time.Millisecond}, ftStoreByWrite, ftWaitForFlush},
	{"close-with-policy", mmapfile.FlushPolicy{Interval: time.Hour}, ftStoreByWrite, (*mmapfile.File).Close},
}

func ftStoreByWrite(f *mmapfile.File) error {
	_, err := f.WriteAt(ftPattern(2000), 3000)
	return err
}

func ftStoreIntoBytes(f *mmapfile.File) error {
	copy(f.Bytes()[3000:], ftPattern(2000))
	return nil
}

func ftSyncRange(f *mmapfile.File) error { return f.SyncRange(3000, 2000) }

func ftWaitForFlush(f *mmapfile.File) error {
	if !ftUntil(20*time.Second, func() bool { return mmapfile.Pending(f) == 0 }) {
		return errors.New("nothing was flushed")
	}
	return nil
}

func ftChildFlush(args []string) error {
	for _, c := range ftFlushes {
		f, err := mmapfile.Options{Flush: c.policy}.OpenFile(args[0], os.O_RDWR, 0)
		if err != nil {
			return err
		}
		if err := c.store(f); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		os.Stat("/before/" + c.name)
		if err := c.flush(f); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		os.Stat("/after/" + c.name)
		f.Close()
	}
	return nil
}

// ftTrace runs a child under strace and returns its calls.
func ftTrace(t *testing.T, calls, mode, name string) string {
	t.Helper()
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("strace traces the system calls: ", err)
	}
	if ftEmulator != "" {
		t.Skip("strace would show the emulator's calls")
	}
	filter := []string{"-e", "trace=" + calls}
	if out, err := exec.Command(strace, append(filter, "true")...).CombinedOutput(); err != nil {
		if out, err := exec.Command(strace, "true").CombinedOutput(); err != nil {
			t.Skipf("strace does not work here: %v: %s", err, out)
		}
		t.Logf("tracing all calls, since not all of %s are there: %s", calls, out)
		filter = nil
	}
	trace := ftTemp(t, nil)
	ftRun(t, ftChild(t, append([]string{strace, "-f", "-y", "-o", trace}, filter...), mode, name))
	return string(ftGet(t, trace))
}

func ftChildHot(args []string) error {
	f, err := mmapfile.OpenFile(args[0], os.O_RDWR, 0)
	if err != nil {
		return err
	}
	var b [100]byte
	for i := range 2000 {
		if i == 1000 {
			os.Stat("/before/hot")
		}
		if _, err := f.ReadAt(b[:], int64(i*37)); err != nil {
			return err
		}
		if _, err := f.Read(b[:10]); err != nil {
			return err
		}
	}
	os.Stat("/after/hot")
	return f.Close()
}

func TestHotReadsMakeNoSystemCall(t *testing.T) {
	t.Parallel()
	if !mmapfile.MapsUnasked {
		t.Skip("reads are system calls here")
	}
	text := ftTrace(t, "pread64,read,lseek,_llseek,newfstatat,stat,statx,fstatat64,stat64,fstat,ioctl", "hot", ftTemp(t, ftPattern(100_000)))
	_, part, ok := strings.Cut(text, `"/before/hot"`)
	part, _, ok2 := strings.Cut(part, `"/after/hot"`)
	if !ok || !ok2 {
		t.Fatal("the marks are not in the trace")
	}
	if calls := regexp.MustCompile(`(?m)^.*\b(pread64|read|_?l?lseek|fstat|ioctl)\(.*$`).FindAllString(part, -1); len(calls) > 0 {
		t.Errorf("2000 hot reads made %d system calls, such as %s", len(calls), calls[0])
	}
}

// What is said to be durable was flushed by a system call that waits for the disk, on that file, and not by
// one that returns at once (msync with MS_ASYNC does nothing on Linux).
func TestEveryFlushIsASynchronousSystemCall(t *testing.T) {
	t.Parallel()
	name := ftTemp(t, ftPattern(100_000))
	text := ftTrace(t, "fsync,fdatasync,msync,newfstatat,stat,statx,fstatat64,stat64", "flush", name)
	onFile := regexp.MustCompile(`\b(fsync|fdatasync)\(\d+<` + regexp.QuoteMeta(name) + `>`)
	onRange := regexp.MustCompile(`\bmsync\(0x[0-9a-f]+, \d+, MS_SYNC`)
	finished := regexp.MustCompile(`(fsync|fdatasync|msync)\(.*\)\s+= 0|<\.\.\. (fsync|fdatasync|msync) resumed>.*= 0`)
	for _, c := range ftFlushes {
		_, part, ok := strings.Cut(text, `"/before/`+c.name+`"`)
		part, _, ok2 := strings.Cut(part, `"/after/`+c.name+`"`)
		if !ok || !ok2 {
			t.Fatalf("%s is not in the trace", c.name)
		}
		flushed := onFile.MatchString(part)
		if strings.HasPrefix(c.name, "syncrange") && mmapfile.CanMap {
			flushed = flushed || onRange.MatchString(part)
		}
		if !flushed || !finished.MatchString(part) {
			t.Errorf("%s: no synchronous flush of the file among\n%s", c.name, part)
		}
	}
}

func TestPrivateFileIsNeverFlushed(t *testing.T) {
	t.Parallel()
	f := ftPrivate(t, ftTemp(t, ftPattern(1000)))
	f.OS().Close() // so that a system call would fail
	if err := errors.Join(f.Sync(), f.SyncRange(0, 100)); err != nil {
		t.Error(err)
	}
}

// ftChildLock runs over RLIMIT_MEMLOCK, as somebody whom it binds.
func ftChildLock(args []string) error {
	const limit = 64 << 10
	if err := unix.Setrlimit(unix.RLIMIT_MEMLOCK, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
		return err
	}
	if os.Geteuid() == 0 { // whom CAP_IPC_LOCK sets free
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
		n, err := ftStatus("VmLck")
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

func TestLockMemoryOverTheLimitLocksNothing(t *testing.T) {
	t.Parallel()
	if !mmapfile.CanMap {
		t.Skip("nothing can be locked")
	}
	if ftEmulator != "" {
		t.Skip("the limit would be the emulator's")
	}
	if page > 16<<10 {
		t.Skip("four pages are more than the limit")
	}
	name := ftTemp(t, bytes.Repeat([]byte("x"), 1<<20))
	if err := os.Chmod(name, 0o644); err != nil {
		t.Fatal(err)
	}
	for dir := name; dir != os.TempDir() && dir != "/"; { // somebody else is to open it
		dir = dir[:strings.LastIndexByte(dir, '/')]
		if fi, err := os.Stat(dir); err != nil || os.Chmod(dir, fi.Mode()|0o755) != nil {
			break
		}
	}
	ftRun(t, ftChild(t, nil, "lock", name))
}

func TestPopulateWriteOfAFullDiskIsAnError(t *testing.T) {
	t.Parallel()
	if !mmapfile.CanMap {
		t.Skip("nothing is populated")
	}
	if ftEmulator != "" {
		t.Skip("qemu-user ignores this advice")
	}
	name := ftSmallDisk(t) + "/data"
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

func TestAdviceStaysWithTheFilesMapping(t *testing.T) {
	t.Parallel()
	if !mmapfile.CanMap {
		t.Skip("there is no mapping")
	}
	f := ftOpen(t, ftTemp(t, ftPattern(1<<20)))
	before := ftMaps(t)
	for off := int64(0); off < 1<<20; off += 4096 {
		if err := f.Advise(off, 4096, mmapfile.WillNeed); err != nil {
			t.Fatal(err)
		}
	}
	f.Bytes()
	if n := ftMaps(t); n > before+50 { // other tests run beside
		t.Errorf("%d maps, %d before", n, before)
	}
}

func TestPrivateOpenOfAPipeDoesNotWait(t *testing.T) {
	t.Parallel()
	name := ftTemp(t, nil) + "pipe"
	if err := unix.Mkfifo(name, 0o600); err != nil {
		t.Skip(err)
	}
	ftWithin(t, time.Minute, func() {
		f, err := mmapfile.Options{Private: true}.OpenFile(name, os.O_RDWR, 0)
		if f != nil || !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("a pipe: %v", err)
		}
	})
}
