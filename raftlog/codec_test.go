package raftlog

import (
	"bytes"
	"math"
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

func TestParseEntry_RoundTrip(t *testing.T) {
	t.Parallel()
	for _, l := range []raft.Log{
		{Index: 1},
		{Index: math.MaxUint64, Term: math.MaxUint64, Type: math.MaxUint8},
		{Index: 7, Term: 3, Data: []byte("data")},
		{Index: 7, Extensions: bytes.Repeat([]byte("x"), 300), Data: []byte("data")},
		{Index: 7, Extensions: []byte("x"), AppendedAt: time.Date(1, 1, 1, 0, 0, 0, 1, time.UTC)},
		{Index: 7, AppendedAt: time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC)},
	} {
		e, err := parseEntry(appendEntry([]byte("before"), &l)[len("before"):])
		if err != nil {
			t.Errorf("%+v: %v", l, err)
		}
		got := e.log(l.Index)
		if got.Term != l.Term || got.Type != l.Type || !bytes.Equal(got.Data, l.Data) ||
			!bytes.Equal(got.Extensions, l.Extensions) || !got.AppendedAt.Equal(l.AppendedAt) {
			t.Errorf("%+v, want %+v", got, l)
		}
	}
}

func FuzzParseEntry(f *testing.F) {
	f.Add(appendEntry(nil, &raft.Log{
		Index: 9, Term: 300, Data: []byte("data"), Extensions: []byte("more"), AppendedAt: time.Unix(1, 2),
	}))
	f.Add([]byte{5, 0, 1, 1, 1, 255})
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := parseEntry(b)
		if err != nil {
			return
		}
		l := e.log(9)
		again, err := parseEntry(appendEntry(nil, &l))
		if err != nil || again.term != e.term || again.kind != e.kind ||
			!again.appendedAt.Equal(e.appendedAt) ||
			!bytes.Equal(again.data, e.data) || !bytes.Equal(again.extensions, e.extensions) {
			t.Errorf("%+v became %+v, %v", e, again, err)
		}
	})
}
