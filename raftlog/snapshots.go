package raftlog

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/raft"

	"go.dw1.io/mmapfile/internal/logdisk"
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

// snapshotMeta is the content of metaName, with the last entry of the log when the snapshot was begun.
type snapshotMeta struct {
	raft.SnapshotMeta
	LastIndex, LastTerm uint64
}

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
	id, err := n.newID(term, index)
	if err != nil {
		return nil, err
	}
	k := &sink{n: n, meta: snapshotMeta{SnapshotMeta: raft.SnapshotMeta{
		Version: version, ID: id, Index: index, Term: term,
		Configuration: configuration, ConfigurationIndex: configurationIndex,
	}}}
	k.meta.LastIndex = n.s.stream.Next() - 1
	k.meta.LastTerm, _ = n.s.term(k.meta.LastIndex)
	n.s.reserve()
	if err = k.begin(); err != nil {
		for size := int64(reserveSize / 2); err != nil && size >= 0; size -= reserveSize / 2 { // the log may take the first half
			logdisk.Truncate(n.s.reserveName(), size)
			err = k.begin()
		}
		n.s.reserved.Store(false)
	}
	if err != nil {
		return nil, errors.Join(err, k.Cancel())
	}
	return k, nil
}

// newID returns the name of a snapshot. Names sort as the snapshots were made, also if the clock was set back between
// two of one index.
func (n Snapshots) newID(term, index uint64) (string, error) {
	at := max(logdisk.Now().UnixNano(), 1e18) // always 19 digits
	prefix := fmt.Sprintf("%020d-%020d-", term, index)
	entries, err := logdisk.ReadDir(n.dir())
	for _, e := range entries {
		if number, ok := strings.CutPrefix(strings.TrimSuffix(e.Name(), tempEnd), prefix); ok {
			if old, err := strconv.ParseInt(number, 10, 64); err == nil {
				at = max(at, old+1)
			}
		}
	}
	return fmt.Sprint(prefix, at), err
}

// List returns the snapshots, the newest first. It skips those that cannot be read, with a
// warning to Options.Logger. If the newest cannot be read, List returns an error, because an
// older one may lack members, and entries that are no longer in the log.
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
		list = append(list, &m.SnapshotMeta)
	}
	return list, nil
}

func (n Snapshots) warn(id string, err error) {
	n.s.logger.Warn("raftlog: cannot read an old snapshot", "id", id, "error", err)
}

// ids returns the names of all snapshots, the newest first.
func (n Snapshots) ids() (ids []string, err error) {
	entries, err := logdisk.ReadDir(n.dir())
	for _, e := range entries {
		if e.IsDir() && !strings.HasSuffix(e.Name(), tempEnd) {
			ids = append(ids, e.Name())
		}
	}
	slices.Reverse(ids)
	return ids, err
}

func (n Snapshots) read(id string) (*snapshotMeta, error) {
	b, err := readStored(filepath.Join(n.path(id), metaName))
	if err != nil {
		return nil, err
	}
	m := new(snapshotMeta)
	if err := json.Unmarshal(b, m); err != nil {
		return nil, n.s.fail("read", fmt.Errorf("snapshot %s: %w", id, err))
	}
	return m, nil
}

