package eventlog_test

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.dw1.io/mmapfile/eventlog"
	"go.dw1.io/mmapfile/internal/logdisk"
	"go.dw1.io/mmapfile/internal/simdisk"
)

var (
	simSeed  = flag.Uint64("eventlog.seed", 1, "the first history of TestSimulate_Stream")
	simTrace = flag.Bool("eventlog.trace", false, "print each call of the disk")
	simCount = flag.Int("eventlog.histories", 4_000, "how many histories there are")
)

const simDir = "/simulated/stream"

// simStream is what the model uses of a stream, and simReader of a reader.
type simStream interface {
	First() int64
	Next() int64
	Append(p []byte) (int64, error)
	AppendBatch(ps ...[]byte) (int64, error)
	AppendSync(p []byte) (int64, error)
	Sync() error
	WaitDurable(ctx context.Context, seq int64) error
	Durable() int64
	Roll() error
	TruncateFront(first int64) error
	TruncateBack(next int64) error
	Check() error
	Events(from int64, o ...eventlog.ReadOption) iter.Seq2[eventlog.Event, error]
	Since(t time.Time) iter.Seq2[eventlog.Event, error]
	Recovery() eventlog.Recovery
	Close() error
}

type simReader interface {
	First() (int64, error)
	Get(seq int64) (eventlog.Event, error)
	Follow(ctx context.Context, from int64, o ...eventlog.ReadOption) iter.Seq2[eventlog.Event, error]
	Events(from int64, o ...eventlog.ReadOption) iter.Seq2[eventlog.Event, error]
	Close() error
}

// simLog makes a Log a simStream whose events have numbers.
type simLog struct{ *eventlog.Log }

func (l simLog) First() int64 { return 0 }
func (l simLog) Next() int64  { return l.Len() }

// number returns the number of the event at an offset.
func (l simLog) number(off int64, err error) (int64, error) {
	n := int64(0)
	for e, lerr := range l.Log.Events(0) {
		if err != nil || lerr != nil || e.Offset >= off {
			return n, cmp.Or(err, lerr)
		}
		n++
	}
	return n, err
}

func (l simLog) Append(p []byte) (int64, error)          { return l.number(l.Log.Append(p)) }
func (l simLog) AppendBatch(ps ...[]byte) (int64, error) { return l.number(l.Log.AppendBatch(ps...)) }
func (l simLog) AppendSync(p []byte) (int64, error)      { return l.number(l.Log.AppendSync(p)) }
func (l simLog) WaitDurable(_ context.Context, seq int64) error {
	if seq >= l.Len() {
		return fs.ErrNotExist
	}
	return l.Sync()
}
func (l simLog) Roll() error               { return nil }
func (l simLog) TruncateFront(int64) error { return nil }
func (l simLog) TruncateBack(int64) error  { return nil }
func (l simLog) Check() error              { return nil }
func (l simLog) Durable() int64            { n, _ := l.number(l.Log.Durable(), nil); return n }
func (l simLog) Events(int64, ...eventlog.ReadOption) iter.Seq2[eventlog.Event, error] {
	return simNumbered(l.Log.Events(0))
}

func (l simLog) Since(t time.Time) iter.Seq2[eventlog.Event, error] {
	return simNumbered(l.Log.Since(t))
}

// simNumbered gives events of a log numbers.
func simNumbered(events iter.Seq2[eventlog.Event, error]) iter.Seq2[eventlog.Event, error] {
	return func(yield func(eventlog.Event, error) bool) {
		n := int64(0)
		for e, err := range events {
			if e.Seq = n; !yield(e, err) {
				return
			}
			n++
		}
	}
}

type simLogReader struct{ *eventlog.Reader }

func (r simLogReader) First() (int64, error)             { return 0, nil }
func (r simLogReader) Get(int64) (eventlog.Event, error) { return eventlog.Event{}, nil }
func (r simLogReader) Follow(ctx context.Context, _ int64, _ ...eventlog.ReadOption) iter.Seq2[eventlog.Event, error] {
	return simNumbered(r.Reader.Follow(ctx, 0))
}
func (r simLogReader) Events(int64, ...eventlog.ReadOption) iter.Seq2[eventlog.Event, error] {
	return simNumbered(r.Reader.Events(0))
}

func (m *simulation) open() (simStream, error) {
	if m.log1 {
		l, err := eventlog.Open(simDir, m.o.Options)
		return simLog{l}, err
	}
	return eventlog.OpenStream(simDir, m.o)
}

func (m *simulation) openReader() (simReader, error) {
	if m.log1 {
		r, err := eventlog.OpenReader(simDir)
		return simLogReader{r}, err
	}
	return eventlog.OpenStreamReader(simDir)
}

// simEvent is an event that was appended, or is being appended.
type simEvent struct {
	seq   int64 // -1 if it is not known yet
	data  string
	acked bool  // its append has returned
	line  *line // the history that it may be of, if a loop has it and the stream does not
}

// line is a history of the stream: its events by number. Events that are taken back begin another, which has those
// before a number in common with its parent.
type line struct {
	parent *line
	from   int64
	events map[int64]*simEvent
}

func (m *simulation) newLine(from int64) {
	l := &line{from: from, events: map[int64]*simEvent{}}
	if len(m.lines) > 0 {
		l.parent = m.cur()
	}
	m.lines = append(m.lines, l)
}

