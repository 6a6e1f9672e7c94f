package eventlog_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.dw1.io/mmapfile/eventlog"
	"go.dw1.io/mmapfile/internal/logdisk"
	"go.dw1.io/mmapfile/internal/simdisk"
)

// simDamage is what another program does to a file of the log while none has it open.
type simDamage struct {
	name     string // the file
	what     string
	before   []byte
	after    []byte
	end      int64 // WriteOffset
	number   int64 // of its first event
	ends     []int64
	kept     int64 // number of events in the file before the first that is not whole
	closed   bool  // it has a mark
	cuts     bool  // it is truncated before WriteOffset
	crash    bool  // to a length that a crash may leave
	bad      bool  // its WriteOffset was overwritten
	harmless bool  // all events are there
}

// markLen is the length of a mark.
const markLen = 20

// parse reads a file as FORMAT.md says, without the checksums.
func (d *simDamage) parse(b []byte) bool {
	if len(b) < 24 {
		return false
	}
	d.end = int64(binary.LittleEndian.Uint64(b))
	for off := int64(24); off < d.end; {
		if off+16 > int64(len(b)) {
			return false
		}
		off += 16 + int64(binary.LittleEndian.Uint32(b[off+8:]))
		d.ends = append(d.ends, off)
	}
	n := int64(len(b)) - markLen
	d.closed = n >= d.end && int64(binary.LittleEndian.Uint64(b[n:])) == d.end && string(b[n+8:n+16]) == "closed\r\n"
	return len(d.ends) > 0 && d.ends[len(d.ends)-1] == d.end && d.end <= int64(len(b))
}

// start returns where an event of the file begins.
func (d *simDamage) start(i int) int64 {
	if i == 0 {
		return 24
	}
	return d.ends[i-1]
}

// draw chooses the damage.
func (d *simDamage) draw(rnd *rand.Rand, length int64) {
	d.after = bytes.Clone(d.before)
	n := int64(len(d.ends))
	i := rnd.IntN(len(d.ends))
	switch rnd.IntN(8) {
	case 0: // a byte of an event
		off := d.start(i) + rnd.Int64N(d.ends[i]-d.start(i))
		d.after[off] ^= byte(1 + rnd.IntN(255))
		d.kept, d.what = int64(i), fmt.Sprintf("byte %d of event %d is overwritten", off, i)
	case 1: // WriteOffset
		at := 1 + rnd.Int64N(23)
		if rnd.IntN(2) == 0 {
			at = d.start(i) + 1 + rnd.Int64N(d.ends[i]-d.start(i)-1)
		}
		binary.LittleEndian.PutUint64(d.after, uint64(at))
		d.kept, d.bad, d.what = n, true, fmt.Sprintf("WriteOffset is overwritten with %d", at)
	default:
		size := []int64{
			rnd.Int64N(d.end + markLen), d.ends[i], d.ends[i] + 1 + rnd.Int64N(2*markLen), rnd.Int64N(d.end/4096+1) * 4096,
			24, rnd.Int64N(24), d.end - 1, length,
		}[rnd.IntN(8)]
		size = min(size, int64(len(d.before)))
		d.after = d.after[:size]
		for _, end := range d.ends {
			if end <= size {
				d.kept++
			}
			d.crash = d.crash || end == size || end+markLen == size
		}
		blank := size < 24 && len(bytes.Trim(d.after, "\x00")) == 0 // a new file
		d.crash = d.crash || blank || size == 24 || size == 24+markLen || size%4096 == 0 || size == length
		d.cuts, d.harmless = size < d.end, size >= d.end
		d.what = fmt.Sprintf("truncated to %d", size)
	}
}

