package raftlog_test

import (
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"go.dw1.io/mmapfile/internal/logdisk"
	"go.dw1.io/mmapfile/internal/simdisk"
	"go.dw1.io/mmapfile/raftlog"
)

var (
	simSeed  = flag.Uint64("raftlog.seed", 1, "the first history of TestSimulate_Store")
	simTrace = flag.Bool("raftlog.trace", false, "print each call of the disk")
	simCount = flag.Int("raftlog.histories", 500, "how many histories there are")
)

const simDir = "/simulated/node"

// simNode is a model of the store of one node, on a machine that fails. It does what raft does: entries up to
// committed are the same for all time, a snapshot ends there at the latest, and DeleteRange at the front there.
type simNode struct {
	w     *simdisk.World
	seed  uint64
	ops   int
	skip  map[int]bool
	log   []string
	fault string

	s   *raftlog.Store
	fsm *raftlog.FSM

	// What is acknowledged.
	base, next uint64            // raft's log
	keep       uint64            // no event from here on was deleted
	committed  uint64            //
	events     map[uint64]string // of the log, and of the snapshots that were restored
	truth      map[uint64]string // of snapshots that were sent: entries that a leader has
	snap       simSnapshot       // the newest
	keys       map[string]uint64

	// What calls that have failed, or were killed, may have done.
	maybeKeep  uint64                     // DeleteRange at the front
	maybeBase  map[uint64]bool            // or of all
	maybeBack  map[uint64]bool            // or at the back
	maybeNext  map[uint64]map[string]bool // StoreLogs
	maybeSnaps map[string]simSnapshot
	maybeKeys  map[string]map[uint64]bool

	restoring bool          // FSM.Restore has failed: the store waits for the next
	parts     []simSnapshot // of which it has
	dropped   bool          // and has perhaps dropped the log
	received  bool          // the newest snapshot was not restored yet
	failed    bool          // a flush has failed since the system was started
	entries   int
	busy      int // snapshots that are being taken
}

// simSnapshot is one that was taken, or, with events, sent by the leader.
type simSnapshot struct {
	id     string
	index  uint64
	first  uint64 // of its events
	events map[uint64]string
	inLog  bool   // its events are in the log
	next   uint64 // of the log before it was sent
	last   string
}

func (m *simNode) note(format string, args ...any) {
	m.log = append(m.log, fmt.Sprintf("%6d ", m.w.Steps())+fmt.Sprintf(format, args...))
}

func (m *simNode) broken(format string, args ...any) {
	if m.fault == "" {
		m.fault = fmt.Sprintf(format, args...)
		m.note("BROKEN: %s", m.fault)
	}
}

func (m *simNode) failing() bool {
	for _, n := range m.w.Fails {
		if n > 0 {
			return true
		}
	}
	return m.w.Free < 1000
}

// fail has calls fail from now on.
func (m *simNode) fail(rnd *rand.Rand) {
	w := m.w
	switch rnd.IntN(8) {
	case 0, 1, 2:
		w.Fails[simdisk.FailFlush] = 8 << rnd.IntN(5)
	case 3:
		w.Fails[simdisk.FailSyncNames] = 64
	case 4:
		w.Fails[simdisk.FailOpen] = 32
	case 5:
		w.Fails[simdisk.FailName] = 32
	case 6:
		w.Free = rnd.IntN(16)
	}
	if m.failing() {
		m.note("failing %v, %d free", w.Fails, min(w.Free, 1000))
	}
}

// err notes the error of a call, which has to have a cause.
func (m *simNode) err(what string, err error) {
	m.note("%s: %v", what, err)
	switch {
	case m.failing(), m.failed, m.w.FlushFailures > 0, m.w.Free < 1000, m.restoring, errors.Is(err, os.ErrClosed):
	default:
		m.broken("%s: %v", what, err)
	}
}

// newData is the data of an entry, which no other has.
func (m *simNode) newData(rnd *rand.Rand) string {
	m.entries++
	return fmt.Sprintf("%7d.", m.entries) + strings.Repeat("x", []int{0, 10, 200, 1500}[rnd.IntN(4)])
}

// simTerm returns the term of an entry: each has one of its own.
func simTerm(data string) (term uint64) {
	fmt.Sscan(data[:7], &term)
	return term
}