// owner returns the line that has the event of a number.
func (l *line) owner(seq int64) *line {
	for l.parent != nil && seq < l.from {
		l = l.parent
	}
	return l
}

func (l *line) get(seq int64) *simEvent    { return l.owner(seq).events[seq] }
func (l *line) set(seq int64, e *simEvent) { l.owner(seq).events[seq] = e }

// all are the events of a line.
func (l *line) all() iter.Seq2[int64, *simEvent] {
	return func(yield func(int64, *simEvent) bool) {
		for k := l; k != nil; k = k.parent {
			for seq, e := range k.events {
				if l.owner(seq) == k && !yield(seq, e) {
					return
				}
			}
		}
	}
}

// simulation is a model of one stream, on a machine that fails.
type simulation struct {
	w      *simdisk.World
	seed   uint64
	rnd    *rand.Rand   // of the options, and of readers
	ops    int          // number of the last op
	skip   map[int]bool // ops to leave out: see shrink
	o      eventlog.StreamOptions
	s      simStream
	log1   bool     // it is a Log
	copies bool     // readers copy it, beside a writer that removes all events at times
	live   bool     // it is open, and what OpenStream has found was compared
	log    []string // what has happened
	fault  string   // the promise that was broken

	events  map[string]*simEvent
	lines   []*line
	first   int64 // of the last truncation of the front that has returned
	durable int64 // what is before must be there after a crash

	// Until OpenStream returns, what a call may or may not have done:
	maybeFirst int64 // TruncateFront
	maybeBack  int64 // TruncateBack, -1 for none
	flushed    bool  // no flush has failed since the stream was opened
	failed     bool  // a flush has failed since the system was started
	failedOnce bool  // or before
	taking     bool  // flushes fail in most lives, so that the next writer takes events back, beside loops that linger

	segs   map[int64]int64 // StartTimestamp of each segment that was seen, by the number of its first event
	begun  time.Time       // when the log was opened, by the clock
	latest time.Time       // the latest that the clock was since
	first0 int64           // the first event, by retention
	skew   time.Duration   // of the clock
	back   bool            // the clock was set back

	moved bool              // another directory has the name of the stream's
	other map[string]string // its files
	swaps int

	torn     bool // the system has crashed, and no writer has opened the stream since
	spoilt   bool // calls failed in this life, and a later one may return that
	version  int  // of the history, which appends do not change
	changing bool // a call changes the history, or a crash has
	removed  bool
	readers  []*follower
	stopped  bool // the readers end
}

// follower is a loop over the stream in another process.
type follower struct {
	durable bool
	last    *simEvent
	next    int64
	end     error
	cancel  func()
	running bool
}

func (m *simulation) note(format string, args ...any) {
	m.log = append(m.log, fmt.Sprintf("%6d ", m.w.Steps())+fmt.Sprintf(format, args...))
}

func (m *simulation) broken(format string, args ...any) {
	if m.fault == "" {
		m.fault = fmt.Sprintf(format, args...)
		m.note("BROKEN: %s", m.fault)
	}
}

func (m *simulation) cur() *line { return m.lines[len(m.lines)-1] }

// next returns the number after the last event of the line.
func (l *line) next(least int64) int64 {
	for seq := range l.all() {
		least = max(least, seq+1)
	}
	return least
}

// newEvent makes the data of an event, which are of no other.
func (m *simulation) newEvent() *simEvent {
	size := []int{0, 10, 100, 700, 3000}[m.rnd.IntN(5)]
	if room := int(m.o.MaxSize) - 16 - 8; m.log1 && room > 0 {
		if room -= int(m.s.(simLog).Size()); room > 0 && room < 4000 && m.rnd.IntN(4) == 0 {
			size = room // it fills the log exactly
		}
	}
	e := &simEvent{seq: -1, data: fmt.Sprintf("%7d.", len(m.events)) + strings.Repeat(string(rune('a'+m.rnd.IntN(26))), size)}
	m.events[e.data] = e
	return e
}

// place notes the number of an event that was seen.
func (m *simulation) place(e *simEvent, seq int64) { m.placeIn(m.cur(), e, seq) }

func (m *simulation) placeIn(l *line, e *simEvent, seq int64) {
	if e.seq < 0 {
		e.seq = seq
		if old := l.get(seq); old != nil && old != e {
			m.broken("event %d is both %.12q and %.12q", seq, old.data, e.data)
		}
		l.set(seq, e)
	} else if e.seq != seq {
		m.broken("event %.12q has numbers %d and %d", e.data, e.seq, seq)
	}
}

// change notes that the history changes until settle is called.
func (m *simulation) change() { m.version, m.changing, m.removed = m.version+1, true, true }
func (m *simulation) settle() { m.version, m.changing = m.version+1, false }