// damage has another program damage a file, and checks that readers and writers see that, and what Repair keeps. The
// history ends with it.
func (m *simulation) damage() {
	w, rnd := m.w, rand.New(rand.NewPCG(m.seed, 9))
	if rnd.IntN(4) > 0 {
		return
	}
	w.Fails, w.Free = map[simdisk.Failure]int{}, 1<<30
	m.o.RetainBytes, m.o.RetainAge = 0, 0
	if rnd.IntN(2) == 0 { // it is not closed
		p := w.Start()
		p.Do(func() {
			if s, err := m.open(); err == nil {
				m.s = s
				for range rnd.IntN(6) {
					s.AppendSync([]byte(m.newEvent().data))
				}
			}
		})
		p.Kill()
	}
	truth, err := m.collect(false, -1)
	if err != nil || len(truth) == 0 {
		return
	}
	d := &simDamage{name: simDir}
	last := true
	if !m.log1 {
		names := w.Names(simDir)
		names = slices.DeleteFunc(names, func(s string) bool { return !strings.HasSuffix(s, ".log") })
		i := len(names) - 1
		if rnd.IntN(2) == 0 {
			i = rnd.IntN(len(names))
		}
		last = i == len(names)-1
		d.name = filepath.Join(simDir, names[i])
		d.number = eventlog.FirstOf(d.name)
	}
	d.before = w.Contents(d.name)
	if !d.parse(d.before) {
		return
	}
	if n := d.number + int64(len(d.ends)); !m.log1 && (n > truth[len(truth)-1].Seq+1 || n <= truth[0].Seq) {
		return // events that a truncation has removed
	}
	length := m.o.SegmentSize // that a file has before it is full
	if m.log1 {
		length = m.o.MaxSize
	}
	d.draw(rnd, length)
	if tail := bytes.TrimRight(d.before[d.end:], "\x00"); len(tail) > markLen { // TruncateBack has removed events
		if last = false; d.bad {
			return // they would be valid again
		}
	}
	lost := d.number + d.kept - truth[0].Seq // number of events in truth that stay
	if lost < 0 {
		return
	}
	if d.kept == int64(len(d.ends)) {
		lost = int64(len(truth))
	}
	want, rest := truth[:min(lost, int64(len(truth)))], []eventlog.Event(nil)
	if next := d.number + int64(len(d.ends)); !last && next <= truth[len(truth)-1].Seq {
		rest = truth[next-truth[0].Seq:]
	}
	m.note("%s: %s, closed %v, last %v, %d of %d events stay", d.name, d.what, d.closed, last, len(want), len(truth))
	w.Replace(d.name, d.after)
	missing := len(want) < len(truth)

	// A reader.
	got, err := m.collect(false, truth[0].Seq)
	switch {
	case d.bad:
		if err == nil {
			m.broken("damaged: a reader has %d events without an error", len(got))
		}
	case len(d.after) < 24 && d.crash: // a writer may be creating it
	case !sameEvents(got, want):
		m.broken("damaged: a reader has %d events, want %d: %v", len(got), len(want), err)
	case missing && !errors.As(err, new(*eventlog.CorruptError)):
		m.broken("damaged: a reader ends with %v after %d of %d events", err, len(got), len(truth))
	}

	// A writer.
	repair := rnd.IntN(4) == 0
	if !repair {
		files := map[string][]byte{} // the segments from this one on
		for _, name := range w.Names(filepath.Dir(d.name)) {
			if strings.HasSuffix(name, ".log") && eventlog.FirstOf(name) >= d.number {
				name = filepath.Join(filepath.Dir(d.name), name)
				files[name] = w.Contents(name)
			}
		}
		got, err := m.collect(true, truth[0].Seq)
		m.note("opened with %d events: %v", len(got), err)
		may := d.harmless || d.cuts && d.crash || !d.cuts && !d.bad && (!d.closed || d.kept+1 == int64(len(d.ends)))
		oerr := (*openError)(nil)
		switch failed := errors.As(err, &oerr); {
		case failed && !errors.As(err, new(*eventlog.CorruptError)):
			m.broken("damaged: a writer: %v", err)
		case failed && (d.harmless || d.cuts && d.crash && last && len(d.after) >= 24):
			m.broken("a writer refuses what a crash may leave: %v", err)
		case failed:
			if !bytes.Equal(w.Contents(d.name), d.after) {
				m.broken("a writer changes a log that it refuses")
			}
			for name, b := range files {
				switch now := w.Contents(name); {
				case bytes.Equal(now, b), now == nil && len(bytes.Trim(b[:min(len(b), 16)], "\x00\x18")) == 0, now == nil && bytes.Equal(w.Contents(name+".cut-0"), b):
				default:
					m.broken("a writer changes %s, although it refuses %s", name, d.name)
				}
				if w.Contents(name) == nil { // they were not known to be durable, and follow what may be torn
					rest = nil
					want = want[:min(int64(len(want)), max(eventlog.FirstOf(name)-truth[0].Seq, 0))]
				}
			}
			repair = true
		case last && !may:
			m.broken("a writer opens a damaged log")
		case last:
			if !sameEvents(got, want) || err != nil {
				m.broken("a writer has %d events of a damaged log, want %d: %v", len(got), len(want), err)
			}
			if !d.cuts && !d.harmless && d.kept+1 < int64(len(d.ends)) {
				m.wantSaved(d)
			}
		case d.bad && err != nil && sameEvents(got, truth[:min(len(got), len(truth))]):
		case !sameEvents(got, want) && !(d.harmless && sameEvents(got, truth)):
			m.broken("a writer has %d events before damage, want %d", len(got), len(want))
		case d.cuts && missing && len(rest) > 0 && err == nil && !d.crash:
			m.broken("a writer takes back events after damage that no crash leaves")
		}
	}
	if !repair || m.fault != "" {
		return
	}

	// Repair, which may be killed, fail, or be ended by a crash.
	rerr := errors.New("killed")
	for tries := range 4 {
		p := w.Start()
		if stop := w.Steps() + 1 + rnd.IntN(60); tries < 3 && rnd.IntN(2) == 0 {
			w.OnStep = func(step int) {
				if step >= stop {
					p.Stop()
				}
			}
		}
		if tries < 3 && rnd.IntN(4) == 0 {
			m.fail(rnd)
		}
		rerr = errors.New("killed")
		p.Do(func() {
			var r eventlog.Recovery
			r, rerr = eventlog.Repair(d.name)
			m.note("Repair: %+v, %v", r, rerr)
		})
		failing := m.failing()
		w.OnStep, w.Fails, w.Free = nil, map[simdisk.Failure]int{}, 1<<30
		p.Kill()
		if rnd.IntN(2) == 0 {
			m.note("crash")
			w.Crash()
		}
		if rerr == nil {
			break
		}
		if tries == 3 && !failing {
			m.broken("Repair: %v", rerr)
			return
		}
	}
	m.wantSaved(d)
	if m.log1 || last {
		got, err := m.collect(true, truth[0].Seq)
		if len(d.after) > 0 && (err != nil || !sameEvents(got, want)) {
			m.broken("%d events after Repair, want %d: %v", len(got), len(want), err)
		}
		return
	}
	if got, err := m.collect(false, truth[0].Seq); !sameEvents(got, want) || missing && len(rest) > 0 && err == nil {
		m.broken("%d events after Repair, want %d: %v", len(got), len(want), err)
	}
	if len(rest) > 0 {
		if got, err := m.collect(false, rest[0].Seq); !sameEvents(got, rest) || err != nil {
			m.broken("%d events after those that Repair has truncated, want %d: %v", len(got), len(rest), err)
		}
	}
}