func simLogs(first uint64, list []string) (logs []*raft.Log) {
	for i, data := range list {
		logs = append(logs, &raft.Log{Index: first + uint64(i), Term: simTerm(data), Data: []byte(data)})
	}
	return logs
}

// op does what raft may do next.
func (m *simNode) op() (more bool) {
	m.ops++
	if m.skip[m.ops] {
		return true
	}
	rnd := rand.New(rand.NewPCG(m.seed, uint64(m.ops)<<8))
	s := m.s
	conflict := m.conflict()
	switch what := rnd.IntN(20); {
	case what < 8 && conflict == 0:
		var list []string
		for i := range uint64(1 + rnd.IntN(4)) {
			data := m.truth[m.next+i]
			if data == "" {
				data = m.newData(rnd)
			}
			list = append(list, data)
			if m.maybeNext[m.next+i] == nil {
				m.maybeNext[m.next+i] = map[string]bool{}
			}
			m.maybeNext[m.next+i][list[i]] = true
		}
		if err := s.StoreLogs(simLogs(m.next, list)); err != nil {
			m.err("StoreLogs", err)
			break
		}
		m.note("StoreLogs %d +%d", m.next, len(list))
		first, err := s.FirstIndex()
		part := slices.IndexFunc(m.parts, func(snap simSnapshot) bool { return first == snap.index+1 })
		if m.restoring && err == nil && first != m.base && part >= 0 {
			m.restore(m.parts[part]) // all but the last step was done
		}
		m.restoring, m.dropped = false, false // or it had not begun
		clear(m.maybeNext)
		for _, data := range list {
			m.events[m.next] = data
			m.next++
		}
		m.continued()
		if m.next > m.base+1 && rnd.IntN(2) == 0 {
			m.committed = max(m.committed, m.next-1-rnd.Uint64N(2))
		}
	case what < 10 && m.next > max(m.base, m.committed+1) && !m.restoring && !m.received: // entries of another leader
		from := max(m.base, m.committed+1) + rnd.Uint64N(m.next-max(m.base, m.committed+1))
		if conflict > 0 {
			from = conflict
		}
		m.note("DeleteRange %d to %d ...", from, m.next-1)
		m.maybeBack[from] = true
		for id, snap := range m.maybeSnaps { // the log may not go on after it any more: Open restores it
			snap.inLog = snap.inLog && (snap.events == nil || from > snap.index+1)
			m.maybeSnaps[id] = snap
		}
		if err := s.DeleteRange(from, m.next-1); err != nil {
			m.err("DeleteRange", err)
			break
		}
		m.note("DeleteRange to the end")
		for i := from; i < m.next; i++ {
			delete(m.events, i)
		}
		m.next = from
		clear(m.maybeBack)
		clear(m.maybeNext)
	case what < 13:
		key := []string{"CurrentTerm", "LastVoteTerm", "LastVoteCand"}[rnd.IntN(3)]
		m.entries++
		value := uint64(m.entries)
		if m.maybeKeys[key] == nil {
			m.maybeKeys[key] = map[uint64]bool{}
		}
		m.maybeKeys[key][value] = true
		if err := s.SetUint64([]byte(key), value); err != nil {
			m.err("SetUint64", err)
			break
		}
		m.note("SetUint64 %s %d", key, value)
		m.keys[key] = value
		delete(m.maybeKeys, key)
	case what < 16 && !m.restoring && !m.received:
		if m.busy == 0 && rnd.IntN(3) == 0 {
			m.busy++
			logdisk.Go(func() { m.take(rnd); m.busy-- })
		} else if m.busy == 0 {
			m.take(rnd)
		}
	case what < 18 && m.busy == 0:
		m.receive(rnd)
	case what < 19:
		d := []time.Duration{time.Second, 1000 * time.Hour}[rnd.IntN(2)]
		if rnd.IntN(2) == 0 {
			d = -d
		}
		m.w.Skip(d)
		m.note("the clock is set by %v", d)
	default:
		return rnd.IntN(4) > 0
	}
	if m.fault == "" && m.busy == 0 {
		m.bounds()
	}
	return true
}

