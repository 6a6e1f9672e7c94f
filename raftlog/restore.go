package raftlog

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/hashicorp/raft"

	"go.dw1.io/mmapfile/internal/logdisk"
)

var (
	errRestoring = errors.New("a snapshot was restored in part: the leader has to send it again")
	errOld       = errors.New("snapshot ends before the stream begins")
)

const batchBytes = 1 << 20 // a restore appends so many bytes of events at a time

// restore makes the events of a snapshot that was sent the stream, which continues after the
// snapshot's index. It does nothing if they are in the log already.
//
// The file with the events goes last. After a crash Open begins anew, before raft sees a log
// that is neither the old one nor the new.
func (s *Store) restore(m *raft.SnapshotMeta) error {
	dir := s.Snapshots().path(m.ID)
	f, err := logdisk.OpenFile(filepath.Join(dir, dataName), os.O_RDONLY, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if s.isOld(m.Index) {
		return s.fail("restore", fmt.Errorf("%s: %w", m.ID, errOld))
	}
	if fi, err := f.Stat(); err != nil {
		return err
	} else if fi.Size() == 0 { // see dropData
		s.mu.Lock()
		defer s.mu.Unlock()
		s.beginRestore(m.Index + 1)
		return s.fail("restore", fmt.Errorf("%s: %w", m.ID, errRestoring))
	}
	in := bufio.NewReaderSize(logdisk.Reader(f), batchBytes)
	first, count, err := readStart(in)
	if err != nil {
		return s.fail("restore", fmt.Errorf("%s: %w", m.ID, err))
	}
	if err := s.replace(in, first, count, m.Index+1); err != nil {
		return err
	}
	f.Close() // Windows does not remove an open file
	return s.Snapshots().removeData(m.ID)
}

// isOld reports whether a snapshot ends before the stream begins, which dropped what follows it.
func (s *Store) isOld(index uint64) bool { return index+1 < s.stream.First() }

// replace makes count events from in the stream, up to index base. Those that are missing
// there, as after a restore of another cluster's snapshot, are made up without data. After an
// error there are no events.
func (s *Store) replace(in io.Reader, first, count, base uint64) (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.stable.setBase(base); err != nil {
		return err
	}
	s.beginRestore(base)
	if count == 0 {
		first = base
	}
	// A stream does not begin before what it has dropped.
	start := max(first, s.stream.First())
	if err := s.restart(start); err != nil {
		return err
	}
	defer func() {
		if err != nil { // the next attempt needs the space: the disk may be full
			s.stream.TruncateBack(start)
		}
	}()
	none := appendEntry(nil, &raft.Log{Type: raft.LogNoop})
	for seq := first; seq < base; {
		s.buf, s.ends = s.buf[:0], s.ends[:0]
		for ; seq < base && len(s.buf) < batchBytes; seq++ {
			before := len(s.buf)
			if seq >= first+count {
				s.buf = append(s.buf, none...)
			} else if s.buf, err = readFrame(in, s.buf); err != nil {
				return err
			}
			if seq < start {
				s.buf = s.buf[:before]
				continue
			}
			s.ends = append(s.ends, len(s.buf))
		}
		if s.split(); len(s.events) > 0 {
			if _, err = s.stream.AppendBatch(s.events...); err != nil {
				return err
			}
		}
	}
	if err := s.stream.Sync(); err != nil {
		return err
	}
	s.pending = ""
	s.restoring.Store(false)
	return nil
}

// beginRestore makes raft's log empty, whatever is in the stream, and has it begin at base. It
// is called with mu held.
func (s *Store) beginRestore(base uint64) {
	s.restoring.Store(true) // first: see walk.to
	s.restores.Add(1)
	s.next.Store(base)
	s.base.Store(base)
	s.leftover, s.dropped = false, 0
}

// restoreAtOpen is restore for Open, which succeeds without the events if the disk is full: the
// leader sends them again. Until then nothing is appended. The snapshot stays the newest: raft
// votes for no node whose log is shorter. If the log goes on after the snapshot with entries that came later, they stay.
func (s *Store) restoreAtOpen(m *snapshotMeta) error {
	if next := s.stream.Next(); next > m.Index+1 && s.base.Load() <= m.Index+1 {
		last, err := s.term(next - 1)
		at, aerr := s.term(m.Index)
		switch {
		case err != nil || aerr != nil:
			return cmp.Or(err, aerr)
		case (next-1 != m.LastIndex || last != m.LastTerm) && (at == m.Term || s.stream.First() == m.Index+1):
			return s.Snapshots().removeData(m.ID)
		}
	}
	err := s.restore(&m.SnapshotMeta)
	if err != nil && s.restoring.Load() && !errors.Is(err, errTransfer) {
		s.pending, err = m.ID, nil
	}
	return err
}

// isPending reports whether Open has not restored the snapshot.
func (s *Store) isPending(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pending == id
}

// isRestoring reports whether a snapshot was restored in part. It waits for a restore.
func (s *Store) isRestoring() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.restoring.Load()
}

// restart drops all events. The next has the sequence number index. It is called with mu held.
func (s *Store) restart(index uint64) error {
	if index < s.stream.Next() {
		if err := s.stream.TruncateBack(index); err != nil {
			return err
		}
	}
	err := s.stream.TruncateFront(index)
	if err != nil && s.stream.First() < s.stream.Next() {
		// A full disk has room once the events are gone.
		if s.stream.TruncateBack(s.stream.First()) == nil {
			err = s.stream.TruncateFront(index)
		}
	}
	return err
}
