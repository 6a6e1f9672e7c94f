package eventlog_test

import (
	"encoding/binary"
	"testing"

	"go.dw1.io/mmapfile/eventlog"
)

// No Get fills the index of the segment that is appended to, for which appends would wait.
func TestOpenStream_FillsIndex(t *testing.T) {
	t.Parallel()
	for what, change := range map[string]func(b []byte) []byte{
		"closed": func(b []byte) []byte { return b },
		"torn":   func(b []byte) []byte { return b[:len(b)-3] },
		"killed": func(b []byte) []byte { // after it has stored the count
			binary.LittleEndian.PutUint64(b, binary.LittleEndian.Uint64(b)-16-uint64(len(nth(10))))
			return append(b, make([]byte, 100)...)
		},
	} {
		dir := newDir(t)
		s := openStream(t, dir, eventlog.StreamOptions{})
		pushN(t, s, 100)
		closeStream(t, s)
		name := segments(t, dir)[0]
		put(t, name, change(get(t, name)))
		s = openStream(t, dir, eventlog.StreamOptions{})
		next := s.Next()
		if n := eventlog.Indexed(s); n != next || next < 99 {
			t.Errorf("%s: the index has %d events of %d", what, n, next)
		}
		pushN(t, s, 1)
		for seq := range s.Next() {
			if e, err := s.Get(seq); err != nil || string(e.Data) != nth(seq) {
				t.Errorf("%s: Get(%d): %.20q, %v", what, seq, e.Data, err)
			}
		}
		if n := eventlog.Indexed(s); n != next+1 {
			t.Errorf("%s: after an append the index has %d events of %d", what, n, next+1)
		}
	}
}
