//go:build !nommap

package mmapfile

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
	"unsafe"
)

// pageTables is how much of data the process has in its page tables.
func pageTables(t *testing.T, data []byte) (bytes int) {
	t.Helper()
	smaps, err := os.Open("/proc/self/smaps")
	if err != nil {
		t.Skip(err)
	}
	defer smaps.Close()
	start, inside := fmt.Sprintf("%x-", uintptr(unsafe.Pointer(unsafe.SliceData(data)))), false
	for lines := bufio.NewScanner(smaps); lines.Scan(); {
		line := lines.Text()
		if inside = inside || strings.HasPrefix(line, start); !inside {
			continue
		}
		if n, err := fmt.Sscanf(line, "Rss: %d kB", &bytes); n == 1 && err == nil {
			return bytes << 10
		}
	}
	t.Fatal("the mapping is not in /proc/self/smaps")
	return 0
}

func TestStoresThatLostLeaveNoPageReady(t *testing.T) {
	const size = 1 << 20
	f, m := mappedFile(t, size)
	ready := func() {
		t.Helper()
		m.store.setReady(0, size>>regionShift-1, m.store.epoch.Load()<<countBits)
		if !storable(m.data) {
			t.Fatal("a fault")
		}
		if got := pageTables(t, m.data); got != size {
			t.Fatalf("%d of %d bytes that were stored to are in the page tables", got, size)
		}
	}
	ready()
	m.store.spent = 1
	if m.store.slowed(100, 0) {
		t.Error("stores that have saved more than they cost have lost")
	}
	ready()
	m.store.spent = float64(time.Second)
	if !m.store.slowed(0, 0) {
		t.Error("stores that have saved nothing have not lost")
	}
	m.store.setReady(0, 0, m.store.epoch.Load()<<countBits) // again
	f.letGo(m)
	if got := pageTables(t, m.data); got != 1<<regionShift {
		t.Errorf("%d bytes are still in the page tables, and not only what is ready again", got)
	}
}

func TestWritesThatLoseLetGoOfThePages(t *testing.T) {
	const size = 1 << 20
	f, m := mappedFile(t, size)
	if m.store == nil {
		t.Skip("nothing is stored here")
	}
	makeAllReady(f)
	if !storable(m.data) {
		t.Fatal("a fault")
	}
	m.store.mu.Lock()
	m.store.call.value = -float64(time.Second) // so that any store is slower
	m.store.slow = slowMark
	m.store.spent = float64(time.Hour)
	m.store.mu.Unlock()
	for range sampleStores + 1 { // the first is a system call
		if _, err := f.WriteAt([]byte{1}, 0); err != nil {
			t.Fatal(err)
		}
	}
	for deadline := time.Now().Add(time.Minute); pageTables(t, m.data) > 1<<regionShift; runtime.Gosched() { // what is at 0 is stored to again
		if time.Now().After(deadline) {
			t.Fatalf("%d bytes are still in the page tables", pageTables(t, m.data))
		}
	}
}
