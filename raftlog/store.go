package raftlog

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"go.dw1.io/mmapfile/eventlog"
	"go.dw1.io/mmapfile/internal/logdisk"
)

// Options configure a Store. The zero value is the default.
type Options struct {
	// SegmentSize is the length of a segment of the log in bytes; 0 means 64 MiB.
	SegmentSize int64

	// Logger gets warnings, such as that of a snapshot that cannot be read. If it is nil, they
	// go to [hclog.Default].
	Logger hclog.Logger
}

// ErrGap is the error of StoreLogs for indexes that do not follow one another, or the end of
// the log.
var ErrGap = errors.New("index does not follow the one before")

// ErrRange is the error of DeleteRange for a range that is neither at the beginning nor at
// the end of the log.
var ErrRange = errors.New("only a range at the beginning or at the end of the log can be deleted")

// Names of what a Store has in its directory.
const (
	streamName   = "log"
	stableName   = "stable"
	snapshotName = "snapshots"
)

// mostBuffer is kept from one StoreLogs to the next. It is more than the 64 entries that raft
// sends at a time, of 64 KiB: fresh memory costs as much as the copy.
const mostBuffer = 8 << 20

// Store is the log of a raft node, in a stream, and its stable store. The sequence number of
// an event is the index of the log entry. Methods may be called from any number of goroutines.
//
// The stream can hold events before raft's first index, which are those of a snapshot that the
// leader has sent.
type Store struct {
	dir    string
	stream events
	stable *stable
	logger hclog.Logger

	base   atomic.Uint64 // first index that raft's log may have
	next   atomic.Uint64 // index after its last entry
	closed atomic.Bool
	done   chan struct{} // closed by Close

	snapshot atomic.Uint64 // index of the newest snapshot
	restores atomic.Uint64 // restores that have begun: what a reader has seen before is of another log

	restoring atomic.Bool // a snapshot is being restored, or was in part: the log cannot go on; changed with mu held
	reserved  atomic.Bool // the reserve file has its blocks, or a snapshot takes them

	mu       logdisk.Mutex // held by changes of the log; it comes before the locks of stream and stable
	leftover bool          // events from next on are to be truncated first
	pending  string        // ID of such a snapshot that Open has found
	readers  int           // snapshots that are being read, which keep the beginning of the stream
	dropped  uint64        // entries before it are deleted, and still in the stream for these
	buf      []byte        // encoded entries
	ends     []int
	events   [][]byte
}

var (
	_ raft.LogStore          = (*Store)(nil)
	_ raft.MonotonicLogStore = (*Store)(nil)
	_ raft.StableStore       = (*Store)(nil)
)

// Open opens the store in dir. If there is none, it creates it, with its directory. If the
// store is already open, in this process or another, Open fails with [eventlog.ErrLocked].
//
// Open completes what a crash has interrupted, such as restoring a snapshot that the leader
// has sent. If a segment of the log is lost, the error names the entries that are missing. The
// segment before the last one is an exception, unless the store was closed: a crash may leave
// the last segment without entries before it, so its loss is not an error.
func Open(dir string, o Options) (_ *Store, err error) {
	s := &Store{dir: dir, logger: o.Logger, done: make(chan struct{})}
	if s.logger == nil {
		s.logger = hclog.Default()
	}
	// The stream comes first: its lock is that of the store, and it makes the name of dir durable.
	s.stream.Stream, err = eventlog.OpenStream(filepath.Join(dir, streamName), eventlog.StreamOptions{SegmentSize: o.SegmentSize})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	if err = logdisk.Mkdir(filepath.Join(dir, snapshotName), 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	name := filepath.Join(dir, stableName)
	if _, serr := logdisk.Lstat(name); s.stream.Next() > 0 && errors.Is(serr, fs.ErrNotExist) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: errNoStable}
	}
	if s.stable, err = openStable(name); err != nil {
		s.stable = nil // it has no file to close
		return nil, err
	}
	s.base.Store(max(s.stable.base, s.stream.First(), 1)) // raft's first index is 1
	s.next.Store(max(s.stream.Next(), 1))
	if err = s.Snapshots().recover(); err != nil {
		return nil, err
	}
	if err = s.checkLog(); err != nil {
		return nil, err
	}
	if s.stream.Next() == 0 && !s.restoring.Load() { // after the check, for a second Open to fail, too
		if err = s.restart(1); err != nil {
			return nil, err
		}
	}
	s.reserve()
	return s, nil
}

// Close closes the store. Raft must be shut down before.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed.Swap(true) {
		close(s.done)
	}
	err := s.stream.Close()
	if s.stable != nil {
		err = cmp.Or(err, s.stable.close())
	}
	return err
}

func (s *Store) fail(op string, err error) error {
	return &fs.PathError{Op: op, Path: s.dir, Err: err}
}

// IsMonotonic implements raft.MonotonicLogStore: the log has no gaps.
func (s *Store) IsMonotonic() bool { return true }

// FirstIndex returns the index of raft's first log entry, or 0 if there is none.
func (s *Store) FirstIndex() (uint64, error) {
	first, next, err := s.bounds()
	if first >= next {
		first = 0
	}
	return first, err
}

// LastIndex returns the index of the last log entry, or 0 if there is none.
func (s *Store) LastIndex() (uint64, error) {
	first, next, err := s.bounds()
	if first >= next {
		next = 1
	}
	return next - 1, err
}

// bounds returns the first index, and that after the last. The first is not below the other
// in an empty log.
func (s *Store) bounds() (first, next uint64, err error) {
	if s.closed.Load() {
		return 0, 0, s.fail("read", os.ErrClosed)
	}
	return s.base.Load(), s.next.Load(), nil
}

