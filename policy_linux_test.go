//go:build !nommap

package mmapfile

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
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
	f, err := OpenFile(filepath.Join(t.TempDir(), "file"), os.O_RDWR|os.O_CREATE, 0o600, size)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if len(f.Bytes()) != size {
		t.Skip("the file cannot be mapped here")
	}
	m := f.m.Load()
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