// conflict returns the first entry of the log that its leader does not have, or 0.
func (m *simNode) conflict() uint64 {
	for i := max(m.base, m.committed+1); i < m.next; i++ {
		if data := m.truth[i]; data != "" && data != m.events[i] {
			return i
		}
	}
	return 0
}

// acked notes that a snapshot is durable.
func (m *simNode) acked(snap simSnapshot) {
	m.snap = snap
	for id, other := range m.maybeSnaps {
		if id <= snap.id || snap.events != nil && other.index >= snap.index {
			delete(m.maybeSnaps, id)
		}
	}
}

// continued notes that the log goes on after snapshots that were not restored, which has them forgotten.
func (m *simNode) continued() {
	forget := func(snap simSnapshot) simSnapshot {
		if snap.index+1 < m.next {
			snap.inLog = true
		}
		return snap
	}
	for id, snap := range m.maybeSnaps {
		m.maybeSnaps[id] = forget(snap)
	}
	if m.snap = forget(m.snap); m.received && m.snap.inLog {
		m.received, m.committed = false, max(m.committed, m.snap.index)
	}
}

// bounds checks the indexes that the store tells.
func (m *simNode) bounds() {
	first, ferr := m.s.FirstIndex()
	last, lerr := m.s.LastIndex()
	want, wantLast := m.base, m.next-1
	if m.base >= m.next || m.restoring {
		want, wantLast = 0, 0
	}
	if m.received || len(m.maybeBack) > 0 {
		return
	}
	if ferr == nil && lerr == nil && (first != want || last != wantLast) {
		m.broken("the log has %d to %d, want %d to %d", first, last, want, wantLast)
	}
}

// take has the node take a snapshot, and then deletes entries that it has, as raft does.
func (m *simNode) take(rnd *rand.Rand) {
	s := m.s
	index := min(m.committed, m.next-1)
	if index <= m.snap.index || index == 0 {
		return
	}
	k, err := s.Snapshots().Create(raft.SnapshotVersionMax, index, simTerm(m.events[index]), raft.Configuration{}, 1, nil)
	if err != nil {
		m.err("Create", err)
		return
	}
	snap := simSnapshot{id: k.ID(), index: index}
	m.maybeSnaps[snap.id] = snap
	f, err := m.fsm.Snapshot()
	if err == nil {
		err = f.Persist(k)
	}
	if err != nil {
		k.Cancel()
		m.err("Persist", err)
		return
	}
	if err := k.Close(); err != nil {
		m.err("Close of a snapshot", err)
		return
	}
	m.note("snapshot %s", snap.id)
	m.acked(snap)
	if rnd.IntN(2) == 0 {
		m.readSnapshot(snap)
	}
	last := index - rnd.Uint64N(4)
	switch {
	case rnd.IntN(4) == 0 && index == m.next-1 && m.busy == 0 && m.base <= index: // all
		m.note("DeleteRange %d to %d, which is all", m.base, index)
		m.maybeBase[m.next] = true
		if err := s.DeleteRange(m.base, index); err != nil {
			m.err("DeleteRange", err)
			return
		}
		m.note("DeleteRange of all")
		m.base = m.next
	case last > index || last < m.base || last >= m.next-1:
	default:
		m.note("DeleteRange %d to %d ...", m.base, last)
		m.maybeKeep = max(m.maybeKeep, last+1)
		m.maybeBase[last+1] = true
		if err := s.DeleteRange(m.base, last); err != nil {
			m.err("DeleteRange", err)
			return
		}
		m.note("DeleteRange at the front")
		m.base, m.keep = last+1, max(m.keep, last+1)
	}
}

// readSnapshot compares what is sent of a snapshot with the events.
func (m *simNode) readSnapshot(snap simSnapshot) {
	meta, r, err := m.s.Snapshots().Open(snap.id)
	if err != nil {
		m.err("Open of a snapshot", err)
		return
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		m.err("a snapshot", err)
		return
	}
	first, events := parseSnapshot(b)
	if int64(len(b)) != meta.Size || first+uint64(len(events)) != snap.index+1 {
		m.broken("snapshot of %d has %d bytes of %d, and events %d +%d", snap.index, len(b), meta.Size, first, len(events))
	}
	for i, data := range events {
		if index := first + uint64(i); index <= m.committed && m.events[index] != data {
			m.broken("event %d of a snapshot is %.12q, want %.12q", index, data, m.events[index])
		}
	}
}

