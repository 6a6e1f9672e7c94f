package file

import (
	"os"
	"testing"
)

func TestProof_PageAfter(t *testing.T) {
	t.Parallel()
	page := int64(pageSize)
	for i, want := range map[int]int64{0: page, 1: page, pageSize - 1: page, pageSize: 2 * page, 2*pageSize + 5: 3 * page} {
		if got := pageAfter(i); got != want {
			t.Errorf("pageAfter(%d) is %d, want %d", i, got, want)
		}
	}
}

func TestProof_LineAfter(t *testing.T) {
	t.Parallel()
	m := &mapping{data: make([]byte, 3*lineSize)}
	for at := range m.data {
		m.data[at] = 1
		for i := range len(m.data) + 1 {
			want := i%lineSize != 0 && i <= at && at/lineSize == i/lineSize
			if got := m.lineAfter(i); got != want {
				t.Fatalf("byte %d is not zero: lineAfter(%d) is %v", at, i, got)
			}
		}
		m.data[at] = 0
	}
}

// proofFile opens and maps a sparse file of three pages and 100 bytes, all of whose pages are known.
func proofFile(t *testing.T) (*File, *mapping) {
	t.Helper()
	if noUnifiedCache {
		t.Skip("the system keeps pages of a truncated file")
	}
	HoldPages(t) // other tests evict pages
	f, m := mappedFile(t, 3*int64(pageSize)+100)
	prefaultAll(f)
	return f, m
}

// A page that follows, and that the file still has, proves that the file has the whole page before it.
func TestProof_Inside(t *testing.T) {
	t.Parallel()
	f, m := proofFile(t)
	check := func(i int, want bool) {
		t.Helper()
		if got := f.provesPage(m, i); got != want {
			t.Errorf("inside of byte %d is %v", i, got)
		}
		if got := f.proves(m, i); got != want { // all bytes are zero
			t.Errorf("holds of byte %d is %v", i, got)
		}
	}
	for _, i := range []int{0, pageSize - 1, pageSize, 3*pageSize - 1} {
		check(i, true)
	}
	for _, i := range []int{3 * pageSize, 3*pageSize + 99} {
		check(i, false)
	}
	if err := os.Truncate(f.Name(), int64(pageSize)+1); err != nil {
		t.Fatal(err)
	}
	check(0, true)
	check(pageSize, false)
	check(2*pageSize, false)
	if err := f.Truncate(2 * int64(pageSize)); err != nil { // which f knows of
		t.Fatal(err)
	}
	check(pageSize, false)
	if size := int64(pageSize) * 2; !f.isLast(m, size) || f.isLast(m, size-int64(pageSize)) || !f.isLast(m, int64(len(m.data))) {
		t.Error("isLast does not hold from the end of the file on")
	}
}

// Bytes that are not zero prove that the file reaches so far.
func TestProof_Holds(t *testing.T) {
	t.Parallel()
	f, m := proofFile(t)
	last := 3*pageSize + 10
	m.data[last] = 1
	for i, want := range map[int]bool{last: true, last - 1: true, last + 1: false, 3 * pageSize: true} {
		if got := f.proves(m, i); got != want {
			t.Errorf("holds of byte %d is %v, and byte %d is not zero", i, got, last)
		}
	}
}

// A page of which nothing is known is not loaded, because that could wait for the disk.
func TestProof_UnknownPage(t *testing.T) {
	t.Parallel()
	f, m := proofFile(t)
	f.pages.Truncated(0)
	if f.provesPage(m, 0) || f.proves(m, 0) {
		t.Error("an unknown page proves the one before it")
	}
}
