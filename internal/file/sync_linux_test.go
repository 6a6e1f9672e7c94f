package file_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/file"
	"go.dw1.io/mmapfile/internal/filetest"
)

func init() {
	filetest.Children["flush"] = childFlush
	filetest.Children["hot"] = childHot
}

// flushCases has all the ways to flush. A child makes them in turn, and marks each in the trace
// with a Stat of a missing file.
var flushCases = []struct {
	name   string
	policy mmapfile.FlushPolicy
	store  func(f *mmapfile.File) error
	flush  func(f *mmapfile.File) error
}{
	{"sync-after-write", mmapfile.FlushPolicy{}, writeByCall, (*mmapfile.File).Sync},
	{"sync-after-store", mmapfile.FlushPolicy{}, writeIntoBytes, (*mmapfile.File).Sync},
	{"syncrange-after-write", mmapfile.FlushPolicy{}, writeByCall, syncRange},
	{"syncrange-after-store", mmapfile.FlushPolicy{}, writeIntoBytes, syncRange},
	{"bytes-policy", mmapfile.FlushPolicy{Bytes: 1000}, func(*mmapfile.File) error { return nil }, writeByCall},
	{"bytes-policy-mapped", mmapfile.FlushPolicy{Bytes: 1000}, func(f *mmapfile.File) error { f.Bytes(); return nil }, writeByCall},
	{"interval-policy", mmapfile.FlushPolicy{Interval: 5 * time.Millisecond}, writeByCall, waitForFlush},
	{"close-with-policy", mmapfile.FlushPolicy{Interval: time.Hour}, writeByCall, (*mmapfile.File).Close},
}

func writeByCall(f *mmapfile.File) error {
	_, err := f.WriteAt(filetest.Pattern(2000), 3000)
	return err
}

func writeIntoBytes(f *mmapfile.File) error {
	copy(f.Bytes()[3000:], filetest.Pattern(2000))
	return nil
}

func syncRange(f *mmapfile.File) error { return f.SyncRange(3000, 2000) }

func waitForFlush(f *mmapfile.File) error {
	if !filetest.Eventually(func() bool { return file.Pending(f) == 0 }) {
		return errors.New("nothing was flushed")
	}
	return nil
}

func childFlush(args []string) error {
	for _, c := range flushCases {
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

// traceChild runs a child under strace and returns the trace.
func traceChild(t *testing.T, calls, mode, name string) string {
	t.Helper()
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("strace traces the system calls: ", err)
	}
	if filetest.Emulator != "" {
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
	trace := filetest.Temp(t, nil)
	filetest.RunChild(t, filetest.ChildCommand(t, append([]string{strace, "-f", "-y", "-o", trace}, filter...), mode, name))
	return string(filetest.Read(t, trace))
}

func childHot(args []string) error {
	f, err := mmapfile.OpenFile(args[0], os.O_RDWR, 0)
	if err != nil {
		return err
	}
	var b [100]byte
	for i := range 2000 {
		if i == 1000 {
			os.Stat("/before/hot")
		}
		if _, err := f.ReadAt(b[:], int64(i%1000*37)); err != nil {
			return err
		}
		if _, err := f.Read(b[:10]); err != nil {
			return err
		}
	}
	os.Stat("/after/hot")
	return f.Close()
}

func TestReadAt_NoSystemCall(t *testing.T) {
	t.Parallel()
	if !filetest.MapsUnasked {
		t.Skip("reads are system calls here")
	}
	text := traceChild(t, "pread64,read,lseek,_llseek,newfstatat,stat,statx,fstatat64,stat64,fstat,ioctl", "hot", filetest.Temp(t, filetest.Pattern(100_000)))
	_, part, ok := strings.Cut(text, `"/before/hot"`)
	part, _, ok2 := strings.Cut(part, `"/after/hot"`)
	if !ok || !ok2 {
		t.Fatal("the marks are not in the trace")
	}
	if calls := regexp.MustCompile(`(?m)^.*\b(pread64|read|_?l?lseek|fstat|ioctl)\(.*$`).FindAllString(part, -1); len(calls) > 0 {
		t.Errorf("2000 mapped reads made %d system calls, such as %s", len(calls), calls[0])
	}
}

// Each flush is a system call on the file that waits for the disk. (msync with MS_ASYNC does
// nothing on Linux.)
func TestSync_SystemCalls(t *testing.T) {
	t.Parallel()
	name := filetest.Temp(t, filetest.Pattern(100_000))
	text := traceChild(t, "fsync,fdatasync,msync,newfstatat,stat,statx,fstatat64,stat64", "flush", name)
	onFile := regexp.MustCompile(`\b(fsync|fdatasync)\(\d+<` + regexp.QuoteMeta(name) + `>`)
	onRange := regexp.MustCompile(`\bmsync\(0x[0-9a-f]+, \d+, MS_SYNC`)
	finished := regexp.MustCompile(`(fsync|fdatasync|msync)\(.*\)\s+= 0|<\.\.\. (fsync|fdatasync|msync) resumed>.*= 0`)
	for _, c := range flushCases {
		_, part, ok := strings.Cut(text, `"/before/`+c.name+`"`)
		part, _, ok2 := strings.Cut(part, `"/after/`+c.name+`"`)
		if !ok || !ok2 {
			t.Fatalf("%s is not in the trace", c.name)
		}
		flushed := onFile.MatchString(part)
		if strings.HasPrefix(c.name, "syncrange") && filetest.CanMap {
			flushed = flushed || onRange.MatchString(part)
		}
		if !flushed || !finished.MatchString(part) {
			t.Errorf("%s: no synchronous flush of the file among\n%s", c.name, part)
		}
	}
}

func TestPrivate_NeverFlushed(t *testing.T) {
	t.Parallel()
	f, err := mmapfile.Options{Private: true}.OpenFile(filetest.Temp(t, filetest.Pattern(1000)), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	file.CloseInner(f) // a system call would fail
	if err := errors.Join(f.Sync(), f.SyncRange(0, 100)); err != nil {
		t.Error(err)
	}
}