// GetLog reads a log entry. If there is no such entry, it returns [raft.ErrLogNotFound].
func (s *Store) GetLog(index uint64, l *raft.Log) error {
	first, next, err := s.bounds()
	if err != nil {
		return err
	}
	if index < first || index >= next {
		return raft.ErrLogNotFound
	}
	e, err := s.get(index)
	if isMissing(err) {
		return raft.ErrLogNotFound // by a deletion meanwhile
	}
	if err == nil {
		*l = e.log(index)
	}
	return err
}

// get reads an entry. Its slices belong to the caller.
func (s *Store) get(index uint64) (entry, error) {
	ev, err := s.stream.Get(index)
	if err != nil {
		return entry{}, err
	}
	e, err := parseEntry(ev.Data)
	if err != nil {
		err = s.fail("read", fmt.Errorf("index %d: %w", index, err))
	}
	return e, err
}

// isMissing reports whether err is that of an entry that the stream does not have.
func isMissing(err error) bool {
	return errors.Is(err, eventlog.ErrTruncated) || errors.Is(err, fs.ErrNotExist)
}

// term returns the term of an entry, or 0 if the stream does not have it.
func (s *Store) term(index uint64) (uint64, error) {
	e, err := s.get(index)
	if isMissing(err) {
		err = nil
	}
	return e.term, err
}

// StoreLog stores a log entry. See StoreLogs.
func (s *Store) StoreLog(l *raft.Log) error { return s.StoreLogs([]*raft.Log{l}) }

// StoreLogs stores log entries, and returns once they are durable. After an error none of
// them is in the log.
func (s *Store) StoreLogs(logs []*raft.Log) error {
	if len(logs) == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.ready(); err != nil {
		return err
	}
	next := s.next.Load()
	if first := logs[0].Index; first > 0 && first != next && s.stream.First() == s.stream.Next() && s.snapshot.Load() == 0 {
		// An empty log may begin anywhere, unless it continues a snapshot, whose events the stream holds or has dropped.
		if err := s.restart(first); err != nil {
			return err
		}
		s.base.Store(first)
		s.next.Store(first)
		next = first
	}
	for i, l := range logs {
		if l.Index != next+uint64(i) {
			return s.fail("append", fmt.Errorf("%w: %d after %d", ErrGap, l.Index, next+uint64(i)-1))
		}
	}
	s.reserve()
	s.encode(logs)
	_, err := s.stream.AppendBatchSync(s.events...)
	clear(s.events)
	if err != nil {
		s.leftover = true
		s.ready() // if this fails, the next StoreLogs tries again
		return err
	}
	s.next.Store(next + uint64(len(logs)))
	return nil
}

// encode makes events of the logs.
func (s *Store) encode(logs []*raft.Log) {
	if cap(s.buf) > mostBuffer {
		s.buf = nil
	}
	s.buf, s.ends = s.buf[:0], s.ends[:0]
	for _, l := range logs {
		s.buf = appendEntry(s.buf, l)
		s.ends = append(s.ends, len(s.buf))
	}
	s.split()
}

// split makes events of the pieces of buf that end at ends.
func (s *Store) split() {
	begin := 0
	s.events = s.events[:0]
	for _, end := range s.ends {
		s.events = append(s.events, s.buf[begin:end])
		begin = end
	}
}

// ready truncates what a StoreLogs that failed may have left, which raft must not meet
// again. It is called with mu held.
func (s *Store) ready() error {
	switch {
	case s.closed.Load():
		return s.fail("append", os.ErrClosed)
	case s.restoring.Load():
		return s.fail("append", errRestoring)
	case !s.leftover:
		return nil
	}
	next := s.next.Load()
	if s.stream.Next() > next {
		if err := s.stream.TruncateBack(next); err != nil {
			return err
		}
	}
	s.leftover = false
	return nil
}

// DeleteRange deletes the log entries from first to last, which must be the first or the last
// entries of the log: otherwise it fails with [ErrRange]. The deletion is durable when
// DeleteRange returns.
func (s *Store) DeleteRange(first, last uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.ready(); err != nil {
		return err
	}
	base, next := s.base.Load(), s.next.Load()
	atFront, atBack := first <= base, last >= next-1
	switch {
	case first > last || last < base || first >= next || base >= next:
		return nil
	case atFront && !atBack:
		return s.deleteFront(last + 1)
	case atFront && next-1 <= s.snapshot.Load():
		return s.deleteAll(next)
	case atBack:
		// A whole log that is in no snapshot was not committed: it goes, and events before it stay.
		return s.deleteBack(max(first, base))
	}
	return s.fail("delete", fmt.Errorf("%w: %d to %d of %d to %d", ErrRange, first, last, base, next-1))
}

// deleteAll has the log, all of which is in a snapshot, go on at index next. The events stay:
// they are the snapshot, and raft.RecoverCluster relies on that. The next deletion of a part
// drops them. It is called with mu held.
func (s *Store) deleteAll(next uint64) error {
	if err := s.stable.setBase(next); err != nil {
		return err
	}
	s.base.Store(next)
	return nil
}

// deleteBack deletes the entries from index on. It is called with mu held.
func (s *Store) deleteBack(index uint64) error {
	if err := s.stream.TruncateBack(index); err != nil {
		return err
	}
	s.next.Store(index)
	return nil
}

// deleteFront deletes the entries before index. It is called with mu held.
func (s *Store) deleteFront(index uint64) error {
	if s.readers > 0 {
		s.dropped = index // for the last of the readers to truncate
	} else if err := s.stream.TruncateFront(index); err != nil {
		return err
	}
	s.base.Store(index)
	return nil
}