// Open returns a reader of the snapshot's events. The stream keeps the events until the reader
// is closed.
func (n Snapshots) Open(id string) (*raft.SnapshotMeta, io.ReadCloser, error) {
	m, err := n.read(id)
	if err != nil {
		return nil, nil, err
	}
	o := &openSnapshot{s: n.s, meta: &m.SnapshotMeta}
	f, err := logdisk.OpenFile(filepath.Join(n.path(id), dataName), os.O_RDONLY, 0)
	if errors.Is(err, os.ErrNotExist) {
		r := n.s.newSnapshotReader(m.Index)
		m.Size, o.ReadCloser = r.size, r
		return o.meta, o, nil
	}
	if err != nil {
		return nil, nil, err
	}
	fi, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	m.Size, o.ReadCloser = fi.Size(), struct {
		io.Reader
		io.Closer
	}{logdisk.Reader(f), f}
	return o.meta, o, nil
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
	entries, err := logdisk.ReadDir(n.dir())
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), tempEnd) {
			if err := logdisk.RemoveAll(n.path(e.Name())); err != nil {
				return err
			}
		}
	}
	ids, err := n.ids()
	if err != nil || len(ids) == 0 {
		return err
	}
	if err := syncDir(n.dir()); err != nil { // that of a snapshot may have failed
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
		switch _, err = logdisk.Stat(filepath.Join(n.path(id), dataName)); {
		case err == nil && (i > 0 || n.s.isOld(m.Index)): // a newer one has replaced it before it was restored
			err = n.remove(id)
		case err == nil || errors.Is(err, fs.ErrNotExist):
			n.s.snapshot.Store(max(n.s.snapshot.Load(), m.Index))
			if err = nil; i == 0 {
				err = n.s.restoreAtOpen(m)
			}
		}
		if err != nil {
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

// removeOthers removes snapshots of a higher index than one that was sent, and others of its index, which it
// replaces. The leader sends an older one to a node that could not append: the log ends there then, and lacks the
// events of these. Until they are all removed the log is as it was, and begins after the newest if DeleteRange has
// deleted it all.
func (n Snapshots) removeOthers(than snapshotMeta) error {
	ids, err := n.ids()
	if err != nil {
		return err
	}
	for _, id := range slices.Backward(ids) {
		m, err := n.read(id)
		if id == than.ID || err == nil && m.Index < than.Index {
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
	if err := logdisk.Rename(n.path(id), temp); err != nil {
		return err
	}
	if err := syncDir(n.dir()); err != nil { // first: after a crash a snapshot has all of its files
		return err
	}
	return logdisk.RemoveAll(temp)
}

// removeData removes the events of a snapshot that are in the log, if they are still there.
func (n Snapshots) removeData(id string) error {
	err := logdisk.Remove(filepath.Join(n.path(id), dataName))
	if err == nil {
		err = syncDir(n.path(id))
	}
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// dropData removes the events of snapshots that could not be restored: the disk may be full, and a newer snapshot comes.
// The log is gone already, which the empty file says to Open. A snapshot that no restore has begun with stays: it may
// have replaced one that the log needs.
func (n Snapshots) dropData() error {
	if !n.s.isRestoring() {
		return nil
	}
	ids, err := n.ids()
	for _, id := range ids {
		name := filepath.Join(n.path(id), dataName)
		if fi, serr := logdisk.Stat(name); serr == nil && fi.Size() > 0 {
			err = cmp.Or(err, logdisk.Truncate(name, 0))
		}
	}
	return err
}

// sink is a snapshot that is being made.
type sink struct {
	n     Snapshots
	meta  snapshotMeta
	inLog bool // its events are in the log
	f     logdisk.File
	w     *bufio.Writer // nil if no events were sent
	done  bool
}

func (k *sink) ID() string   { return k.meta.ID }
func (k *sink) temp() string { return k.n.path(k.meta.ID) + tempEnd }

// begin writes all that the disk has to have room for, but the events: see reserveName.
func (k *sink) begin() error {
	b, err := json.Marshal(k.meta)
	if err != nil {
		return err
	}
	if err := logdisk.Mkdir(k.temp(), 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return writeFile(filepath.Join(k.temp(), metaName), b)
}

// Write writes a part of a snapshot that the leader sends.
func (k *sink) Write(p []byte) (_ int, err error) {
	if k.f == nil {
		if err := k.n.dropData(); err != nil {
			return 0, err
		}
		if k.f, err = create(filepath.Join(k.temp(), dataName)); err != nil {
			return 0, err
		}
		k.w = bufio.NewWriterSize(io.NewOffsetWriter(k.f, 0), 256<<10)
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
	if k.w != nil {
		if err := k.n.removeOthers(k.meta); err != nil {
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
	if err := syncDir(k.temp()); err != nil {
		return err
	}
	if err := logdisk.Rename(k.temp(), k.n.path(k.meta.ID)); err != nil {
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
	first, end, err := verify(logdisk.Reader(k.f), k.meta.Index)
	// A leader sends its log up to the index. What ends before comes from raft.Raft.Restore.
	if err == nil && end <= k.meta.Index && first < end && first < k.n.s.stream.First() {
		err = k.n.s.fail("snapshot", errDropped)
	}
	if err == nil {
		err = k.f.Flush()
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
	return logdisk.RemoveAll(k.temp())
}