// opened compares what OpenStream has found with what must be there.
func (m *simulation) opened() {
	s := m.s
	first, next := s.First(), s.Next()
	m.note("opened %d to %d, durable %d, %+v", first, next, m.durable, s.Recovery())
	all := m.cur().next(m.first)
	least := m.durable
	if !m.torn && m.flushed && m.w.FlushFailures == 0 {
		for _, e := range m.cur().all() {
			if e.acked {
				least = max(least, e.seq+1)
			}
		}
	}
	if m.maybeBack >= 0 {
		least = min(least, m.maybeBack)
	}
	most := m.first
	if m.maybeFirst > 0 {
		most = max(most, m.maybeFirst)
	}
	if m.retains() {
		most = max(most, next)
	}
	if first < m.first || first > most {
		m.broken("the stream begins with %d, want %d to %d", first, m.first, most)
	}
	if next < least && next < m.maybeFirst || next < least && m.maybeFirst == 0 {
		m.broken("the stream ends at %d, %d are durable", next, least)
	}
	seq := first
	found := map[int64]*simEvent{}
	for e, err := range s.Events(first) {
		if err != nil {
			m.broken("Events after OpenStream: %v", err)
			return
		}
		ev := m.events[string(e.Data)]
		if ev == nil || e.Seq != seq || m.cur().get(seq) != ev && ev.seq >= 0 && (m.maybeBack < 0 || seq < m.maybeBack) {
			m.broken("event %d is %.12q after OpenStream", e.Seq, e.Data)
			return
		}
		m.place(ev, seq)
		ev.acked = true
		found[seq] = ev
		seq++
	}
	if seq != next {
		m.broken("the events end at %d, Next is %d", seq, next)
	}
	if err := s.Check(); err != nil {
		m.broken("Check: %v", err)
	}
	m.removed = m.removed || next < all || m.maybeBack >= 0
	for _, e := range m.events {
		if e.seq == -1 {
			e.seq, e.line = -2, m.cur() // it will not come
		}
	}
	from := next
	for seq, e := range found {
		if m.cur().get(seq) != e {
			from = min(from, seq)
		}
	}
	m.newLine(from)
	for seq, e := range found {
		m.cur().set(seq, e)
	}
	m.first, m.durable = first, next // OpenStream makes all of it durable
	m.maybeFirst, m.maybeBack, m.flushed = 0, -1, true
}

// sync notes that a call has made events durable.
func (m *simulation) sync(next int64) {
	if m.maybeBack >= 0 {
		next = min(next, m.maybeBack)
	}
	m.durable = max(m.durable, next)
}

// ack notes that the append of an event has returned, which began in a version.
func (m *simulation) ack(e *simEvent, seq int64, version int) {
	if version == m.version && !m.changing || m.cur().get(seq) == e {
		m.place(e, seq)
		e.acked = true
	} else if e.seq < 0 {
		e.seq = -2 // TruncateBack may have removed it
	}
}

// op does something to the stream.
func (m *simulation) op(id int) (more bool) {
	m.ops++
	if m.skip[m.ops] {
		return true
	}
	s, version := m.s, m.version
	rnd := rand.New(rand.NewPCG(m.seed, uint64(m.ops)<<8)) // of this op, so that others stay when it is left out
	fail := func(what string, err error) {
		m.note("%d: %s: %v", id, what, err)
		switch {
		case errors.Is(err, eventlog.ErrFull), m.w.Free < 1000, m.log1 && errors.Is(err, syscall.ENOSPC), errors.Is(err, fs.ErrInvalid), errors.Is(err, os.ErrClosed), errors.Is(err, eventlog.ErrTruncated), m.failing(), m.spoilt, m.moved:
		default:
			m.broken("%s: %v", what, err)
		}
		if m.failing() || m.spoilt {
			m.flushed = false
		}
	}
	if id == 0 && !m.taking {
		m.burst()
	}
	what := rnd.IntN(26)
	if m.taking && rnd.IntN(4) == 0 {
		what = 20 + rnd.IntN(2) // a truncation
	}
	if m.copies {
		what = []int{0, 0, 20, what}[rnd.IntN(4)]
	}
	switch {
	case what < 8:
		e := m.newEvent()
		seq, err := s.Append([]byte(e.data))
		if err != nil {
			e.seq = -2
			fail("Append", err)
			break
		}
		m.note("%d: Append %.12q: %d", id, e.data, seq)
		m.ack(e, seq, version)
	case what < 10:
		var list []*simEvent
		var ps [][]byte
		for range 1 + rnd.IntN(3) {
			list = append(list, m.newEvent())
			ps = append(ps, []byte(list[len(list)-1].data))
		}
		seq, err := s.AppendBatch(ps...)
		if err != nil {
			fail("AppendBatch", err)
		}
		for i, e := range list {
			if err != nil {
				e.seq = -2
				continue
			}
			m.ack(e, seq+int64(i), version)
		}
		m.note("%d: AppendBatch: %d +%d", id, seq, len(list))
	case what < 14:
		e := m.newEvent()
		seq, err := s.AppendSync([]byte(e.data))
		if err != nil {
			fail("AppendSync", err)
			break
		}
		m.note("%d: AppendSync %.12q: %d", id, e.data, seq)
		m.ack(e, seq, version)
		if m.cur().get(seq) == e {
			m.sync(seq + 1)
		}
	case what < 15:
		next := s.Next()
		if err := s.Sync(); err != nil {
			fail("Sync", err)
		} else if version == m.version && !m.changing {
			m.note("%d: Sync %d", id, next)
			m.sync(next)
		}
	case what < 17:
		seq := s.First() + rnd.Int64N(s.Next()-s.First()+1)
		ctx := context.Background()
		if rnd.IntN(2) == 0 {
			c, cancel := context.WithCancel(ctx)
			defer cancel()
			ctx = c
		}
		if err := s.WaitDurable(ctx, seq); err != nil && !errors.Is(err, fs.ErrNotExist) {
			fail("WaitDurable", err)
		} else if err == nil && version == m.version && !m.changing {
			m.note("%d: WaitDurable %d", id, seq)
			m.sync(seq + 1)
		}
	case what < 18:
		if next := s.Durable(); version == m.version && !m.changing {
			m.sync(next)
		}
		if m.moved { // it would look long for files that are elsewhere
			break
		}
		for e, err := range s.Events(s.First(), eventlog.OnlyDurable) {
			if next := s.Durable(); err == nil && !m.log1 && e.Seq >= next && version == m.version && !m.changing {
				m.broken("OnlyDurable yields event %d, those before %d are durable", e.Seq, next)
			}
			if err != nil || m.fault != "" {
				break
			}
		}
	case what < 19 && !m.log1:
		next := s.Next()
		if err := s.Roll(); err != nil {
			fail("Roll", err)
		} else if version == m.version && !m.changing {
			m.note("%d: Roll %d", id, next)
			m.sync(next)
		}
	case what < 20 && id == 0:
		return false
	case what < 21 && id == 0 && !m.log1:
		first := s.First() + rnd.Int64N(s.Next()-s.First()+1)
		if m.copies || rnd.IntN(3) == 0 {
			first = s.Next() + rnd.Int64N(4)
		}
		m.note("%d: TruncateFront %d ...", id, first)
		m.change()
		m.maybeFirst = max(m.maybeFirst, first)
		err := s.TruncateFront(first)
		m.settle()
		if err != nil {
			fail("TruncateFront", err)
			break
		}
		m.note("%d: TruncateFront %d", id, first)
		if m.first = max(m.first, first); first >= m.maybeFirst { // else that of one that has failed before
			m.maybeFirst = 0
		}
		m.durable = max(m.durable, first)
	case what < 22 && id == 0 && !m.log1:
		back := s.Next() - rnd.Int64N(s.Next()-s.First()+1)
		m.note("%d: TruncateBack %d ...", id, back)
		m.change()
		pending := m.maybeBack
		if m.maybeBack = back; pending >= 0 {
			m.maybeBack = min(pending, back) // one that has failed before
		}
		m.durable = min(m.durable, back)
		err := s.TruncateBack(back)
		m.settle()
		clear(m.segs)
		m.first0 = max(m.first0, back)
		m.removed = true
		if err != nil {
			fail("TruncateBack", err)
			break
		}
		m.note("%d: TruncateBack %d", id, back)
		m.maybeBack = -1
		m.newLine(back)
	case what < 23 && id == 0 && !m.log1 && !m.moved:
		m.hang(rnd)
	case what < 24 && id == 0 && !m.log1 && !m.moved:
		m.copy()
	case what < 25 && id == 0:
		m.setClock(rnd)
	case what < 26 && id == 0:
		if m.since(rnd); !m.log1 && rnd.IntN(4) == 0 {
			m.replaceDir()
		}
	}
	return true
}

