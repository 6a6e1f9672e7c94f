package eventlog_test

import (
	"testing"

	"go.dw1.io/mmapfile/eventlog"
	"go.dw1.io/mmapfile/internal/simdisk"
)

// The first batch is not written whole, nor is its count taken back: what Close then leaves can be opened.
func TestClose_CountOfFailedBatch(t *testing.T) {
	w := newWorld(t)
	w.NoMemory = true
	w.Start().Do(func() {
		l, err := eventlog.Open(simDir, eventlog.Options{})
		must(t, err)
		writes := 0
		w.Trace = func(op, _ string) {
			if op == "write" {
				if writes++; writes == 3 { // after the events, and their count
					w.Fails[simdisk.FailWrite] = 256
				}
			}
		}
		if _, err := l.AppendBatch([]byte("a"), []byte("b")); err == nil {
			t.Error("AppendBatch: no error")
		}
		w.Trace = nil
		clear(w.Fails)
		must(t, l.Close())
		l, err = eventlog.Open(simDir, eventlog.Options{})
		must(t, err)
		add(t, l, "c")
		want(t, l.Events(0), "c")
		must(t, l.Close())
	})
}
