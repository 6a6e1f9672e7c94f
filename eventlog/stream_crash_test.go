package eventlog_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"go.dw1.io/mmapfile/eventlog"
)

// disk knows what of a stream's directory is durable, and composes what a crash may leave:
// of each page the durable version or the present one, of each file either length, and of
// each name either file.
type disk struct {
	t     *testing.T
	dir   string
	rnd   *rand.Rand
	files []*inode
	names map[string]*inode // durable
}

// inode is a file. It stays open, so that its number is not used again.
type inode struct {
	f       *os.File
	fi      os.FileInfo
	durable []byte

	head, before words // header of a segment now, and before the last append
}

func newDisk(t *testing.T, dir string, rnd *rand.Rand) *disk {
	d := &disk{t: t, dir: dir, rnd: rnd, names: map[string]*inode{}}
	t.Cleanup(func() {
		for _, n := range d.files {
			n.f.Close()
		}
	})
	return d
}

// open returns the file with this name, or nil.
func (d *disk) open(name string) *inode {
	f, err := os.Open(filepath.Join(d.dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		d.t.Error(err)
		return nil
	}
	fi, err := f.Stat()
	if err != nil {
		d.t.Error(err)
	}
	for _, n := range d.files {
		if os.SameFile(n.fi, fi) {
			f.Close()
			return n
		}
	}
	n := &inode{f: f, fi: fi}
	d.files = append(d.files, n)
	return n
}

func (d *disk) now() map[string]*inode {
	entries, err := os.ReadDir(d.dir)
	if err != nil {
		d.t.Error(err)
	}
	names := map[string]*inode{}
	for _, e := range entries {
		if n := d.open(e.Name()); n != nil {
			names[e.Name()] = n
		}
	}
	return names
}

func (n *inode) content(t *testing.T) []byte {
	fi, err := n.f.Stat()
	if err != nil {
		t.Error(err)
		return nil
	}
	b := make([]byte, fi.Size())
	k, _ := n.f.ReadAt(b, 0)
	return b[:k]
}

// synced notes that the content of a file is durable.
func (d *disk) synced(name string) {
	if n := d.open(name); n != nil {
		n.durable = n.content(d.t)
	}
}

// heads notes the headers of all segments. It is called after each append.
func (d *disk) heads() {
	for name, n := range d.now() {
		b := n.content(d.t)
		if strings.HasSuffix(name, ".log") && len(b) >= len(n.head) && words(b) != n.head {
			n.head, n.before = words(b), n.head
		}
	}
}

// syncedDir notes that the names are.
func (d *disk) syncedDir() { d.names = d.now() }

// crash puts what a crash may leave into a new directory.
func (d *disk) crash() string {
	now := d.now()
	all := maps.Clone(now)
	maps.Copy(all, d.names)
	dir := newDir(d.t)
	few := d.rnd.IntN(3) // 0: most pages are old; 2: most are new
	for name := range all {
		n := now[name]
		if d.rnd.IntN(2) == 0 {
			n = d.names[name]
		}
		if n == nil {
			continue
		}
		put(d.t, filepath.Join(dir, name), d.image(n, few))
	}
	return dir
}

func (d *disk) image(n *inode, few int) []byte {
	b := n.content(d.t)
	if len(b) > 24+markSize && binary.LittleEndian.Uint64(b) == uint64(len(b)-markSize) {
		n.durable = bytes.Clone(b) // a segment is flushed before it is truncated for its mark
	}
	switch old := n.durable; {
	case len(old) > len(b) && d.rnd.IntN(2) == 0:
		b = append(b, old[len(b):]...)
	case len(old) < len(b) && d.rnd.IntN(3) == 0:
		b = b[:len(old)]
	}
	if len(b) >= 24 && n.before != (words{}) && words(b) == n.head && !bytes.HasPrefix(n.durable, n.head[:]) && d.rnd.IntN(2) == 0 {
		tear(b, n.before, d.rnd)
	}
	for off := 0; off < len(b); off += 4096 {
		if d.rnd.IntN(3) >= few {
			page := b[off:min(off+4096, len(b))]
			clear(page)
			if off < len(n.durable) {
				copy(page, n.durable[off:])
			}
		}
	}
	return b
}

// crashModel is what a stream has to be after a crash.
type crashModel struct {
	*disk
	mu     sync.Mutex
	s      *eventlog.Stream
	o      eventlog.StreamOptions
	events map[int64]string // all that were appended, the newest for each number
	before map[int64]string // those that the TruncateBack that runs removes
	first  int64            // argument of the last truncation that returned
	next   int64            // after all that was appended
	synced int64            // what must be there
	images int
	broken int // images that Recovery has truncated
}

// step is called after each step of the stream that a crash may follow.
func (m *crashModel) trace(op, name string) {
	m.lock(m.check) // before it is noted: the step may be one of which a part was done
	runtime.Gosched()
	m.mu.Lock()
	defer m.mu.Unlock()
	switch op {
	case "sync", "close":
		m.disk.synced(filepath.Base(name))
	case "syncdir":
		m.syncedDir()
	}
	m.check()
}

// check opens what a crash may leave, and compares.
func (m *crashModel) check() {
	if m.s == nil || m.t.Failed() {
		return
	}
	dir := m.crash()
	defer os.RemoveAll(dir)
	m.images++
	r, err := eventlog.OpenStreamReader(dir) // which must not fail either, whatever it finds
	if err == nil {
		collect(r.Events(m.first))
		r.Close()
	}
	first, next := int64(0), int64(0)
	for round := range 2 {
		o := m.o
		o.RetainBytes = 0
		s, err := eventlog.OpenStream(dir, o)
		if err != nil {
			m.t.Errorf("image %d, round %d: %v in %v", m.images, round, err, list(m.t, dir))
			return
		}
		if err := s.Check(); err != nil {
			m.t.Errorf("image %d: %v", m.images, err)
		}
		rec := s.Recovery()
		if rec.TruncatedBytes > 0 && round == 0 {
			m.broken++
		}
		if round == 0 {
			first, next = s.First(), s.Next()
		}
		if s.First() != first || s.Next() != next {
			m.t.Errorf("image %d, round %d: %d to %d, was %d to %d", m.images, round, s.First(), s.Next(), first, next)
		}
		if first < m.first || next < m.synced || next < first {
			m.t.Errorf("image %d: %d to %d, want %d, and to %d at least; %+v", m.images, first, next, m.first, m.synced, rec)
		}
		seq := first
		for e, err := range s.Events(first) {
			if err != nil || e.Seq != seq || string(e.Data) != m.events[seq] && string(e.Data) != m.before[seq] {
				m.t.Errorf("image %d: event %d is %.20q, %v, want %.20q", m.images, seq, e.Data, err, m.events[seq])
				break
			}
			seq++
		}
		if seq != next && !m.t.Failed() {
			m.t.Errorf("image %d: the events end at %d, want %d", m.images, seq, next)
		}
		if round == 0 {
			m.events[next] = cmpOr(m.events[next], "more")
			if _, err := s.AppendSync([]byte(m.events[next])); err != nil {
				m.t.Error(err)
			}
			next++
		}
		if err := s.Close(); err != nil {
			m.t.Error(err)
		}
	}
}

func cmpOr(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func list(t *testing.T, dir string) (names []string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Error(err)
	}
	for _, e := range entries {
		fi, _ := e.Info()
		names = append(names, fmt.Sprint(e.Name(), " ", fi.Size()))
	}
	return names
}

func (m *crashModel) lock(fn func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	fn()
}

var crashes = flag.Int("eventlog.crashes", 3, "how many streams get a crash at every step")

// Whatever is rolled, prepared and truncated: a crash at any step loses nothing that was
// synced, and brings back nothing that was truncated.
func TestStream_CrashAtEveryStep(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" || runtime.GOOS == "plan9" || runtime.GOOS == "js" || runtime.GOOS == "wasip1" {
		t.Skip("files that are open cannot be removed, or have no number")
	}
	rounds := *crashes
	if small() {
		rounds = 1
	}
	images, broken := 0, 0
	for round := range rounds {
		rnd := rand.New(rand.NewPCG(21, uint64(round)))
		dir := newDir(t)
		m := &crashModel{disk: newDisk(t, dir, rand.New(rand.NewPCG(22, uint64(round)))), events: map[int64]string{}}
		m.o = eventlog.StreamOptions{SegmentSize: []int64{5000, 20_000}[rnd.IntN(2)]}
		m.o.Grow = 8192
		if rnd.IntN(2) == 0 {
			m.o.RetainBytes = 40_000
		}
		eventlog.Trace(dir, m.trace)
		s := openStream(t, dir, m.o)
		m.syncedDir()
		for name := range m.names {
			m.disk.synced(name)
		}
		m.lock(func() { m.s = s })
		for op := range 60 {
			m.run(rnd, fmt.Sprint(op))
			eventlog.WaitJobs(s)
			if op%4 == 0 {
				m.lock(m.check)
			}
		}
		m.lock(func() { m.s = nil })
		closeStream(t, s)
		images, broken = images+m.images, broken+m.broken
	}
	t.Logf("%d images, of which %d had events that were not whole", images, broken)
	if !t.Failed() && images < rounds*50 || broken == 0 && !small() {
		t.Errorf("too few images: %d, %d", images, broken)
	}
}