// hang has flushes take for ever, and calls with a context that ends.
func (m *simulation) hang(rnd *rand.Rand) {
	s := m.s.(*eventlog.Stream)
	m.w.Hang = true
	m.note("flushes hang ...")
	for range rnd.IntN(4) {
		logdisk.Go(func() { m.op(1) })
	}
	logdisk.Sleep(time.Millisecond)
	begun := m.w.Now()
	ctx, cancel := context.WithCancel(context.Background())
	logdisk.Go(func() {
		logdisk.Sleep(time.Millisecond)
		cancel()
	})
	s.WaitDurable(ctx, s.Next()-1)
	if d := s.Durable(); d > s.Next() {
		m.broken("durable up to %d of %d", d, s.Next())
	}
	for range s.Follow(ctx, s.First(), eventlog.OnlyDurable) {
		if ctx.Err() != nil {
			break
		}
	}
	s.Copy(ctx, "/simulated/copy", nil)
	if took := m.w.Now().Sub(begun); took > 50*time.Millisecond {
		m.broken("calls return %v after their context", took)
	}
	m.w.Hang = false
	m.note("flushes end")
}

// copy copies the stream, and compares.
func (m *simulation) copy() {
	const to = "/simulated/copy"
	s, version, first, next := m.s.(*eventlog.Stream), m.version, m.s.First(), m.s.Next()
	logdisk.RemoveAll(to + ".tmp") // of a process that was killed
	logdisk.RemoveAll(to)
	err := s.Copy(context.Background(), to, nil)
	m.note("Copy: %v", err)
	if err != nil {
		if !m.failing() && !m.spoilt && !errors.Is(err, os.ErrClosed) && !errors.Is(err, eventlog.ErrTruncated) && m.w.FlushFailures == 0 && !m.retains() {
			m.broken("Copy: %v", err)
		}
		return
	}
	r, err := eventlog.OpenStreamReader(to)
	if err != nil {
		if !m.failing() {
			m.broken("the copy: %v", err)
		}
		return
	}
	defer r.Close()
	seq := int64(-1)
	for e, err := range r.Events(max(m.first, first)) {
		if err != nil {
			break // a call may fail
		}
		ev := m.events[string(e.Data)]
		if ev != nil && version == m.version {
			m.place(ev, e.Seq)
		}
		if ev == nil || version == m.version && m.cur().get(e.Seq) != ev && e.Seq < next {
			m.broken("the copy has event %d %.12q", e.Seq, e.Data)
		}
		seq = e.Seq
	}
	if version == m.version && !m.failing() && !m.retains() && seq+1 < next && next > first {
		m.broken("the copy ends at %d of %d", seq+1, next)
	}
}

