package eventlog_test

import (
	"encoding/binary"
	"errors"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.dw1.io/mmapfile/eventlog"
)

// retains reports whether retention may remove events.
func (m *simulation) retains() bool { return m.o.RetainBytes > 0 || m.o.RetainAge > 0 }

// setClock sets the clock forward, back, or right.
func (m *simulation) setClock(rnd *rand.Rand) {
	d := -m.skew
	if d == 0 || rnd.IntN(3) == 0 {
		d = []time.Duration{2 * time.Millisecond, 100 * time.Millisecond, 3 * time.Hour, 1000 * time.Hour}[rnd.IntN(4)]
		if rnd.IntN(2) == 0 {
			d = -d
		}
	}
	m.seeTime()
	m.w.Skip(d)
	m.skew += d
	m.back = m.back || d < 0
	m.seeTime()
	m.note("0: the clock is set by %v", d)
}

func (m *simulation) seeTime() {
	if now := m.w.Now(); now.After(m.latest) {
		m.latest = now
	}
}

// noteSegments notes when segments were begun.
func (m *simulation) noteSegments() {
	if m.log1 || m.moved {
		return
	}
	for _, name := range m.w.Names(simDir) {
		if !strings.HasSuffix(name, ".log") {
			continue
		}
		name = filepath.Join(simDir, name)
		if b := m.w.Contents(name); len(b) >= 24 && binary.LittleEndian.Uint64(b) >= 24 {
			m.segs[eventlog.FirstOf(name)] = int64(binary.LittleEndian.Uint64(b[16:]))
		}
	}
}

// retained checks that RetainAge has removed nothing that is younger: what is first now is a segment that was begun
// longer ago, by a clock that was right when it was compared with the one before.
func (m *simulation) retained(first int64) {
	if m.log1 || m.moved || m.o.RetainAge == 0 {
		return
	}
	m.seeTime()
	m.noteSegments()
	if first <= max(m.first0, m.first, m.maybeFirst) || m.fault != "" {
		return
	}
	start, ok := m.segs[first]
	if !ok {
		return // it has no header yet
	}
	if age := m.latest.Sub(time.Unix(0, start)); age <= m.o.RetainAge {
		m.broken("RetainAge removes what is before event %d, whose segment was begun %v ago", first, age)
	}
	firsts := slices.Sorted(maps.Keys(m.segs))
	if i, _ := slices.BinarySearch(firsts, first); i > 0 && m.segs[firsts[i-1]] > start {
		m.broken("RetainAge removes what is before event %d, whose segment was begun by a wrong clock", first)
	}
	m.first0 = first
}

// aged checks that OpenStream has removed what is older than RetainAge.
func (m *simulation) aged() {
	if m.log1 || m.o.RetainAge == 0 {
		return
	}
	clear(m.segs) // the recovery may have removed some
	m.noteSegments()
	first := m.s.First()
	latest, prev := int64(0), int64(0)
	for _, seg := range slices.Sorted(maps.Keys(m.segs)) {
		start := m.segs[seg]
		if start > m.begun.UnixNano() && start <= m.w.Now().UnixNano() {
			return // it was in the future until now
		}
		right := start >= latest && start >= prev && start <= m.begun.UnixNano()
		if prev = start; !right {
			continue
		}
		latest = start
		if age := m.begun.Sub(time.Unix(0, start)); age > m.o.RetainAge && seg > first {
			m.broken("the stream begins with %d, and the segment of event %d was begun %v ago", first, seg, age)
		}
	}
}

// since checks the events that are not older than a time.
func (m *simulation) since(rnd *rand.Rand) {
	if m.moved {
		return
	}
	version := m.version
	var all []eventlog.Event
	for e, err := range m.s.Events(m.s.First()) {
		if err != nil {
			return
		}
		if e.Data = nil; m.log1 {
			e.Seq = e.Offset // what tells events apart
		}
		all = append(all, e)
	}
	t := m.w.Now().Add([]time.Duration{-m.skew, 0, time.Hour, -time.Hour}[rnd.IntN(4)])
	if len(all) > 0 && rnd.IntN(4) > 0 {
		t = all[rnd.IntN(len(all))].Time
	}
	seen, last := map[int64]bool{}, int64(-1)
	for e, err := range m.s.Since(t) {
		if m.log1 {
			e.Seq = e.Offset
		}
		switch {
		case err == nil:
		case errors.Is(err, eventlog.ErrTruncated) && m.retains(), m.failing(), m.spoilt, m.lost():
			return
		default:
			m.broken("Since: %v", err)
			return
		}
		if e.Time.Before(t) || e.Seq <= last {
			m.broken("Since %v yields event %d of %v after %d", t, e.Seq, e.Time, last)
		}
		seen[e.Seq], last = true, e.Seq
	}
	if version != m.version || m.retains() || m.failing() || m.spoilt {
		return
	}
	m.noteSegments()
	segment := int64(0) // the first event of the last segment
	for first := range m.segs {
		segment = max(segment, first)
	}
	for i, e := range all {
		if e.Time.Before(t) || seen[e.Seq] {
			continue
		}
		// If the clock was set back, events of earlier segments are left out.
		if m.log1 || !m.back || e.Seq >= segment || slices.ContainsFunc(all[:i], func(e eventlog.Event) bool { return seen[e.Seq] }) {
			m.broken("Since %v has no event %d of %v", t, e.Seq, e.Time)
			return
		}
	}
}
