package raftlog

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"time"
)

// The file reserveName takes blocks that a snapshot needs on a full disk: raft deletes entries
// only after a snapshot, so without one a disk that the log has filled would stay full.
const (
	reserveName = "reserve"
	reserveSize = 64 << 10 // a directory and a file need two blocks, of 16 KiB at most
)

func (n Snapshots) reserveName() string { return filepath.Join(n.dir(), reserveName) }

// reserve has the reserve file take its blocks, or as many as there are: a snapshot can do
// without.
func (n Snapshots) reserve() {
	if n.s.reserved.Load() {
		return
	}
	fi, err := os.Stat(n.reserveName())
	if err != nil || fi.Size() < reserveSize {
		b := make([]byte, reserveSize)
		rand.Read(b) // a file system may compress zeros
		err = writeFile(n.reserveName(), b)
	}
	n.s.reserved.Store(err == nil)
}

// reserveAgain is reserve for StoreLogs, which tries it once a second on a full disk: the stream
// releases deleted segments after DeleteRange has returned. It is called with mu held.
func (s *Store) reserveAgain() {
	if !s.reserved.Load() && time.Since(s.reserveTried) > time.Second {
		s.Snapshots().reserve()
		s.reserveTried = time.Now()
	}
}

// withReserve calls fn, and once more after an error if the reserve file had blocks to release.
// It releases half of them, so that the next step of a snapshot has some, too: meanwhile the log
// may take what is free.
func (n Snapshots) withReserve(fn func() error) error {
	err := fn()
	if err == nil {
		return nil
	}
	name := n.reserveName()
	fi, serr := os.Stat(name)
	n.s.reserved.Store(false)
	switch {
	case serr != nil || fi.Size() == 0:
		return err
	case fi.Size() > reserveSize/2:
		serr = os.Truncate(name, reserveSize/2)
	default:
		serr = os.Remove(name)
	}
	if serr != nil {
		return err
	}
	return fn()
}