func (m *simulation) failing() bool {
	for _, n := range m.w.Fails {
		if n > 0 {
			return true
		}
	}
	return m.w.Free < 1000
}

// life opens the stream in a new process, and uses it until that closes it, is killed, or the system crashes.
func (m *simulation) life(last bool) {
	m.ops++
	w, rnd := m.w, rand.New(rand.NewPCG(m.seed, uint64(m.ops)<<8))
	stop := 0
	if !last && rnd.IntN(3) > 0 {
		stop = w.Steps() + 1 + rnd.IntN(600)
	}
	p := w.Start()
	w.OnStep = func(step int) {
		if stop > 0 && step >= stop {
			p.Stop()
		}
	}
	w.LoseAll = m.taking && rnd.IntN(2) == 0
	switch {
	case last:
	case m.failed && rnd.IntN(3) == 0: // a recovery that meets the same disk
		w.Fails[simdisk.FailFlush] = 128
	case rnd.IntN(4) == 0:
		m.fail(rnd)
	}
	if rnd.IntN(4) == 0 {
		m.drawSizes(rnd)
	}
	m.segs, m.begun, m.latest, m.spoilt = map[int64]int64{}, w.Now(), w.Now(), false
	closed := false
	ended := p.Do(func() {
		m.change()
		m.noteSegments()
		failing := m.failing()
		s, err := m.open()
		for tries := 0; errors.Is(err, syscall.EIO) && m.failed && tries < 10; tries++ { // that of a flush that has failed before
			s, err = m.open()
		}
		if err != nil {
			if !m.failing() {
				m.broken("OpenStream: %v", err)
			}
			m.note("OpenStream: %v", err)
			return
		}
		before := w.Fails
		w.Fails = map[simdisk.Failure]int{}
		m.s = s
		m.opened()
		maps.DeleteFunc(m.segs, func(first, _ int64) bool { return first > s.Next() }) // they were set aside
		m.retained(s.First())
		if !failing && m.fault == "" {
			m.aged()
		}
		m.settle()
		m.live = true
		m.torn, w.Fails = false, before
		switch {
		case last:
		case m.taking && rnd.IntN(4) > 0:
			w.Fails = map[simdisk.Failure]int{simdisk.FailFlush: 256}
		case !m.failing():
			m.fail(rnd)
		}
		aux := rnd.IntN(2) == 0
		for n := rnd.IntN(30); n > 0 && m.fault == ""; n-- {
			if !m.op(0) {
				break
			}
			m.retained(s.First())
			if aux && rnd.IntN(4) == 0 {
				logdisk.Go(func() { m.op(1) })
			}
		}
		if last || rnd.IntN(2) == 0 {
			next := s.Next()
			err := s.Close()
			m.note("Close %d: %v", next, err)
			if err == nil {
				m.sync(max(next, s.Next()))
			} else if !m.failing() && !m.spoilt && !m.moved {
				m.broken("Close: %v", err)
			}
			closed = true
		}
	})
	w.OnStep, w.Hang = nil, false
	if ended && closed && m.fault == "" {
		left := func() bool { tasks, files := p.Left(); return tasks+files > 0 }
		if w.Wait(func() bool { return !left() }, w.Now().Add(time.Second)); left() {
			tasks, files := p.Left()
			m.broken("after Close there are %d goroutines, and %d files are open", tasks, files)
		}
	}
	m.flushed = m.flushed && w.FlushFailures == 0
	m.failed = m.failed || w.FlushFailures > 0
	m.failedOnce = m.failedOnce || m.failed
	w.FlushFailures = 0
	w.Free, w.Fails = 1<<30, map[simdisk.Failure]int{}
	crash := !last && rnd.IntN(2) == 0 && (!m.taking || rnd.IntN(4) == 0)
	m.note("ended %v, crash %v", ended, crash)
	p.Kill()
	if m.moved {
		m.putBack()
	}
	m.s, m.live = nil, false
	if crash {
		m.change()
		m.torn, m.failed = true, false
		w.Crash()
		m.readers = nil
	}
}

// drawSizes chooses the sizes that a process opens the log with.
func (m *simulation) drawSizes(rnd *rand.Rand) {
	m.o.SegmentSize = []int64{300, 1500, 6000, 24 + rnd.Int64N(8000)}[rnd.IntN(4)]
	if m.o.MaxSize = 0; rnd.IntN(8) == 0 || m.log1 && rnd.IntN(2) == 0 {
		m.o.MaxSize = []int64{4096, 5000, 20_000}[rnd.IntN(3)]
	}
}

// fail has calls fail from now on.
func (m *simulation) fail(rnd *rand.Rand) {
	w := m.w
	if m.copies { // after a failed call, copyBeside compares nothing
		return
	}
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
		w.Free = rnd.IntN(12)
	case 7:
		w.Fails[simdisk.FailWrite] = 32
	}
	if m.failing() {
		m.note("failing %v, %d free", w.Fails, min(w.Free, 1000))
	}
}

