package mmapfile_test

import (
	"os"
	"testing"
	"time"

	"go.dw1.io/mmapfile"
)

// A flush in the background has no data race with a program that stores into Bytes, and loses no store.
// (Where Bytes is a copy, the flush compares it; the race detector sees the copy.)
func TestFlushPolicy_BesideBytes(t *testing.T) {
	t.Parallel()
	const size = 100_000
	name := ftTemp(t, make([]byte, size))
	f, err := mmapfile.Options{Flush: mmapfile.FlushPolicy{Interval: time.Millisecond}}.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	old := f.Bytes()
	if _, err := f.WriteAt([]byte{0}, size); err != nil { // where they are copies, Bytes gives another now
		t.Fatal(err)
	}
	b := f.Bytes()
	for end := time.Now().Add(100 * time.Millisecond); time.Now().Before(end); {
		for i := range b {
			b[i] += byte(i)
		}
		ftTouch(old) // which a flush brings up to date
		if _, err := f.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
	}
	want := append([]byte(nil), b...)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	ftSame(t, "the file", ftGet(t, name), want)
}