// wantSaved checks that a file beside the log has what follows the damage.
func (m *simulation) wantSaved(d *simDamage) {
	from := int64(24)
	if d.kept > 0 {
		from = d.ends[d.kept-1]
	}
	if d.bad || len(d.after) < 24 {
		from = 0
	}
	lost := bytes.TrimRight(d.after[min(from, int64(len(d.after))):min(int64(len(d.after)), d.end)], "\x00")
	torn := d.cuts && d.crash || !d.cuts && !d.bad && d.kept+1 == int64(len(d.ends)) // no valid event follows
	if len(lost) == 0 || d.harmless || torn {
		return
	}
	dir := filepath.Dir(d.name)
	for _, name := range m.w.Names(dir) {
		name = filepath.Join(dir, name)
		if strings.HasPrefix(name, d.name+".cut-") && bytes.HasPrefix(m.w.Contents(name), lost) {
			return
		}
	}
	m.broken("%d bytes at %d are in no file beside the log", len(lost), from)
}

// openError is the error of a call that opens the log.
type openError struct{ error }

func (e *openError) Unwrap() error { return e.error }

// collect has a process of its own read all events from a number on, -1 for the first.
func (m *simulation) collect(writes bool, from int64) (list []eventlog.Event, err error) {
	p := m.w.Start()
	ended := p.Do(func() {
		var events iter.Seq2[eventlog.Event, error]
		if writes {
			var s simStream
			if s, err = m.open(); err != nil {
				err = &openError{err}
				return
			}
			defer s.Close()
			if m.note("%+v", s.Recovery()); from < 0 {
				from = s.First()
			}
			events = s.Events(from)
		} else {
			var r simReader
			if r, err = m.openReader(); err != nil {
				err = &openError{err}
				return
			}
			defer r.Close()
			if from < 0 {
				from, err = r.First()
			}
			events = r.Events(from)
		}
		for e, eerr := range events {
			if err = eerr; err != nil {
				break
			}
			e.Data = bytes.Clone(e.Data)
			list = append(list, e)
		}
	})
	if !ended {
		err = os.ErrDeadlineExceeded
	}
	p.Kill()
	return list, err
}