var simTable = crc32.MakeTable(crc32.Castagnoli)

// encodeSnapshot encodes events as a leader sends them.
func encodeSnapshot(snap simSnapshot) []byte {
	le := binary.LittleEndian
	b := []byte("raftlog\x01")
	b = le.AppendUint64(b, snap.first)
	b = le.AppendUint64(b, snap.index+1-snap.first)
	b = le.AppendUint32(b, crc32.Checksum(b, simTable))
	for i := snap.first; i <= snap.index; i++ {
		e := binary.AppendUvarint([]byte{0, byte(raft.LogCommand)}, simTerm(snap.events[i]))
		e = append(e, snap.events[i]...)
		b = le.AppendUint32(b, uint32(len(e)))
		b = append(le.AppendUint32(b, crc32.Checksum(e, simTable)), e...)
	}
	return append(b, make([]byte, 100)...)
}

func parseSnapshot(b []byte) (first uint64, events []string) {
	le := binary.LittleEndian
	first = le.Uint64(b[8:])
	n := le.Uint64(b[16:])
	b = b[28:]
	for range n {
		size := le.Uint32(b)
		_, term := binary.Uvarint(b[10:])
		events = append(events, string(b[10+term:8+size]))
		b = b[8+size:]
	}
	return first, events
}

// receive has the leader send a snapshot, which the node restores.
func (m *simNode) receive(rnd *rand.Rand) {
	snap := simSnapshot{index: m.next + rnd.Uint64N(4), events: map[uint64]string{}, next: m.next, last: m.events[m.next-1]}
	switch rnd.IntN(6) {
	case 0: // one that the node may have, too: it could not append
		snap.index = m.committed
	case 1: // one that was sent before
		if snap.index = m.snap.index; rnd.IntN(2) == 0 {
			m.w.Skip(-time.Hour)
		}
	}
	if snap.index < max(m.base, m.snap.index, 1) && rnd.IntN(2) == 0 || snap.index == 0 || snap.index+1 < m.fsm.First() {
		return
	}
	snap.first = 1 + rnd.Uint64N(snap.index)
	snap.first = max(snap.first, min(m.fsm.First(), snap.index)) // the leader has not kept more than the node
	for i := uint64(1); i <= snap.index; i++ {
		if m.truth[i] == "" && i <= m.committed {
			m.truth[i] = m.events[i]
		}
		if m.truth[i] == "" {
			m.truth[i] = m.newData(rnd)
		}
		if i >= snap.first {
			snap.events[i] = m.truth[i]
		}
	}
	k, err := m.s.Snapshots().Create(raft.SnapshotVersionMax, snap.index, simTerm(snap.events[snap.index]), raft.Configuration{}, 1, nil)
	if err != nil {
		m.err("Create", err)
		return
	}
	snap.id = k.ID()
	m.maybeSnaps[snap.id] = snap
	m.note("snapshot %s is sent, %d to %d", snap.id, snap.first, snap.index)
	if _, err = k.Write(encodeSnapshot(snap)); err != nil {
		m.err("Write", err)
		k.Cancel()
		return
	}
	if err := k.Close(); err != nil {
		m.err("Close of a snapshot", err)
		return
	}
	m.note("snapshot %s was sent", snap.id)
	m.acked(snap)
	m.received = true
	if rnd.IntN(8) == 0 {
		return // raft ends before it restores it
	}
	m.maybeBase[snap.index+1], m.dropped = true, true
	_, r, err := m.s.Snapshots().Open(snap.id)
	if err == nil {
		err = m.fsm.Restore(r)
	}
	if err != nil {
		m.restoring, m.dropped = true, true
		m.parts = append(m.parts, snap)
		m.err("Restore", err)
		return
	}
	m.restore(snap)
	m.note("restored %d to %d", snap.first, snap.index)
	m.serves()
}

