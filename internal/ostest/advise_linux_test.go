package ostest

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/filetest"
)

func TestAdvise_ManyRanges(t *testing.T) {
	t.Parallel()
	if !filetest.CanMap {
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
	if filetest.Emulator != "" || !filetest.CanMap {
		t.Skip("needs a filter of system calls")
	}
	filetest.RunChild(t, filetest.ChildCommand(t, nil, "eagain", filetest.Temp(t, filetest.Pattern(100_000))))
}

func init() { filetest.Children["eagain"] = childEAGAIN }

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
	if !filetest.CanMap {
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