func sameEvents(a, b []eventlog.Event) bool {
	return slices.EqualFunc(a, b, func(a, b eventlog.Event) bool { return a.Seq == b.Seq && bytes.Equal(a.Data, b.Data) })
}

// Where directories are while another one has the name of the stream.
const (
	movedDir = "/simulated/moved"
	otherDir = "/simulated/other"
)

// replaceDir has another directory take the place of the stream's until the process ends, as when a backup is restored.
func (m *simulation) replaceDir() {
	if m.moved || m.failing() || m.s.(*eventlog.Stream).Copy(context.Background(), otherDir, nil) != nil {
		return
	}
	m.note("0: the directory is replaced")
	m.moved, m.readers = true, nil
	m.swaps++
	if err := cmp.Or(logdisk.Rename(simDir, movedDir), logdisk.Rename(otherDir, simDir)); err != nil {
		m.broken("%v", err)
	}
	m.other = m.files()
}

// wasReplaced reports whether an error says that the directory was replaced.
func wasReplaced(err error) bool {
	return err != nil && strings.Contains(err.Error(), "directory was replaced")
}

// files returns the content of the stream's directory.
func (m *simulation) files() map[string]string {
	files := map[string]string{}
	for _, name := range m.w.Names(simDir) {
		files[name] = string(m.w.Contents(filepath.Join(simDir, name)))
	}
	return files
}

// putBack checks that the stream has left the other directory alone, and gives its own the name again.
func (m *simulation) putBack() {
	for name, now := range m.files() {
		// A file may be created by name between a look at the directory and its replacement.
		if old, ok := m.other[name]; m.other != nil && now != old && (ok || name != "next.tmp" && now != "") {
			m.broken("the stream has changed %s in the directory that has replaced its own", name)
		}
	}
	if len(m.w.Names(movedDir)) > 0 {
		logdisk.RemoveAll(simDir)
		logdisk.Rename(movedDir, simDir)
	}
	logdisk.RemoveAll(otherDir)
	logdisk.RemoveAll(otherDir + ".tmp")
	logdisk.SyncDir("/simulated")
	m.moved, m.other, m.readers = false, nil, nil
	m.swaps++
}