// restore has the model have what was restored of a snapshot.
func (m *simNode) restore(snap simSnapshot) {
	m.base, m.next = snap.index+1, snap.index+1
	m.keep = max(m.keep, snap.first)
	m.events, m.committed = maps.Clone(snap.events), snap.index
	if snap.id == m.snap.id {
		m.snap.inLog, m.received = true, false
	}
	m.restoring, m.dropped, m.parts = false, false, nil
	m.maybeKeep = 0
	clear(m.maybeBack)
	clear(m.maybeNext)
	clear(m.maybeBase)
}

// serves checks the events that the FSM serves.
func (m *simNode) serves() {
	fsm := raftlog.NewFSM(m.s)
	if m.next <= 1 {
		return
	}
	fsm.Apply(&raft.Log{Index: m.next - 1})
	next := fsm.First()
	if next > max(m.keep, m.maybeKeep, 1) && next > m.next {
		m.broken("events begin with %d, want %d", next, m.keep)
	}
	for e, err := range fsm.Events(0) {
		if err != nil {
			m.err("Events", err)
			return
		}
		if e.Index != next || string(e.Data) != m.events[e.Index] {
			m.broken("event %d is %d %.12q, want %.12q", next, e.Index, e.Data, m.events[next])
			return
		}
		next++
	}
	if next < m.next {
		m.broken("events end at %d of %d", next, m.next)
	}
}

// opened compares what Open has found with what must be there.
func (m *simNode) opened() {
	s := m.s
	list, err := s.Snapshots().List()
	if err != nil {
		m.broken("List: %v", err)
		return
	}
	newest := simSnapshot{}
	if len(list) > 0 {
		newest = simSnapshot{id: list[0].ID, index: list[0].Index}
	}
	maybe, ok := m.maybeSnaps[newest.id]
	switch {
	case newest.id == m.snap.id:
		newest = m.snap
	case ok:
		newest = maybe
	default:
		m.broken("the newest snapshot is %q, want %q", newest.id, m.snap.id)
		return
	}
	first, ferr := s.FirstIndex()
	last, lerr := s.LastIndex()
	m.note("opened: log %d to %d, snapshot %s, events from %d", first, last, newest.id, m.fsm.First())
	if ferr != nil || lerr != nil {
		m.broken("indexes: %v, %v", ferr, lerr)
		return
	}
	sent := newest.id != m.snap.id && newest.events != nil && !newest.inLog || m.received && newest.id == m.snap.id || m.restoring
	m.acked(newest)
	m.committed = max(m.committed, newest.index)
	switch {
	case sent && last >= newest.index && last > 0: // a StoreLogs that has failed may have kept the log
		var l raft.Log
		if s.GetLog(newest.index, &l); string(l.Data) != newest.events[newest.index] && first != newest.index+1 {
			m.broken("the log goes on after snapshot %s, and has another entry %d there", newest.id, newest.index)
		}
		m.received, m.committed = false, max(m.committed, newest.index)
		for i, data := range newest.events {
			if m.events[i] == "" || i >= m.next || m.dropped {
				m.events[i] = data // of a StoreLogs that has failed, or of the restore of a snapshot before
			}
		}
		m.openedLog(first, last)
	case sent && last > 0:
		m.broken("after a snapshot that was sent up to %d, the log has %d to %d", newest.index, first, last)
	case sent && m.pending():
		m.received, m.dropped = true, true
	case sent:
		m.restore(newest)
	case !sent:
		m.openedLog(first, last)
	}
	if m.fault != "" || m.restoring {
		return
	}
	m.serves()
	for key, want := range m.keys {
		if got, err := s.GetUint64([]byte(key)); err != nil || got != want && !m.maybeKeys[key][got] {
			m.broken("%s is %d, %v, want %d", key, got, err, want)
		}
	}
	for key := range m.maybeKeys {
		got, err := s.GetUint64([]byte(key))
		if err != nil || got != m.keys[key] && !m.maybeKeys[key][got] {
			m.broken("%s is %d, %v, want %d", key, got, err, m.keys[key])
		}
		m.keys[key] = got
	}
	clear(m.maybeKeys)
}

// pending reports whether the disk has no room to restore the newest snapshot.
func (m *simNode) pending() bool {
	_, err := m.fsm.Snapshot()
	m.restoring = err != nil
	return m.restoring
}

