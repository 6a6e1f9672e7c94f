package eventlog_test

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.dw1.io/mmapfile/eventlog"
	"go.dw1.io/mmapfile/internal/filetest"
)

func newDir(t testing.TB) string { return filetest.Dir(t) }

func openStream(t testing.TB, dir string, o eventlog.StreamOptions) *eventlog.Stream {
	t.Helper()
	s, err := eventlog.OpenStream(dir, o)
	must(t, err)
	closeLater(t, s)
	return s
}

func openStreamReader(t testing.TB, dir string) *eventlog.StreamReader {
	t.Helper()
	r, err := eventlog.OpenStreamReader(dir)
	must(t, err)
	closeLater(t, r)
	return r
}

func closeStream(t testing.TB, s *eventlog.Stream) {
	t.Helper()
	must(t, s.Close())
}

// push appends events with these data, and checks their numbers.
func push(t testing.TB, s *eventlog.Stream, data ...string) {
	t.Helper()
	for _, d := range data {
		next := s.Next()
		if seq, err := s.Append([]byte(d)); err != nil || seq != next {
			t.Fatalf("Append: %d, %v, want %d", seq, err, next)
		}
	}
}

// pushN appends n events that tell their number.
func pushN(t testing.TB, s *eventlog.Stream, n int) {
	t.Helper()
	for range n {
		push(t, s, nth(s.Next()))
	}
}

// nth is the data of event seq in tests that do not care: 40 bytes or so.
func nth(seq int64) string { return fmt.Sprintf("event %d %s", seq, strings.Repeat("x", 30)) }

// wantNth checks that events are those from number from up to the one before to.
func wantNth(t testing.TB, events func(yield func(eventlog.Event, error) bool), from, to int64) {
	t.Helper()
	seq := from
	for e, err := range events {
		if err != nil {
			t.Fatalf("at %d: %v", seq, err)
		}
		if e.Seq != seq || string(e.Data) != nth(seq) {
			t.Fatalf("event %d %.40q, want %d", e.Seq, e.Data, seq)
		}
		seq++
	}
	if seq != to {
		t.Fatalf("the events end at %d, want %d", seq, to)
	}
}

// meta is a slot of the file with this name: see FORMAT.md.
type meta struct {
	generation, first, truncatedTo, truncations uint64
	flags                                       uint32
}

// putMeta writes the slot that the generation says.
func putMeta(t testing.TB, dir string, m meta) {
	t.Helper()
	b := binary.LittleEndian.AppendUint64(nil, m.generation)
	for _, v := range []uint64{m.first, m.truncatedTo, m.truncations} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	b = binary.LittleEndian.AppendUint32(b, m.flags)
	b = binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	f, err := os.OpenFile(filepath.Join(dir, "meta"), os.O_WRONLY, 0)
	must(t, err)
	defer f.Close()
	must(t, errOf(f.WriteAt(b, int64(m.generation%2)*4096)))
}

func segments(t testing.TB, dir string) (names []string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.log"))
	must(t, err)
	return names
}
