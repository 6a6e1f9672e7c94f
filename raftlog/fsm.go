package raftlog

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"go.dw1.io/mmapfile/eventlog"
)

// FSM is a state machine whose state is the log itself. It holds the index up to which raft
// has applied the log, and provides the events up to there. It implements [raft.BatchingFSM],
// and needs the Snapshots of its Store.
//
// Its events are the commands that were applied with raft.Raft.Apply. Raft's own entries are
// left out, so some indexes have no event.
type FSM struct {
	s *Store

	mu      sync.Mutex
	applied uint64
	changed chan struct{} // closed when applied changes
}

var _ raft.BatchingFSM = (*FSM)(nil)

// Event is a command that was applied.
//
// Data must not be changed, and is valid only in the body of the loop: copy it to keep it.
type Event struct {
	Index uint64    // index of its entry in raft's log, which raft.ApplyFuture has, too
	Time  time.Time // at which the leader has appended it
	Data  []byte
}

// NewFSM returns the state machine of a store.
func NewFSM(s *Store) *FSM { return &FSM{s: s, changed: make(chan struct{})} }

// Apply notes that the entry is committed, and returns its index.
func (f *FSM) Apply(l *raft.Log) any {
	f.advance(l.Index)
	return l.Index
}

// ApplyBatch is like Apply, for several entries.
func (f *FSM) ApplyBatch(logs []*raft.Log) []any {
	results := make([]any, len(logs))
	for i, l := range logs {
		results[i] = l.Index
	}
	if len(logs) > 0 {
		f.advance(logs[len(logs)-1].Index)
	}
	return results
}

func (f *FSM) advance(index uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.applied = index
	close(f.changed)
	f.changed = make(chan struct{})
}

func (f *FSM) state() (applied uint64, changed <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.applied, f.changed
}

// Applied returns the index of the last entry that was applied, or 0 if none was.
func (f *FSM) Applied() uint64 {
	applied, _ := f.state()
	return applied
}

// First returns the index from which on the stream has events.
func (f *FSM) First() uint64 { return f.s.stream.First() }

// Snapshot returns the index that was applied, as a snapshot.
func (f *FSM) Snapshot() (raft.FSMSnapshot, error) {
	if f.s.isRestoring() {
		return nil, f.s.fail("snapshot", errRestoring) // it would count as one that has its events
	}
	return fsmSnapshot{f.s}, nil
}

// Restore replaces the stream by the snapshot. The reader must be one of the Store's
// Snapshots.
func (f *FSM) Restore(r io.ReadCloser) error {
	defer r.Close()
	from := io.Reader(r)
	for {
		if o, ok := from.(*openSnapshot); ok && o.s == f.s {
			o.Close() // Windows does not remove an open file
			if f.s.isPending(o.meta.ID) {
				return nil // for NewRaft to succeed: there are no events to serve yet
			}
			if err := f.s.restore(o.meta); err != nil {
				return err
			}
			f.advance(o.meta.Index)
			return nil
		}
		w, ok := from.(raft.ReadCloserWrapper)
		if !ok {
			return f.s.fail("restore", errForeign)
		}
		from = w.WrappedReadCloser()
	}
}

// fsmSnapshot is a snapshot of this node: raft knows its index, and the log has its events.
type fsmSnapshot struct{ s *Store }

func (n fsmSnapshot) Persist(to raft.SnapshotSink) error {
	k, ok := to.(*sink)
	if !ok || k.n.s != n.s {
		to.Cancel()
		return n.s.fail("snapshot", errForeign)
	}
	k.inLog = true
	return nil
}

func (fsmSnapshot) Release() {}

// Events returns an iterator over the applied events from the index from on, or from the first
// event if from is 0. An error ends the iteration, and comes with the Index that was reached.
// The errors are those of [eventlog.Stream.Events].
func (f *FSM) Events(from uint64) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		w := f.newWalk(from, yield)
		w.to(f.Applied())
	}
}

// Follow is like Events, but waits for further events. When ctx is done, Follow yields its
// error last; when the Store is closed, it fails with [os.ErrClosed].
func (f *FSM) Follow(ctx context.Context, from uint64) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		w := f.newWalk(from, yield)
		w.ctx = ctx
		for {
			applied, changed := f.state()
			if w.to(applied); w.ended {
				return
			}
			select {
			case <-changed:
			case <-f.s.done:
				w.end(os.ErrClosed)
				return
			case <-ctx.Done():
				w.end(ctx.Err())
				return
			}
		}
	}
}

// walk is one loop over the events. It ends where raft has applied the log. Stream.Follow would
// go on to entries that are not committed, which raft may replace.
type walk struct {
	f     *FSM
	ctx   context.Context // nil for Events
	next  uint64          // index
	first bool            // the first event was asked for, and none was yielded yet
	again uint64          // next + 1 when a loop over the stream was ended last; 0 before
	yield func(Event, error) bool
	ended bool // yield must not be called any more
}

func (f *FSM) newWalk(from uint64, yield func(Event, error) bool) *walk {
	w := &walk{f: f, next: from, first: from == 0, yield: yield}
	if w.first {
		w.next = f.First()
	}
	return w
}

func (w *walk) end(err error) {
	w.ended = true
	w.yield(Event{Index: w.next}, err)
}

// to yields the commands up to index last. While a snapshot is restored, and after that has
// failed, there are none: Events waits for the end, and Follow goes on to wait for the next one.
func (w *walk) to(last uint64) {
	s := w.f.s
	for w.next <= last && !w.ended {
		restores, next := s.restores.Load(), w.next
		if s.restoring.Load() && (w.ctx != nil || s.isRestoring()) {
			if w.ctx == nil {
				w.end(s.fail("events", errRestoring))
			}
			return
		}
		err := w.pass(last, restores)
		if s.restores.Load() != restores || err == nil && w.next > next {
			continue // an error is of the log before
		}
		if err == nil {
			return // the stream has no such event
		}
		// Truncating entries after last, which were not committed, may end the loop, too, and
		// so does a restore, which may bring back the event.
		gone := errors.Is(err, eventlog.ErrTruncated) || errors.Is(err, fs.ErrInvalid)
		has := gone && s.stream.First() <= w.next && w.next <= s.stream.Next() // or will append it next
		if first := w.f.First(); gone && !has && w.first && first > w.next {
			w.next = first // a snapshot begins there
			continue
		}
		if !has || w.again == w.next+1 {
			w.end(err)
		}
		w.again = w.next + 1
	}
}

// pass is one loop over the stream, which ends when the next restore begins.
func (w *walk) pass(last, restores uint64) error {
	for ev, err := range w.f.s.stream.Events(w.next) {
		index := uint64(ev.Seq)
		switch {
		case err != nil:
			return err
		case index > last:
			w.next = last + 1
			return nil
		case w.ctx != nil && w.ctx.Err() != nil:
			return w.ctx.Err()
		case w.f.s.restores.Load() != restores:
			return nil
		}
		e, err := parseEntry(ev.Data)
		if err != nil {
			return w.f.s.fail("events", err)
		}
		w.next = index + 1
		if e.kind != raft.LogCommand {
			continue
		}
		at := e.appendedAt
		if at.IsZero() {
			at = ev.Time
		}
		w.first = false
		if !w.yield(Event{index, at, e.data}, nil) {
			w.ended = true
			return nil
		}
	}
	return nil
}
