package raftlog_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// A snapshot that is being removed is not taken for one, nor is a file that is none: else the
// next Open would fail.
func TestSnapshots_RemovedInPart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, small)
	store(t, s, newLogs(1, 10)...)
	snapshots := filepath.Join(dir, "snapshots")
	must(t, os.WriteFile(filepath.Join(snapshots, "file"), nil, 0o666))
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
			}
			metas, _ := filepath.Glob(filepath.Join(snapshots, "*[0-9]"))
			for _, name := range metas {
				_, err := os.Stat(filepath.Join(name, "meta.json"))
				if _, derr := os.Stat(name); os.IsNotExist(err) && derr == nil {
					t.Errorf("%s has no meta.json", name)
					return
				}
			}
		}
	}()
	for index := range uint64(6) {
		take(t, s, index+1)
		list, err := s.Snapshots().List()
		if err != nil || list[0].Index != index+1 {
			t.Fatal(list, err)
		}
		for i := range 200 { // so that removing it takes a while
			name := filepath.Join(snapshots, list[0].ID, fmt.Sprint("more", i))
			must(t, os.WriteFile(name, nil, 0o666))
		}
	}
	close(stop)
	<-done
	reopen(t, s, dir, small)
}
