package raftlog_test

import (
	"path/filepath"
	"testing"

	"go.dw1.io/mmapfile/internal/filetest"
	"go.dw1.io/mmapfile/raftlog"
)

// A vote that could not be made durable is none for the next process, which would grant it again
// without a write, although the page cache still has it.
func TestOpen_VoteAfterFailedWrite(t *testing.T) {
	d := filetest.NewThinDisk(t, "ext4", "4096")
	dir := filepath.Join(d.Dir, "node")
	key := []byte("LastVoteTerm")
	s := open(t, dir, raftlog.Options{})
	for slot := range int32(2) {
		d.Unwritten(filepath.Join(dir, "stable"), slot)
	}
	must(t, s.SetUint64(key, 1)) // in one of them
	d.Fill(0)
	if err := s.SetUint64(key, 2); err == nil {
		t.Fatal("no error on a device that is full")
	}
	must(t, s.Close())
	d.Free()
	vote := func() uint64 {
		s := open(t, dir, raftlog.Options{})
		defer s.Close()
		term, err := s.GetUint64(key)
		must(t, err)
		return term
	}
	seen := vote()
	d.Remount()
	if term := vote(); term != seen {
		t.Errorf("voted in term %d, and in %d after a crash", seen, term)
	}
}
