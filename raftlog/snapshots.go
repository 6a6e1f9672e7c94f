package raftlog

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/raft"
)

// Snapshots keeps the snapshots of a Store. It implements raft.SnapshotStore.
//
// A snapshot of this node is an index: its events are in the log, and taking it writes no
// data. One that the leader has sent is a file of events, until the FSM has restored it: then
// its events are in the log as well.
type Snapshots struct{ s *Store }

var _ raft.SnapshotStore = Snapshots{}

// Snapshots returns the snapshots of the store, for raft.NewRaft.
func (s *Store) Snapshots() Snapshots { return Snapshots{s} }

// Names in the directory of a snapshot, which has the name of its ID.
const (
	metaName = "meta.json"
	dataName = "events" // not there once the events are in the log
	tempEnd  = ".tmp"
)

const keptSnapshots = 2

var (
	errVersion = errors.New("version of the snapshot is not supported")
	errDropped = errors.New("snapshot begins before the stream, which cannot have these events again: restore it in a new cluster")
	errForeign = errors.New("FSM needs the snapshots of its Store")
)

func (n Snapshots) dir() string           { return filepath.Join(n.s.dir, snapshotName) }
func (n Snapshots) path(id string) string { return filepath.Join(n.dir(), filepath.Base(id)) }

// Create begins a snapshot.
func (n Snapshots) Create(version raft.SnapshotVersion, index, term uint64, configuration raft.Configuration,
	configurationIndex uint64, _ raft.Transport) (raft.SnapshotSink, error) {
	if version != raft.SnapshotVersionMax {
		return nil, n.s.fail("snapshot", fmt.Errorf("%w: %d", errVersion, version))
	}
	// The names sort as the snapshots do.
	id := fmt.Sprintf("%020d-%020d-%d", term, index, time.Now().UnixNano())
	k := &sink{n: n, meta: raft.SnapshotMeta{
		Version: version, ID: id, Index: index, Term: term,
		Configuration: configuration, ConfigurationIndex: configurationIndex,
	}}
	n.reserve()
	if err := n.withReserve(func() error { return os.Mkdir(k.temp(), 0o777) }); err != nil {
		return nil, err
	}
	return k, nil
}

// List returns the snapshots, the newest first. It skips those that cannot be read, with a
// warning to Options.Logger. That the newest cannot be read is an error: an older one may lack
// members, and entries that are no longer in the log.
func (n Snapshots) List() ([]*raft.SnapshotMeta, error) {
	ids, err := n.ids()
	if err != nil {
		return nil, err
	}
	var list []*raft.SnapshotMeta
	for i, id := range ids[:min(len(ids), keptSnapshots)] {
		m, err := n.read(id)
		if err != nil && i == 0 {
			return nil, err
		}
		if err != nil {
			n.warn(id, err)
			continue
		}
		list = append(list, m)
	}
	return list, nil
}

func (n Snapshots) warn(id string, err error) {
	n.s.logger.Warn("raftlog: cannot read an old snapshot", "id", id, "error", err)
}

// ids returns the names of all snapshots, the newest first.
func (n Snapshots) ids() (ids []string, err error) {
	entries, err := os.ReadDir(n.dir())
	for _, e := range entries {
		if e.IsDir() && !strings.HasSuffix(e.Name(), tempEnd) {
			ids = append(ids, e.Name())
		}
	}
	slices.Reverse(ids)
	return ids, err
}

func (n Snapshots) read(id string) (*raft.SnapshotMeta, error) {
	b, err := os.ReadFile(filepath.Join(n.path(id), metaName))
	if err != nil {
		return nil, err
	}
	m := new(raft.SnapshotMeta)
	if err := json.Unmarshal(b, m); err != nil {
		return nil, n.s.fail("read", fmt.Errorf("snapshot %s: %w", id, err))
	}
	return m, nil
}

// Open returns a reader of the snapshot's events. The stream keeps them until it is closed.
func (n Snapshots) Open(id string) (*raft.SnapshotMeta, io.ReadCloser, error) {
	m, err := n.read(id)
	if err != nil {
		return nil, nil, err
	}
	o := &openSnapshot{s: n.s, meta: m}
	f, err := os.Open(filepath.Join(n.path(id), dataName))
	if err == nil {
		var fi os.FileInfo
		if fi, err = f.Stat(); err != nil {
			f.Close()
			return nil, nil, err
		}
		m.Size, o.ReadCloser = fi.Size(), f
		return m, o, nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return nil, nil, err
	}
	r := n.s.newSnapshotReader(m.Index)
	m.Size, o.ReadCloser = r.size, r
	return m, o, nil
}

// openSnapshot tells FSM.Restore which snapshot it is.
type openSnapshot struct {
	io.ReadCloser
	s    *Store
	meta *raft.SnapshotMeta
}

// recover restores what the leader has sent and a crash has kept from the log, and removes
// what is of no use.
func (n Snapshots) recover() error {
	entries, err := os.ReadDir(n.dir())
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), tempEnd) {
			if err := os.RemoveAll(n.path(e.Name())); err != nil {
				return err
			}
		}
	}
	ids, err := n.ids()
	if err != nil || len(ids) == 0 {
		return err
	}
	for i, id := range ids {
		m, err := n.read(id)
		if err != nil && i == 0 {
			return err
		}
		if err != nil {
			n.warn(id, err)
			continue
		}
		if _, err := os.Stat(filepath.Join(n.path(id), dataName)); err == nil && (i > 0 || n.s.isOld(m.Index)) {
			// A newer one has replaced it before it was restored.
			if err := n.remove(id); err != nil {
				return err
			}
			continue
		}
		n.s.snapshot.Store(max(n.s.snapshot.Load(), m.Index))
		if err := n.s.restoreAtOpen(m); err != nil {
			return err
		}
	}
	return nil
}

