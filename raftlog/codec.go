package raftlog

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/hashicorp/raft"
)

// The data of an event in the stream is one raft.Log. Its index is the event's sequence number.
//
//	byte 0   flags: which of the optional fields follow
//	byte 1   raft.LogType
//	uvarint  term
//	varint, uvarint  AppendedAt in Unix seconds, and its nanoseconds  (hasTime)
//	uvarint, bytes  length of Extensions, and these                   (hasExtensions)
//	bytes    Data, up to the end of the event
const (
	hasTime       = 1
	hasExtensions = 4 // 2 is not used
	allFlags      = hasTime | hasExtensions
)

var errEntry = errors.New("event is not a raft log entry")

// entry is a decoded event. Its slices are parts of the event's data.
type entry struct {
	kind       raft.LogType
	term       uint64
	appendedAt time.Time
	extensions []byte
	data       []byte
}

// appendEntry appends the encoding of l to b.
func appendEntry(b []byte, l *raft.Log) []byte {
	at := len(b)
	b = append(b, 0, byte(l.Type))
	b = binary.AppendUvarint(b, l.Term)
	if !l.AppendedAt.IsZero() {
		b[at] |= hasTime
		b = binary.AppendVarint(b, l.AppendedAt.Unix())
		b = binary.AppendUvarint(b, uint64(l.AppendedAt.Nanosecond()))
	}
	if len(l.Extensions) > 0 {
		b[at] |= hasExtensions
		b = binary.AppendUvarint(b, uint64(len(l.Extensions)))
		b = append(b, l.Extensions...)
	}
	return append(b, l.Data...)
}

// parseEntry decodes the data of an event.
func parseEntry(b []byte) (e entry, err error) {
	if len(b) < 3 || b[0]&^allFlags != 0 {
		return entry{}, errEntry
	}
	flags := b[0]
	e.kind = raft.LogType(b[1])
	d := decoder{b: b[2:]}
	e.term = d.uvarint()
	if flags&hasTime != 0 {
		sec := d.varint()
		nsec := d.uvarint()
		d.failed = d.failed || nsec >= uint64(time.Second)
		e.appendedAt = time.Unix(sec, int64(nsec)).UTC()
	}
	if flags&hasExtensions != 0 {
		e.extensions = d.bytes()
	}
	if d.failed {
		return entry{}, errEntry
	}
	if len(d.b) > 0 {
		e.data = d.b[:len(d.b):len(d.b)]
	}
	return e, nil
}

// log returns the entry as raft has it. Data and Extensions are parts of the event's data.
func (e *entry) log(index uint64) raft.Log {
	return raft.Log{
		Index: index, Term: e.term, Type: e.kind,
		Data: e.data, Extensions: e.extensions, AppendedAt: e.appendedAt,
	}
}

// decoder takes numbers, and slices with their length, from the front of b.
type decoder struct {
	b      []byte
	failed bool
}

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.b)
	return advance(d, v, n)
}

func (d *decoder) varint() int64 {
	v, n := binary.Varint(d.b)
	return advance(d, v, n)
}

func (d *decoder) bytes() []byte {
	n := d.uvarint()
	if d.failed = d.failed || n > uint64(len(d.b)); d.failed {
		return nil
	}
	b := d.b[:n:n]
	d.b = d.b[n:]
	return b
}

func advance[T any](d *decoder, v T, n int) (zero T) {
	if n <= 0 {
		d.failed, d.b = true, nil
		return zero
	}
	d.b = d.b[n:]
	return v
}