// burst ends a burst of calls that fail, at times, or begins another.
func (m *simulation) burst() {
	rnd := rand.New(rand.NewPCG(m.seed, uint64(m.ops)<<8|1))
	switch {
	case m.failing() && rnd.IntN(16) == 0:
		m.note("calls fail no more")
		m.flushed = m.flushed && m.w.FlushFailures == 0
		m.spoilt, m.w.Fails, m.w.Free = true, map[simdisk.Failure]int{}, 1<<30
	case m.spoilt && !m.failing() && rnd.IntN(16) == 0:
		m.fail(rnd)
	}
}

// read has a process of its own read the stream.
func (m *simulation) read() {
	w, rnd := m.w, m.rnd
	p := w.Start()
	p.Go(func() {
		for !m.stopped && m.fault == "" {
			swaps := m.swaps // of the directory: the reader stays with the one that it has opened
			r, err := m.openReader()
			if err != nil {
				if !m.failing() && !m.moved && !wasReplaced(err) && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.EIO) && !errors.Is(err, syscall.EMFILE) {
					m.broken("OpenStreamReader: %v", err)
				}
				logdisk.Sleep(time.Millisecond)
				continue
			}
			for n := 1 + rnd.IntN(6); n > 0 && !m.stopped && m.fault == ""; n-- {
				switch what := rnd.IntN(4); {
				case m.copies && what > 0:
					m.copyBeside(r.(*eventlog.StreamReader), swaps)
				case what < 2:
					if !m.log1 {
						m.get(r, swaps)
					}
				case what == 2:
					m.follow(r, swaps, rnd.IntN(2) == 0, rnd.IntN(2) == 0)
				default:
					m.follow(r, swaps, rnd.IntN(2) == 0, true)
				}
			}
			r.Close()
			if _, files := p.Left(); files > 0 && !p.Dead() {
				m.broken("%d files are open after Close of a reader", files)
			}
		}
	})
}

// appended returns the number after the last event whose append has returned.
func (m *simulation) appended() (next int64) {
	for _, e := range m.cur().all() {
		if e.acked {
			next = max(next, e.seq+1)
		}
	}
	return next
}

// keeps returns a function that reports whether no event was removed from the end since, and no call has failed.
func (m *simulation) keeps(swaps int) func() bool {
	lines, live := len(m.lines), m.live
	return func() bool {
		return live && m.live && len(m.lines) == lines && m.maybeBack < 0 && !m.failing() && !m.spoilt && !m.moved && m.swaps == swaps
	}
}

// copyBeside calls Next and Copy of a reader. Whatever TruncateFront does meanwhile, neither may end before an event
// whose append has returned.
func (m *simulation) copyBeside(r *eventlog.StreamReader, swaps int) {
	logdisk.Sleep(time.Microsecond << m.rnd.IntN(11))
	least, kept := m.appended(), m.keeps(swaps)
	if next, err := r.Next(); (err != nil || next < least) && kept() {
		m.broken("Next of a reader is %d, and was %d: %v", next, least, err)
	}
	to := fmt.Sprintf("/simulated/copy%d", m.w.Steps())
	least, kept = m.appended(), m.keeps(swaps)
	err := r.Copy(context.Background(), to, nil)
	next := int64(0)
	if err == nil {
		c, cerr := eventlog.OpenStreamReader(to)
		if err = cerr; err == nil {
			next, err = c.Next()
			c.Close()
		}
	}
	if (err != nil || next < least) && kept() {
		m.broken("a reader's copy ends at %d of %d: %v", next, least, err)
	}
}

// get reads an event, and compares it with the history, unless that changes meanwhile.
func (m *simulation) get(r simReader, swaps int) {
	version, changing, next, kept := m.version, m.changing, m.appended(), m.keeps(swaps)
	seq := m.first + m.rnd.Int64N(max(next-m.first, 0)+3)
	e, err := r.Get(seq)
	if errors.Is(err, fs.ErrNotExist) && seq < next && kept() {
		m.broken("Get(%d) of %d to %d: %v", seq, m.first, next, err)
	}
	if version != m.version || changing || m.changing || m.failing() || m.moved || m.swaps != swaps {
		return
	}
	want := m.cur().get(seq)
	switch {
	case err == nil:
		ev := m.events[string(e.Data)]
		if ev == nil || e.Seq != seq {
			m.broken("Get(%d): %d %.12q", seq, e.Seq, e.Data)
			return
		}
		m.place(ev, seq)
		if m.cur().get(seq) != ev {
			m.broken("Get(%d): %.12q, want %.12q", seq, e.Data, want.text())
		}
	case errors.Is(err, syscall.EIO), errors.Is(err, syscall.EMFILE): // of a call that has failed
	case wasReplaced(err):
	case m.lost() && errors.As(err, new(*eventlog.CorruptError)):
	case want != nil && seq < next && seq >= m.first && m.maybeFirst <= seq && (m.maybeBack < 0 || m.maybeBack > seq) && !m.retains():
		m.broken("Get(%d) of %d to %d: %v, want %.12q", seq, m.first, next, err, want.text())
	case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, eventlog.ErrTruncated):
		m.broken("Get(%d) of %d to %d: %v", seq, m.first, next, err)
	}
}

func (e *simEvent) text() string {
	if e == nil {
		return "none"
	}
	return e.data
}