// openedLog compares raft's log with what must be there.
func (m *simNode) openedLog(first, last uint64) {
	next := last + 1
	if last == 0 { // it is empty
		next = max(m.base, m.next)
		end := m.next
		for from := range m.maybeBack {
			end = min(end, from)
		}
		same := (m.next == m.snap.next || m.maybeBack[m.snap.next]) && m.events[m.snap.next-1] == m.snap.last // as when it was sent: the leader has the rest
		if (end <= m.snap.index+1 || same) && m.next > m.base {                                               // all of it is in a snapshot that was sent, and restored
			m.base, m.next = m.snap.index+1, m.snap.index+1
			next = m.next
			for i, data := range m.snap.events {
				m.events[i] = data
			}
		}
		if m.next > m.base && !m.dropped && !m.maybeBase[m.next] && !m.maybeBack[m.base] {
			m.broken("the log is empty, want %d to %d", m.base, m.next-1)
			return
		}
		if m.maybeBase[m.next] {
			m.base = m.next
		} else if m.maybeBack[m.base] {
			next = m.base
		}
		first = m.base
	}
	if first != m.base && !m.maybeBase[first] {
		m.broken("the log begins with %d, want %d", first, m.base)
	}
	if next < m.next && !m.maybeBack[next] && !m.dropped {
		m.broken("the log ends before %d, want %d", next, m.next)
	}
	for i := first; i < next && last > 0; i++ {
		var l raft.Log
		err := m.s.GetLog(i, &l)
		data := string(l.Data)
		ok := i < m.next && data == m.events[i] || i >= m.next && m.maybeNext[i][data] || m.dropped && data == m.truth[i]
		if err != nil || !ok {
			m.broken("entry %d is %.12q, %v, want %.12q", i, l.Data, err, m.events[i])
			return
		}
		m.events[i] = data
	}
	for i := next; i < m.next; i++ {
		delete(m.events, i)
	}
	if first > m.base && m.maybeKeep > 0 {
		m.keep = max(m.keep, min(m.maybeKeep, first))
	}
	m.base, m.next, m.maybeKeep = first, next, max(m.maybeKeep, m.keep)
	clear(m.maybeBack)
	m.dropped = false
	clear(m.maybeNext)
	clear(m.maybeBase)
}

// life opens the store in a new process, and uses it until that closes it, is killed, or the system crashes.
func (m *simNode) life(last bool) {
	m.ops++
	w, rnd := m.w, rand.New(rand.NewPCG(m.seed, uint64(m.ops)<<8))
	stop := 0
	if !last && rnd.IntN(3) > 0 {
		stop = w.Steps() + 1 + rnd.IntN(800)
	}
	p := w.Start()
	w.OnStep = func(step int) {
		if stop > 0 && step >= stop {
			p.Stop()
		}
	}
	if !last && rnd.IntN(4) == 0 {
		m.fail(rnd)
	}
	o := raftlog.Options{SegmentSize: []int64{300, 1500, 6000}[rnd.IntN(3)], Logger: hclog.NewNullLogger()}
	ended := p.Do(func() {
		s, err := raftlog.Open(simDir, o)
		for tries := 0; errors.Is(err, syscall.EIO) && m.failed && tries < 20; tries++ { // that of a flush that has failed before
			s, err = raftlog.Open(simDir, o)
		}
		if err != nil {
			m.note("Open: %v", err)
			if !m.failing() {
				m.broken("Open: %v", err)
			}
			return
		}
		before := w.Fails
		w.Fails = map[simdisk.Failure]int{}
		m.s, m.fsm = s, raftlog.NewFSM(s)
		m.restoring, m.parts = false, nil
		m.opened()
		if w.Fails = before; !last && !m.failing() {
			m.fail(rnd)
		}
		for n := rnd.IntN(30); n > 0 && m.fault == ""; n-- {
			if !m.op() {
				break
			}
		}
		if last || rnd.IntN(2) == 0 {
			err := s.Close()
			m.note("Close: %v", err)
			if err != nil {
				m.err("Close", err)
			}
		}
	})
	w.OnStep = nil
	m.failed = m.failed || w.FlushFailures > 0
	w.FlushFailures = 0
	w.Free, w.Fails = 1<<30, map[simdisk.Failure]int{}
	crash := !last && rnd.IntN(2) == 0
	m.note("ended %v, crash %v", ended, crash)
	p.Kill()
	m.s, m.busy = nil, 0
	if crash {
		m.failed = false
		w.Crash()
	}
}

