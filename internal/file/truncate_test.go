package file_test

import (
	"bytes"
	"runtime"
	"sync"
	"testing"

	"go.dw1.io/mmapfile/internal/file"
	"go.dw1.io/mmapfile/internal/filetest"
	"go.dw1.io/mmapfile/internal/race"
)

// A write beside a truncation of the same File happens as a whole, before it or after it.
func TestTruncate_BesideWriteAt(t *testing.T) {
	t.Parallel()
	rounds := 2000
	switch {
	case testing.Short() && runtime.GOOS == "windows":
		rounds = 60 // each takes 100 ms under wine
	case testing.Short() || race.Detector:
		rounds = 600
	}
	const size, off, n, cut = 100_000, 1000, 60_000, 30_500
	name := filetest.Temp(t, nil)
	f := filetest.Open(t, name)
	old, b := bytes.Repeat([]byte{'A'}, size), bytes.Repeat([]byte{'B'}, n)
	stored := 0
	for round := range rounds {
		if err := f.Truncate(size); err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt(old, 0); err != nil {
			t.Fatal(err)
		}
		mustMap(t, f)
		file.PrefaultAll(f)
		for range 2 { // the first begins a period; under the race detector the last page is not mapped
			if _, err := f.WriteAt(old[:n], 0); err != nil {
				t.Fatal(err)
			}
		}
		if file.WroteMapped(f) {
			stored++
		}
		var both sync.WaitGroup
		both.Go(func() {
			for range round % 50 {
				runtime.Gosched() // another moment of the write in each round
			}
			for _, size := range []int64{cut, size} {
				if err := f.Truncate(size); err != nil {
					t.Error(err)
				}
			}
		})
		both.Go(func() {
			if k, err := f.WriteAt(b, off); k != n || err != nil {
				t.Errorf("WriteAt: %d, %v", k, err)
			}
		})
		both.Wait()
		if k := bytes.Count(filetest.Read(t, name), b[:1]); k != n && k != cut-off {
			t.Fatalf("round %d: %[3]d of the %[2]d written bytes are left, want all or the %[4]d before the truncation", round, n, k, cut-off)
		}
	}
	if filetest.MapsUnasked && stored < rounds/2 {
		t.Errorf("only %d of %d rounds with mapped writes", stored, rounds)
	}
}