// follow reads events in order, and compares each with the one before.
func (m *simulation) follow(r simReader, swaps int, durable, toEnd bool) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	f := &follower{durable: durable, cancel: cancel, running: true}
	torn := m.torn
	first, err := r.First()
	if err != nil {
		return
	}
	f.next = first
	var o []eventlog.ReadOption
	if durable = durable && !m.log1; durable {
		o = append(o, eventlog.OnlyDurable)
	}
	events := r.Follow(ctx, first, o...)
	if toEnd {
		events = r.Events(first, o...)
	} else {
		m.readers = append(m.readers, f)
	}
	for e, err := range events {
		if err != nil {
			f.end = err
			break
		}
		if m.moved || m.swaps != swaps {
			break
		}
		ev := m.events[string(e.Data)]
		if ev == nil && (m.failedOnce || m.w.FlushFailures > 0) && !m.w.NoMemory {
			break // memory has events that a flush has failed to write until its pages are dropped, after they were verified
		}
		if ev == nil || e.Seq != f.next {
			m.broken("a loop yields %d %.12q, want %d", e.Seq, e.Data, f.next)
			return
		}
		l := ev.line // a batch may be of events that were taken back since
		if l == nil {
			l = m.cur()
		}
		if ev.seq == -2 && ev.line == nil { // TruncateBack may have removed it
			f.last, f.next = nil, e.Seq+1
			continue
		}
		m.placeIn(l, ev, e.Seq)
		if f.last != nil && !slices.ContainsFunc(m.lines, func(l *line) bool { return l.get(f.last.seq) == f.last && l.get(ev.seq) == ev }) {
			m.broken("a loop yields %d %.12q after %.12q, which is of another history", e.Seq, e.Data, f.last.data)
			return
		}
		if durable && m.cur().get(ev.seq) == ev && (m.maybeBack < 0 || ev.seq < m.maybeBack) {
			m.durable = max(m.durable, ev.seq+1)
		}
		f.last, f.next = ev, e.Seq+1
		m.linger()
		if m.stopped || m.fault != "" {
			break
		}
	}
	f.running = false
	switch {
	case errors.Is(f.end, fs.ErrInvalid) && f.last == nil && (m.failed || m.maybeFirst > 0): // First was of a TruncateFront that has failed
	case errors.Is(f.end, syscall.EIO), errors.Is(f.end, syscall.EMFILE): // from a call that has failed
	case m.moved || m.swaps != swaps || wasReplaced(f.end):
	case (m.changing && m.failed || m.lost()) && errors.As(f.end, new(*eventlog.CorruptError)): // of pages that were dropped
	case m.log1 && m.failedOnce && (errors.Is(f.end, eventlog.ErrTruncated) || errors.Is(f.end, io.ErrUnexpectedEOF)):
	case f.end == nil, errors.Is(f.end, context.Canceled), m.failing(), m.stopped, torn:
	case errors.Is(f.end, eventlog.ErrTruncated) && m.removed, errors.Is(f.end, eventlog.ErrTruncated) && m.retains():
	default:
		m.broken("a loop at %d: %v", f.next, f.end)
	}
}

// lost reports whether pages may have been dropped that a flush has failed to write, and no writer has opened the
// stream since.
func (m *simulation) lost() bool { return m.w.Evicts && (!m.flushed || m.w.FlushFailures > 0) }

// linger is the time that the body of a loop takes: mostly none, or so long that a writer may end and another begin.
func (m *simulation) linger() {
	if m.rnd.IntN(4) == 0 || m.taking && m.rnd.IntN(2) == 0 {
		logdisk.Sleep(time.Microsecond << m.rnd.IntN(11))
	}
}

// quiet checks that each reader has all there is, or was told.
func (m *simulation) quiet() {
	logdisk.Sleep(time.Second)
	for _, f := range m.readers {
		if !f.running || m.fault != "" {
			continue
		}
		if f.last != nil && m.cur().get(f.last.seq) != f.last {
			m.broken("a loop was not told that event %d %.12q was removed", f.last.seq, f.last.data)
		}
		if next := m.cur().next(m.first); f.next < next && !f.durable {
			m.broken("a loop stays at %d of %d", f.next, next)
		}
	}
}

// simulate runs the history of a seed without some of its ops.
func simulate(kind string, seed uint64, skip ...int) (m *simulation) {
	rnd := rand.New(rand.NewPCG(seed, 7))
	w := simdisk.New(seed)
	defer w.Release()
	defer logdisk.Mount("/simulated", w)()
	defer logdisk.Simulate(w)()
	m = &simulation{w: w, log1: kind == "log", copies: kind == "copy", seed: seed, rnd: rnd, skip: map[int]bool{}, events: map[string]*simEvent{}, maybeBack: -1, flushed: true}
	m.newLine(0)
	for _, op := range skip {
		m.skip[op] = true
	}
	if *simTrace {
		w.Trace = func(op, name string) { m.note("        %s %s", op, name) }
	}
	w.MkdirDurable("simulated")
	m.drawSizes(rnd)
	m.o.Grow = []int64{0, 4096}[rnd.IntN(2)]
	switch rnd.IntN(8) {
	case 0, 1:
		m.o.RetainBytes = 8000
	case 2, 3:
		m.o.RetainAge = []time.Duration{time.Millisecond, 20 * time.Millisecond, time.Hour}[rnd.IntN(3)]
	}
	if m.log1 {
		m.o.RetainBytes, m.o.RetainAge = 0, 0
	}
	m.o.Now = w.Now
	w.NoMemory, w.Evicts = rnd.IntN(3) == 0, rnd.IntN(2) == 0
	w.Switch = []int{2, 4, 16}[rnd.IntN(3)]
	if m.copies {
		w.SlowNames = 200 * time.Microsecond
	}
	m.taking = rnd.IntN(6) == 0 && !m.copies
	lives := rand.New(rand.NewPCG(seed, 8))
	for range 1 + lives.IntN(5) {
		if lives.IntN(2) == 0 || m.taking {
			m.read()
		}
		if m.life(false); m.fault != "" || w.Failed() != "" {
			break
		}
	}
	if m.fault == "" && w.Failed() == "" {
		m.read()
		m.life(true)
	}
	if m.fault == "" && w.Failed() == "" && !m.copies {
		m.quiet()
	}
	m.stopped = true
	if w.Failed() == "" && m.fault == "" {
		for _, f := range m.readers {
			f.cancel()
		}
		logdisk.Sleep(time.Second)
	}
	if w.Failed() == "" && m.fault == "" {
		m.damage()
	}
	if w.Failed() != "" {
		m.broken("%s", w.Failed())
	}
	w.End()
	return m
}