// simulateNode runs the history of a seed without some of its ops.
func simulateNode(seed uint64, skip ...int) (m *simNode) {
	w := simdisk.New(seed)
	defer w.Release()
	defer logdisk.Mount("/simulated", w)()
	defer logdisk.Simulate(w)()
	m = &simNode{w: w, seed: seed, skip: map[int]bool{}, base: 1, next: 1, events: map[uint64]string{}, truth: map[uint64]string{}, keys: map[string]uint64{},
		maybeBase: map[uint64]bool{}, maybeBack: map[uint64]bool{}, maybeNext: map[uint64]map[string]bool{}, maybeSnaps: map[string]simSnapshot{}, maybeKeys: map[string]map[uint64]bool{}}
	for _, op := range skip {
		m.skip[op] = true
	}
	if *simTrace {
		w.Trace = func(op, name string) { m.note("        %s %s", op, name) }
	}
	w.MkdirDurable("simulated")
	rnd := rand.New(rand.NewPCG(seed, 7))
	w.NoMemory, w.Evicts = rnd.IntN(3) == 0, rnd.IntN(2) == 0
	w.Switch = []int{2, 4, 16}[rnd.IntN(3)]
	for range 1 + rnd.IntN(5) {
		if m.life(false); m.fault != "" || w.Failed() != "" {
			break
		}
	}
	if m.fault == "" && w.Failed() == "" {
		m.life(true)
	}
	if w.Failed() != "" {
		m.broken("%s", w.Failed())
	}
	w.End()
	return m
}

// A store keeps what it has acknowledged, whatever fails: its log, its keys, and its newest snapshot.
func TestSimulate_Store(t *testing.T) {
	n := *simCount
	if testing.Short() {
		n /= 10
	}
	began, told := time.Now(), time.Now()
	for i := range n {
		seed := *simSeed + uint64(i)
		m := simulateNode(seed)
		if m.fault != "" {
			var skip []int
			for op := m.ops; op > 0; op-- {
				if with := append(slices.Clone(skip), op); simulateNode(seed, with...).fault != "" {
					skip = with
				}
			}
			m = simulateNode(seed, skip...)
			for _, line := range m.log {
				t.Log(line)
			}
			t.Fatalf("history %d without %v, after %d: %s", seed, skip, i+1, m.fault)
		}
		if since := time.Since(began); time.Since(told) > 10*time.Second && testing.Verbose() {
			told = time.Now()
			fmt.Fprintf(os.Stderr, "%d of %d histories, %v more\n", i+1, n, (since * time.Duration(n-i-1) / time.Duration(i+1)).Round(time.Second))
		}
	}
	t.Logf("%d histories, %v each", n, time.Since(began)/time.Duration(n))
}

// Histories that break a promise if a mistake is made again. A change of the model makes them others.
func TestSimulate_Kept(t *testing.T) {
	for _, seed := range []uint64{
		22,         // Open closes a stable store that it could not create
		1214,       // the name of a snapshot is not durable when Open believes it
		17,         // files of a snapshot go before its name does
		613,        // a snapshot is dropped that the log needs
		5,          // Open restores a snapshot over entries that came later
		5913,       // the last step of a restore has failed, and the log goes on with a gap
		5554183,    // the same, with an entry more
		123461830,  // the same, and a snapshot after the gap is sent, and not restored
		2000003533, // Open cannot read an entry, and restores a snapshot over those that came after it
	} {
		if m := simulateNode(seed); m.fault != "" {
			t.Errorf("%d: %s", seed, m.fault)
		}
	}
}

// The same seed is the same history.
func TestSimulate_Repeats(t *testing.T) {
	for seed := range uint64(20) {
		if a, b := simulateNode(seed), simulateNode(seed); !slices.Equal(a.log, b.log) || a.w.Steps() != b.w.Steps() {
			t.Fatalf("history %d:\n%s\n\n%s", seed, strings.Join(a.log, "\n"), strings.Join(b.log, "\n"))
		}
	}
}
