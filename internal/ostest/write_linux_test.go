package ostest

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"go.dw1.io/mmapfile/internal/filetest"
)

// Prefaulting allocates no blocks in holes that are not written.
func TestWriteAt_HolesStay(t *testing.T) {
	t.Parallel()
	name := filetest.Temp(t, nil)
	if err := os.Truncate(name, 64<<20); err != nil {
		t.Fatal(err)
	}
	f := filetest.Open(t, name)
	const after = 32 << 20 // these blocks are not those of the holes
	if err := unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, 64<<20, after); err != nil {
		t.Skip("no blocks can be allocated past the end: ", err)
	}
	filetest.Map(t, f)
	var st unix.Stat_t
	allocated := func() int64 {
		if err := unix.Stat(name, &st); err != nil {
			t.Fatal(err)
		}
		return st.Blocks*512 - after
	}
	if allocated() > 0 {
		t.Skip("reading has filled the holes, as on tmpfs")
	}
	const pages = 10
	for page := range int64(pages) {
		for range 2000 {
			if _, err := f.WriteAt([]byte("content"), 1<<20+page*64<<10); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	if got := allocated(); got > 2*pages*int64(max(st.Blksize, 4096)) {
		t.Errorf("%d bytes are allocated for %d pages", got, pages)
	}
}
