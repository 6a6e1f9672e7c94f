package ostest

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/filetest"
	"go.dw1.io/mmapfile/internal/race"
)

// collectUntil runs the collector until ok holds. Cleanups run in another goroutine.
func collectUntil(ok func() bool) bool {
	return filetest.Eventually(func() bool {
		runtime.GC()
		return ok()
	})
}

// The arenas and threads of the runtime come and go.
const (
	slackMaps    = 60
	slackVirtual = 512 << 20
)

// openMapClose opens, maps and closes the file in each round. It returns how often Bytes was nil.
func openMapClose(t *testing.T, name string, size, rounds int) (refused int) {
	t.Helper()
	b := make([]byte, 16)
	for i := range rounds {
		f, err := mmapfile.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			if p := f.Bytes(); p == nil {
				refused++
			} else if p[i%size] != filetest.PatternByte(int64(i%size)) {
				t.Fatalf("byte %d is %d", i%size, p[i%size])
			}
		} else {
			for j := range 20 { // calls alone map it
				if n, err := f.ReadAt(b, int64(j)); n != len(b) || err != nil || b[0] != filetest.PatternByte(int64(j)) {
					t.Fatalf("ReadAt: %d, %v, %d", n, err, b[0])
				}
			}
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return refused
}

func TestClose_ReleasesEverything(t *testing.T) {
	const size = 64 << 10 // a leak in every second round would be more than slackVirtual
	name := filetest.Temp(t, filetest.Pattern(size))
	rounds := 20_000
	if testing.Short() || race.Detector || !filetest.CanMap || strconv.IntSize == 32 {
		rounds = 5_000
	}
	openMapClose(t, name, size, 5_000) // so that the runtime and the race detector have their memory
	collectUntil(func() bool { return true })
	maps, virtual, descriptors := filetest.CountMaps(t), filetest.VirtualSize(t), filetest.CountDescriptors(t)
	refused := openMapClose(t, name, size, rounds)
	if refused > 0 {
		t.Errorf("in %d of %d rounds Bytes was nil", refused, rounds)
	}
	if !collectUntil(func() bool { return filetest.CountMaps(t) <= maps+slackMaps }) {
		t.Errorf("%d maps before, %d after %d rounds", maps, filetest.CountMaps(t), rounds)
	}
	if !collectUntil(func() bool { return filetest.VirtualSize(t) <= virtual+slackVirtual }) {
		t.Errorf("%d bytes of address space before, %d after %d rounds", virtual, filetest.VirtualSize(t), rounds)
	}
	if n := filetest.CountDescriptors(t); n > descriptors+10 {
		t.Errorf("%d descriptors before, %d after", descriptors, n)
	}
}

func TestClose_MapsBounded(t *testing.T) {
	name := filetest.Temp(t, filetest.Pattern(8<<10))
	rounds := 45_000
	if testing.Short() || race.Detector || !filetest.CanMap || strconv.IntSize == 32 {
		rounds = 5_000
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	if race.Detector {
		mapApart(t, name, rounds) // the race detector maps memory for each range once
	}
	collectUntil(func() bool { return true })
	maps := filetest.CountMaps(t)
	mapApart(t, name, rounds)
	if !collectUntil(func() bool { return filetest.CountMaps(t) <= maps+slackMaps }) {
		t.Errorf("%d maps before, %d after", maps, filetest.CountMaps(t))
	}
}

// mapApart opens, maps and closes files. Some between them stay open to the end, so that the
// kernel cannot merge the reserved ranges into one map.
func mapApart(t testing.TB, name string, rounds int) {
	t.Helper()
	const most = 40_000 // the system allows 65,530
	var between []*mmapfile.File
	refused := 0
	for i := range rounds {
		f := filetest.OpenReadOnly(t, name)
		if f.Bytes() == nil {
			refused++
		}
		if i%50 == 0 && len(between) < 500 {
			between = append(between, f)
			continue
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if i%2000 == 0 {
			if n := filetest.CountMaps(t); n > most {
				t.Fatalf("%d maps after %d rounds", n, i)
			}
		}
	}
	if n := filetest.CountMaps(t); n > most {
		t.Errorf("%d maps after %d rounds", n, rounds)
	}
	if refused > 0 {
		t.Errorf("in %d of %d rounds Bytes was nil", refused, rounds)
	}
	for _, f := range between {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

// forgetFiles opens and maps files without closing them.
//
//go:noinline
func forgetFiles(t testing.TB, name string, n int) {
	t.Helper()
	for i := range n {
		f := openUnclosed(t, name)
		if i%2 == 0 { // grown: two mappings each
			if _, err := f.WriteAt([]byte("x"), int64(100_000+i*10_000)); err != nil {
				t.Fatal(err)
			}
			f.Bytes()
		}
	}
}

func TestFile_Cleanup(t *testing.T) {
	name := filetest.Temp(t, filetest.Pattern(100_000))
	collectUntil(func() bool { return true })
	maps, descriptors := filetest.CountMaps(t), filetest.CountDescriptors(t)
	forgetFiles(t, name, 200)
	if !collectUntil(func() bool { return filetest.CountDescriptors(t) <= descriptors+10 }) {
		t.Errorf("%d descriptors before, %d after", descriptors, filetest.CountDescriptors(t))
	}
	if !collectUntil(func() bool { return filetest.CountMaps(t) <= maps+slackMaps }) {
		t.Errorf("%d maps before, %d after", maps, filetest.CountMaps(t))
	}
}

// The maps of a File that grows for a long time stay few while it is open.
func TestBytes_FewMapsWhileGrowing(t *testing.T) {
	if !filetest.CanMap {
		t.Skip("nothing is mapped")
	}
	f := filetest.OpenMapped(t, filetest.Temp(t, filetest.Pattern(10)))
	maps := filetest.CountMaps(t)
	for i := range 2000 {
		if _, err := f.WriteAt(filetest.Pattern(5000), int64(i*5000)); err != nil {
			t.Fatal(err)
		}
		if b := f.Bytes(); len(b) != (i+1)*5000 {
			t.Fatalf("Bytes returned %d of %d", len(b), (i+1)*5000)
		}
	}
	if n := filetest.CountMaps(t); n > maps+slackMaps {
		t.Errorf("%d maps before 2000 pieces of growth, %d after", maps, n)
	}
}

// The range of a closed File stays reserved until it is collected. Nevertheless the next file is
// mapped, also on 32 bits after one large file.
func TestClose_NextFileIsMapped(t *testing.T) {
	if !filetest.CanMap {
		t.Skip("nothing is mapped")
	}
	large, small := filetest.Temp(t, nil), filetest.Temp(t, filetest.Pattern(100))
	if err := os.Truncate(large, 1<<30); err != nil {
		t.Skip(err)
	}
	for round := range 3 {
		f := filetest.OpenReadOnly(t, large)
		for i := range 40 { // until calls have mapped as much as they may
			if _, err := f.ReadAt(make([]byte, 10), int64(i)<<20); err != nil {
				t.Fatal(err)
			}
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		g := filetest.OpenReadOnly(t, small)
		if g.Bytes() == nil {
			t.Errorf("round %d: Bytes is nil after a large file was closed", round)
		}
		if err := g.Close(); err != nil {
			t.Fatal(err)
		}
		runtime.KeepAlive(f) // programs may keep closed Files
	}
}

// Each new mapping takes a range of the address space while the File is open.
func TestReadAt_FollowingTakesFewMaps(t *testing.T) {
	t.Parallel()
	for _, parent := range []string{t.TempDir(), "/dev/shm"} {
		dir, err := os.MkdirTemp(parent, "mmapfile")
		if err != nil {
			t.Skip(err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		name := filepath.Join(dir, "log")
		page := filetest.Pattern(4096)
		filetest.Write(t, name, page)
		f := filetest.Open(t, name)
		w, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { w.Close() })
		off, buf := int64(0), make([]byte, 64)
		for range 500 {
			if _, err := w.Write(page); err != nil {
				t.Fatal(err)
			}
			for err == nil {
				var n int
				n, err = f.ReadAt(buf, off)
				if !bytes.Equal(buf[:n], page[off%4096:][:n]) {
					t.Fatalf("wrong bytes at %d", off)
				}
				off += int64(n)
			}
			if err != io.EOF {
				t.Fatal(err)
			}
			err = nil
		}
		if want := int64(501 * 4096); off != want {
			t.Errorf("in %s: read %d bytes of %d", parent, off, want)
		}
		if n := strings.Count(string(filetest.Read(t, "/proc/self/maps")), name); n > 20 {
			t.Errorf("in %s: %d mappings", parent, n)
		}
	}
}

// A closed File does not keep its file system busy, even if it was mapped. Not in parallel:
// a child that another test starts has copies of all descriptors until its exec.
func TestClose_RemountReadOnly(t *testing.T) {
	dir := filetest.SmallDisk(t)
	name := filepath.Join(dir, "file")
	content := filetest.Pattern(100_000)
	filetest.Write(t, name, content)
	remount := func() error {
		return syscall.Mount("mmapfile-test", dir, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, "")
	}
	f := filetest.OpenMapped(t, name)
	filetest.PrefaultWrites(t, f, content)
	if err := remount(); err != syscall.EBUSY {
		t.Errorf("with a file open for writing: %v", err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := remount(); err != nil {
		t.Errorf("after Close: %v", err)
	}
	runtime.KeepAlive(f)
	if _, err := mmapfile.OpenFile(name, os.O_RDWR, 0); !errors.Is(err, syscall.EROFS) {
		t.Errorf("OpenFile for writing: %v", err)
	}
	r, err := mmapfile.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	filetest.SameBytes(t, "the file", r.Bytes(), content)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Unmount(dir, 0); err != nil {
		t.Errorf("after all were closed: %v", err)
	}
	runtime.KeepAlive(r)
	if err := syscall.Mount("mmapfile-test", dir, "tmpfs", 0, "size=1m"); err != nil { // smallDisk unmounts it again
		t.Fatal(err)
	}
}
