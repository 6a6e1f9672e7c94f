package raftlog

import (
	"crypto/rand"
	"path/filepath"

	"go.dw1.io/mmapfile/internal/logdisk"
)

// The file reserveName has the blocks that a snapshot needs on a disk that the log has filled. Without them raft
// takes none, and deletes entries only after one: the disk would stay full (TestSnapshots_DiskFull).
const (
	reserveName = "reserve"
	reserveSize = 64 << 10 // a directory and a file need two blocks, of 16 KiB at most
)

func (s *Store) reserveName() string { return filepath.Join(s.dir, snapshotName, reserveName) }

// reserve has the reserve file take its blocks, or as many as there are: a snapshot can do without. StoreLogs calls it,
// too, since the stream releases deleted segments after DeleteRange has returned.
func (s *Store) reserve() {
	if s.reserved.Load() {
		return
	}
	fi, err := logdisk.Stat(s.reserveName())
	if err != nil || fi.Size() < reserveSize {
		b := make([]byte, reserveSize)
		rand.Read(b) // a file system may compress zeros
		err = writeFile(s.reserveName(), b)
	}
	s.reserved.Store(err == nil)
}
