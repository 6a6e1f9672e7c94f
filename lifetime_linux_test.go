package mmapfile_test

import (
	"bytes"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"testing"
	"time"

	"go.dw1.io/mmapfile"
)

// The tests below count what the process has, so nothing may run beside them: they are not parallel.

func ftMaps(t testing.TB) int {
	t.Helper()
	return bytes.Count(ftGet(t, "/proc/self/maps"), []byte("\n"))
}

func ftDescriptors(t testing.TB) int {
	t.Helper()
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(names)
}

func ftVirtual(t testing.TB) int64 {
	t.Helper()
	n, err := ftStatus("VmSize")
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// ftSettles runs the collector, whose cleanups run beside us, until ok holds.
func ftSettles(ok func() bool) bool {
	return ftUntil(20*time.Second, func() bool {
		runtime.GC()
		return ok()
	})
}

// Slack: the runtime's own arenas and threads come and go.
const (
	ftSlackMaps    = 60
	ftSlackVirtual = 512 << 20
)

// ftOpenMapClose opens, maps and closes the file so many times, and returns how often Bytes gave nothing.
func ftOpenMapClose(t *testing.T, name string, size, rounds int) (refused int) {
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
			} else if p[i%size] != ftByte(int64(i%size)) {
				t.Fatalf("byte %d is %d", i%size, p[i%size])
			}
		} else {
			for j := range 20 { // until it maps itself
				if n, err := f.ReadAt(b, int64(j)); n != len(b) || err != nil || b[0] != ftByte(int64(j)) {
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

func TestOpenMapCloseRoundsLeaveNoTrace(t *testing.T) {
	const size = 64 << 10 // a leak of every round's mapping would be gigabytes
	name := ftTemp(t, ftPattern(size))
	rounds := 100_000
	if testing.Short() || mmapfile.RaceDetector || !mmapfile.CanMap || strconv.IntSize == 32 {
		rounds = 5_000
	}
	ftOpenMapClose(t, name, size, 5_000) // so that the runtime, and the race detector, have what they need for it
	ftSettles(func() bool { return true })
	maps, virtual, descriptors := ftMaps(t), ftVirtual(t), ftDescriptors(t)
	refused := ftOpenMapClose(t, name, size, rounds)
	if refused > 0 {
		t.Errorf("in %d of %d rounds Bytes gave nothing", refused, rounds)
	}
	if !ftSettles(func() bool { return ftMaps(t) <= maps+ftSlackMaps }) {
		t.Errorf("%d maps before, %d after %d rounds", maps, ftMaps(t), rounds)
	}
	if !ftSettles(func() bool { return ftVirtual(t) <= virtual+ftSlackVirtual }) {
		t.Errorf("%d bytes of address space before, %d after %d rounds", virtual, ftVirtual(t), rounds)
	}
	if n := ftDescriptors(t); n > descriptors+10 {
		t.Errorf("%d descriptors before, %d after", descriptors, n)
	}
}

func TestMapsStayBoundedWithoutTheCollector(t *testing.T) {
	name := ftTemp(t, ftPattern(8<<10))
	rounds := 45_000
	if testing.Short() || mmapfile.RaceDetector || !mmapfile.CanMap || strconv.IntSize == 32 {
		rounds = 5_000
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	if mmapfile.RaceDetector {
		ftMapApart(t, name, rounds) // the detector has maps of its own for memory that was used
	}
	ftSettles(func() bool { return true })
	maps := ftMaps(t)
	ftMapApart(t, name, rounds)
	if !ftSettles(func() bool { return ftMaps(t) <= maps+ftSlackMaps }) {
		t.Errorf("%d maps before, %d after", maps, ftMaps(t))
	}
}

// ftMapApart opens, maps and closes files, with some between that stay open to the end:
// ranges with one of another protection between them do not merge into one map.
func ftMapApart(t testing.TB, name string, rounds int) {
	t.Helper()
	const most = 40_000 // the system allows 65,530
	var between []*mmapfile.File
	refused := 0
	for i := range rounds {
		f := ftOpenUnmapped(t, name)
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
			if n := ftMaps(t); n > most {
				t.Fatalf("%d maps after %d rounds", n, i)
			}
		}
	}
	if n := ftMaps(t); n > most {
		t.Errorf("%d maps after %d rounds", n, rounds)
	}
	if refused > 0 {
		t.Errorf("in %d of %d rounds Bytes gave nothing", refused, rounds)
	}
	for _, f := range between {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

// ftForget opens and maps files, and forgets them.
//
//go:noinline
func ftForget(t testing.TB, name string, n int) {
	t.Helper()
	for i := range n {
		f := ftOpenLoose(t, name)
		if i%2 == 0 { // grown: two mappings each
			if _, err := f.WriteAt([]byte("x"), int64(100_000+i*10_000)); err != nil {
				t.Fatal(err)
			}
			f.Bytes()
		}
	}
}

func TestForgottenFilesComeBack(t *testing.T) {
	name := ftTemp(t, ftPattern(100_000))
	ftSettles(func() bool { return true })
	maps, descriptors := ftMaps(t), ftDescriptors(t)
	ftForget(t, name, 200)
	if !ftSettles(func() bool { return ftDescriptors(t) <= descriptors+10 }) {
		t.Errorf("%d descriptors before, %d after", descriptors, ftDescriptors(t))
	}
	if !ftSettles(func() bool { return ftMaps(t) <= maps+ftSlackMaps }) {
		t.Errorf("%d maps before, %d after", maps, ftMaps(t))
	}
}

// Ranges of a File that grew and shrank for long do not pile up while it is open.
func TestGrowthKeepsFewMaps(t *testing.T) {
	if !mmapfile.CanMap {
		t.Skip("nothing is mapped")
	}
	f := ftOpenMapped(t, ftTemp(t, ftPattern(10)))
	maps := ftMaps(t)
	for i := range 2000 {
		if _, err := f.WriteAt(ftPattern(5000), int64(i*5000)); err != nil {
			t.Fatal(err)
		}
		if b := f.Bytes(); len(b) != (i+1)*5000 {
			t.Fatalf("Bytes gave %d of %d", len(b), (i+1)*5000)
		}
	}
	if n := ftMaps(t); n > maps+ftSlackMaps {
		t.Errorf("%d maps before 2000 pieces of growth, %d after", maps, n)
	}
}

// What is closed stays reserved until it is collected, but that is no reason to refuse the next file:
// on 32 bits a single large one was enough.
func TestAClosedFileDoesNotKeepTheNextFromBeingMapped(t *testing.T) {
	if !mmapfile.CanMap {
		t.Skip("nothing is mapped")
	}
	large, small := ftTemp(t, nil), ftTemp(t, ftPattern(100))
	if err := os.Truncate(large, 1<<30); err != nil {
		t.Skip(err)
	}
	for round := range 3 {
		f := ftOpenUnmapped(t, large)
		for i := range 40 { // until it maps itself, as much as it may
			if _, err := f.ReadAt(make([]byte, 10), int64(i)<<20); err != nil {
				t.Fatal(err)
			}
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		g := ftOpenUnmapped(t, small)
		if g.Bytes() == nil {
			t.Errorf("round %d: Bytes gives nothing after a large file was closed", round)
		}
		if err := g.Close(); err != nil {
			t.Fatal(err)
		}
		runtime.KeepAlive(f) // a program may well hold on to what it closed
	}
}