// reap removes all but the newest snapshots.
func (n Snapshots) reap() error {
	ids, err := n.ids()
	for _, id := range ids[min(len(ids), keptSnapshots):] {
		err = errors.Join(err, n.remove(id))
	}
	return err
}

// removeAfter removes snapshots of higher indexes. The leader sends an older one to a node that
// could not append: the log ends there then, and lacks the events of these. Until they are all
// removed the log is as it was, and begins after the newest if DeleteRange has deleted it all.
func (n Snapshots) removeAfter(index uint64) error {
	ids, err := n.ids()
	if err != nil {
		return err
	}
	for _, id := range slices.Backward(ids) {
		m, err := n.read(id)
		if err == nil && m.Index <= index {
			continue
		}
		if err != nil { // it may be newer
			n.warn(id, err)
		}
		if err := n.remove(id); err != nil {
			return err
		}
	}
	return nil
}

// remove removes a snapshot. If it is killed, recover removes the rest.
func (n Snapshots) remove(id string) error {
	temp := n.path(id) + tempEnd
	if err := n.withReserve(func() error { return os.Rename(n.path(id), temp) }); err != nil {
		return err
	}
	return os.RemoveAll(temp)
}

// dropData removes the events of snapshots that could not be restored: the disk may be full,
// and a newer snapshot comes. If the log is gone already, the empty file says so to Open.
func (n Snapshots) dropData() error {
	ids, err := n.ids()
	if err != nil {
		return err
	}
	restoring := n.s.isRestoring()
	for _, id := range ids {
		name := filepath.Join(n.path(id), dataName)
		if fi, serr := os.Stat(name); serr != nil || fi.Size() == 0 {
			continue
		}
		if restoring {
			err = os.Truncate(name, 0)
		} else {
			err = n.remove(id)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// sink is a snapshot that is being made.
type sink struct {
	n        Snapshots
	meta     raft.SnapshotMeta
	inLog    bool // its events are in the log
	received bool // its events are in its file
	f        *os.File
	w        *bufio.Writer
	done     bool
}

func (k *sink) ID() string   { return k.meta.ID }
func (k *sink) temp() string { return k.n.path(k.meta.ID) + tempEnd }

// Write writes a part of a snapshot that the leader sends.
func (k *sink) Write(p []byte) (_ int, err error) {
	if k.f == nil {
		if err := k.n.dropData(); err != nil {
			return 0, err
		}
		if k.f, err = os.Create(filepath.Join(k.temp(), dataName)); err != nil {
			return 0, err
		}
		k.received = true
		k.w = bufio.NewWriterSize(k.f, 256<<10)
	}
	return k.w.Write(p)
}

// Close makes the snapshot durable.
func (k *sink) Close() error {
	if k.done {
		return nil
	}
	if err := k.finish(); err != nil {
		return errors.Join(err, k.Cancel())
	}
	k.done = true
	s := k.n.s
	if k.received {
		if err := k.n.removeAfter(k.meta.Index); err != nil {
			return err
		}
		s.snapshot.Store(k.meta.Index)
	}
	s.snapshot.Store(max(s.snapshot.Load(), k.meta.Index))
	return k.n.reap()
}

func (k *sink) finish() error {
	switch {
	case k.f != nil:
		if err := k.finishData(); err != nil {
			return err
		}
	case !k.inLog:
		return k.n.s.fail("snapshot", errForeign)
	}
	b, err := json.Marshal(k.meta)
	if err != nil {
		return err
	}
	err = k.n.withReserve(func() error {
		if err := writeFile(filepath.Join(k.temp(), metaName), b); err != nil {
			return err
		}
		if err := syncDir(k.temp()); err != nil {
			return err
		}
		return os.Rename(k.temp(), k.n.path(k.meta.ID))
	})
	if err != nil {
		return err
	}
	return syncDir(k.n.dir())
}

// finishData makes the events durable, and verifies them before anything relies on them.
func (k *sink) finishData() error {
	if k.n.s.isOld(k.meta.Index) {
		return k.n.s.fail("snapshot", errOld)
	}
	if err := k.w.Flush(); err != nil {
		return err
	}
	_, err := k.f.Seek(0, io.SeekStart)
	var first, end uint64
	if err == nil {
		first, end, err = verify(k.f, k.meta.Index)
	}
	// A leader sends its log up to the index. What ends before comes from raft.Raft.Restore.
	if err == nil && end <= k.meta.Index && first < end && first < k.n.s.stream.First() {
		err = k.n.s.fail("snapshot", errDropped)
	}
	if err == nil {
		err = k.f.Sync()
	}
	err = cmp.Or(err, k.f.Close())
	k.f = nil
	return err
}

// Cancel removes the snapshot, unless Close has made it.
func (k *sink) Cancel() error {
	if k.done {
		return nil
	}
	k.done = true
	if k.f != nil {
		k.f.Close()
	}
	return os.RemoveAll(k.temp())
}
