package eventlog_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"go.dw1.io/mmapfile/eventlog"
)

// crashPage is the unit in which a crash leaves old content.
const crashPage = 4096

// writer appends random events in all ways, and keeps what the file contained meanwhile.
type writer struct {
	t      *testing.T
	l      *eventlog.Log
	name   string
	rnd    *rand.Rand
	data   []string // what was appended
	states [][]byte // contents of the file, some in the middle of an append
	heads  []words  // after each append
}

func (w *writer) state() {
	w.t.Helper()
	w.states = append(w.states, get(w.t, w.name))
}

func (w *writer) head() {
	w.t.Helper()
	w.heads = append(w.heads, words(get(w.t, w.name)))
}

// words is WriteOffset and EventCount.
type words [16]byte

// tear makes one of the words that of an earlier header: a crash may come while both are written.
// In a log without events the count is written first.
func tear(image []byte, old words, rnd *rand.Rand) {
	k := 8 * rnd.IntN(2)
	if binary.LittleEndian.Uint64(old[8:]) == 0 {
		k = 0
	}
	copy(image[k:k+8], old[k:k+8])
}

func (w *writer) event() string {
	p := make([]byte, []int{0, 1, 10, 100, 1000, 4080, 10_000}[w.rnd.IntN(7)])
	if w.rnd.IntN(4) > 0 {
		for i := range p {
			p[i] = byte(1 + w.rnd.IntN(255))
		}
	}
	return string(p)
}

var errFill = errors.New("fill fails")

// append appends n times.
func (w *writer) append(n int) {
	w.t.Helper()
	for range n {
		p := w.event()
		var err error
		switch w.rnd.IntN(5) {
		case 0:
			q := w.event()
			_, err = w.l.AppendBatch([]byte(p), []byte(q))
			w.data = append(w.data, p)
			p = q
		case 1, 2:
			fails := w.rnd.IntN(2) == 0
			_, err = eventlog.AppendFunc(w.l, len(p), func(b []byte) error {
				copy(b, p[:w.rnd.IntN(len(p)+1)])
				w.state()
				copy(b, p)
				if fails {
					return errFill
				}
				return nil
			})
			if fails && err == errFill {
				continue
			}
		default:
			_, err = w.l.Append([]byte(p))
		}
		if err != nil {
			w.t.Fatal(err)
		}
		w.data = append(w.data, p)
		w.head()
	}
	w.state()
}

// crash returns the file now, with some of its pages, and perhaps its length, as they were in an
// earlier state.
func (w *writer) crash(share int) []byte {
	image := get(w.t, w.name)
	length := w.states[w.rnd.IntN(len(w.states))]
	if w.rnd.IntN(4) == 0 {
		image = image[:len(length)]
	}
	for off := 0; off < len(image); off += crashPage {
		if w.rnd.IntN(share) != 0 {
			continue
		}
		page := image[off:min(off+crashPage, len(image))]
		clear(page)
		if old := w.states[w.rnd.IntN(len(w.states))]; off < len(old) {
			copy(page, old[off:])
		}
	}
	if n := len(w.heads) - 1; n > 0 && w.rnd.IntN(2) == 0 {
		for i := range n {
			if words(image) == w.heads[i+1] {
				tear(image, w.heads[i], w.rnd)
				break
			}
		}
	}
	return image
}

// Between two flushes any page may be written to the disk at any time. What was durable stays,
// and the rest is the beginning of what was appended.
func TestOpen_EveryCrashLeavesWhatWasDurable(t *testing.T) {
	t.Parallel()
	rounds := 40
	if small() {
		rounds = 8
	}
	rnd := rand.New(rand.NewPCG(3, 4))
	for round := range rounds {
		w := writer{t: t, name: newName(t), rnd: rnd}
		w.l = open(t, w.name, eventlog.Options{Grow: 64 << 10})
		w.append(rnd.IntN(20))
		if round%3 == 0 {
			must(t, w.l.Close())
			w.l = open(t, w.name, eventlog.Options{Grow: 64 << 10})
		}
		if round%2 == 0 {
			p := w.event()
			w.data = append(w.data, p)
			must(t, errOf(w.l.AppendSync([]byte(p))))
		} else if err := w.l.Sync(); err != nil {
			t.Fatal(err)
		}
		durable := len(w.data)
		w.states, w.heads = nil, nil
		w.state()
		w.head()
		w.append(1 + rnd.IntN(20))
		for range 10 {
			got, refused := opensTo(t, w.crash(3), w.data)
			if got < durable || refused != nil {
				t.Fatalf("round %d: %d events of %d are left, %d were durable; %v", round, got, len(w.data), durable, refused)
			}
		}
		must(t, w.l.Close())
	}
}

// A page that was written to the disk in the middle of an append, and not again, is not damage
// for which Open refuses a log, though valid events follow. They are saved.
func TestOpen_PageFromTheMiddleOfAnAppend(t *testing.T) {
	t.Parallel()
	for _, size := range []int{100, 5000, 12_000, 40_000} {
		for _, before := range []int{0, 1000, 4000} {
			name := newName(t)
			l := open(t, name, eventlog.Options{Grow: 1 << 20})
			data := []string{"first", strings.Repeat("b", before)}
			add(t, l, data...)
			p := strings.Repeat("p", size)
			var half []byte
			off, err := eventlog.AppendFunc(l, size, func(b []byte) error {
				copy(b, p[:size/2])
				if err := l.Sync(); err != nil {
					return err
				}
				half = get(t, name)
				copy(b, p)
				return nil
			})
			must(t, err)
			for data = append(data, p); len(data) < 13; {
				data = append(data, strings.Repeat("after", len(data)*30))
				add(t, l, data[len(data)-1])
			}
			now, end := get(t, name), l.Size()
			for at := crashPage; at < int(end); at += crashPage { // not the page of the header, which is of one moment
				if at+crashPage > len(half) || bytes.Equal(now[at:at+crashPage], half[at:at+crashPage]) {
					continue
				}
				image := bytes.Clone(now)
				copy(image[at:], half[at:at+crashPage])
				crashed := newName(t)
				put(t, crashed, image)
				l, err := eventlog.Open(crashed, eventlog.Options{})
				if err != nil {
					t.Fatalf("%d bytes, page %d: %v", size, at/crashPage, err)
				}
				all, err := collect(l.Events(0))
				if err != nil || len(all) < 2 || l.Size() > off && len(all) < 3 {
					t.Fatalf("%d bytes, page %d: %d events, %v", size, at/crashPage, len(all), err)
				}
				want(t, l.Events(0), data[:len(all)]...)
				// What was truncated is in the file beside it, if there are events in that.
				rec := l.Recovery()
				if saved := rec.SavedAs != ""; saved && !bytes.Equal(get(t, rec.SavedAs), image[rec.Offset:end]) ||
					!saved && len(all) < 12 && bytes.Contains(image[rec.Offset+1:end], []byte(data[12])) {
					t.Fatalf("%d bytes, page %d: %+v", size, at/crashPage, rec)
				}
				must(t, l.Close())
			}
		}
	}
}