// shrink leaves out ops of a history that breaks a promise, as long as it breaks one.
func shrink(kind string, seed uint64) (m *simulation, skip []int) {
	m = simulate(kind, seed)
	for op := m.ops; op > 0; op-- {
		if with := append(slices.Clone(skip), op); simulate(kind, seed, with...).fault != "" {
			skip = with
		}
	}
	return simulate(kind, seed, skip...), skip
}

// kept are histories that break a promise if a mistake is made again. A change of the model makes them others.
var kept = []struct {
	kind string
	seed uint64
}{
	{"stream", 40},        // a segment after one whose flush has failed is marked closed
	{"stream", 4201},      // TruncateBack begins after a flush has failed
	{"stream", 79},        // readers are not told of events that are taken back
	{"log", 53},           //
	{"stream", 1},         // WaitDurable waits without its context
	{"log", 36},           // a loop does not ask again before it reports an error
	{"stream", 450},       //
	{"log", 3068},         // a loop begins with the WriteOffset before the StartTimestamp
	{"log", 77007237},     // or with the StartTimestamp before there was a header
	{"log", 78006189},     // or is forgotten by a writer that is killed
	{"log", 667},          // an append that has failed leaves another length
	{"log", 6031},         // StartTimestamp goes back
	{"stream", 33},        // RetainAge believes a start after now
	{"stream", 148},       // and stops there
	{"stream", 640},       // or believes one before that of the segment in front
	{"log", 26},           // a file of any length opens
	{"stream", 12},        //
	{"log", 11},           // Repair does not save what it truncates
	{"stream", 700065816}, // a loop tries again for ever, although its directory was replaced
	{"stream", 700016050}, // OpenStream forgets what readers have seen of meta
	{"stream", 700005447}, // TruncateFront removes a file before meta is durable
	{"stream", 2100},      // TruncateBack leaves a file open
	{"stream", 20277},     // two writers end a truncation, and readers do not see the second
	{"stream", 950000077}, // a loop meets damage that TruncateBack is removing
	{"stream", 900041177}, // an append that has failed comes back
	{"stream", 33350},     // a loop lists no files, since OpenStream has taken back the event that is next
	{"copy", 5},           // a reader lists no files, since TruncateFront has removed them, with the First of before
	{"copy", 28448},       // or does so in Get, after it has compared the bounds
	{"copy", 3919},        // Copy meets a file whose header is not written yet
	{"copy", 2617},        // or a segment without events before one that follows a gap
}

func TestSimulate_Kept(t *testing.T) {
	for _, k := range kept {
		if m := simulate(k.kind, k.seed); m.fault != "" {
			t.Errorf("%s %d: %s", k.kind, k.seed, m.fault)
		}
	}
}

// The same seed is the same history.
func TestSimulate_Repeats(t *testing.T) {
	for seed := range uint64(100) {
		if a, b := simulate("stream", seed), simulate("stream", seed); !slices.Equal(a.log, b.log) || a.w.Steps() != b.w.Steps() {
			t.Fatalf("history %d:\n%s\n\n%s", seed, strings.Join(a.log, "\n"), strings.Join(b.log, "\n"))
		}
	}
}

// Whatever fails, a stream keeps what its documentation promises, and so does a log.
func TestSimulate_Stream(t *testing.T) { simulateAll(t, "stream", *simCount) }

func TestSimulate_Log(t *testing.T) { simulateAll(t, "log", *simCount/4) }

// A reader's Get, Next and Copy show no state that is older than the call, beside a TruncateFront of all events.
func TestSimulate_Copy(t *testing.T) { simulateAll(t, "copy", *simCount/20) }

func simulateAll(t *testing.T, kind string, n int) {
	if small() {
		n /= 10
	}
	if race { // one task runs at a time
		n /= 10
	}
	n = max(n, 1)
	began, told := time.Now(), time.Now()
	steps := 0
	for i := range n {
		seed := *simSeed + uint64(i)
		m := simulate(kind, seed)
		steps += m.w.Steps()
		if m.fault != "" {
			m, skip := shrink(kind, seed)
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
	t.Logf("%d histories, %d calls of the disk each, %v each", n, steps/n, time.Since(began)/time.Duration(n))
}