// run does one operation.
func (m *crashModel) run(rnd *rand.Rand, id string) {
	s, t := m.s, m.t
	defer m.lock(m.heads)
	m.lock(m.heads)
	some := func(i int) []byte {
		p := bytes.Repeat([]byte{byte('a' + rnd.IntN(26))}, rnd.IntN(3000)+1)
		if rnd.IntN(4) == 0 {
			clear(p) // which looks like a page that was not written
		}
		return append([]byte(fmt.Sprint(id, ".", i, " ")), p...)
	}
	switch what := rnd.IntN(20); {
	case what < 11:
		var ps [][]byte
		m.lock(func() {
			for i := range 1 + rnd.IntN(4) {
				ps = append(ps, some(i))
				m.events[m.next] = string(ps[i])
				m.next++
			}
		})
		must(t, errOf(s.AppendBatch(ps...)))
		if rnd.IntN(2) > 0 {
			break
		}
		must(t, s.Sync()) // while the segment before is being closed, perhaps
		m.flushed()
	case what < 14:
		p := some(0)
		m.lock(func() { m.events[m.next] = string(p); m.next++ })
		must(t, errOf(s.AppendSync(p)))
		m.flushed()
	case what < 15:
		must(t, s.Sync())
		m.flushed()
	case what < 16:
		if id[len(id)-1]%2 == 0 {
			must(t, s.Roll())
		} else if next := s.Next(); next > s.First() {
			must(t, s.WaitDurable(context.Background(), next-1))
		}
		m.flushed()
	case what < 18:
		first := s.First() + rnd.Int64N(s.Next()-s.First()+1)/2
		if rnd.IntN(4) == 0 {
			first = s.Next() + rnd.Int64N(3)
		}
		must(t, s.TruncateFront(first))
		m.lock(func() { m.first, m.next, m.synced = max(m.first, first), max(m.next, first), max(m.synced, first) })
	default:
		back := s.Next() - rnd.Int64N(s.Next()-s.First()+1)/2
		m.lock(func() {
			m.before = m.events
			m.events = maps.Clone(m.events)
			maps.DeleteFunc(m.events, func(seq int64, _ string) bool { return seq >= back })
			m.synced = min(m.synced, back)
			m.next = back
		})
		must(t, s.TruncateBack(back))
		m.lock(func() { m.before = nil })
	}
}

// flushed notes what Sync and AppendSync promise: the last segment is durable.
func (m *crashModel) flushed() {
	m.lock(func() {
		m.syncedActive()
		m.synced = m.next
		m.check()
	})
}

func (m *crashModel) syncedActive() {
	last := ""
	for name := range m.now() {
		if strings.HasSuffix(name, ".log") {
			last = max(last, name)
		}
	}
	m.disk.synced(last)
}
