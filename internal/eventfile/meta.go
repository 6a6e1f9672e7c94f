package eventfile

import (
	"errors"
	"hash/crc32"
	"io"
	"math"
)

// The file "meta" of a stream has two slots. A change goes to the slot that is older, so
// that a crash leaves one of the two.
const (
	SlotSize = 4 << 10 // from one slot to the next: a crash does not tear both

	boundsSize     = 40
	flagTruncating = 1 // TruncateBack has begun
)

// Errors of a damaged meta.
var (
	ErrBounds = errors.New("meta has numbers that no stream has")
	ErrFlags  = errors.New("meta has flags of a later format")
	ErrMeta   = errors.New("meta has no valid slot")
)

// Bounds says which events of the segments belong to the stream.
type Bounds struct {
	Generation  uint64 // number of the change
	First       int64  // sequence number of the first event
	TruncatedTo int64  // the argument of the last TruncateBack
	Truncations int64  // the number of calls of TruncateBack
	Truncating  bool   // the last TruncateBack has begun, and not ended
}

// Limit returns the sequence number from which on events are truncated.
func (b Bounds) Limit() int64 {
	if b.Truncating {
		return b.TruncatedTo
	}
	return math.MaxInt64
}

// Slot returns the offset of the slot of b.
func (b Bounds) Slot() int64 { return int64(b.Generation&1) * SlotSize }

// Bytes returns the encoded bounds.
func (b Bounds) Bytes() []byte {
	p := make([]byte, boundsSize)
	le.PutUint64(p, b.Generation)
	le.PutUint64(p[8:], uint64(b.First))
	le.PutUint64(p[16:], uint64(b.TruncatedTo))
	le.PutUint64(p[24:], uint64(b.Truncations))
	if b.Truncating {
		le.PutUint32(p[32:], flagTruncating)
	}
	le.PutUint32(p[36:], crc32.ChecksumIEEE(p[:36]))
	return p
}

// parseBounds reports whether p is a valid slot. A slot that is valid but for its numbers or flags
// is an error: no crash leaves that. A later format has other flags.
func parseBounds(p []byte) (b Bounds, ok bool, err error) {
	if le.Uint32(p[36:]) != crc32.ChecksumIEEE(p[:36]) {
		return b, false, nil
	}
	b = Bounds{
		Generation:  le.Uint64(p),
		First:       int64(le.Uint64(p[8:])),
		TruncatedTo: int64(le.Uint64(p[16:])),
		Truncations: int64(le.Uint64(p[24:])),
		Truncating:  le.Uint32(p[32:])&flagTruncating != 0,
	}
	if le.Uint32(p[32:])&^flagTruncating != 0 {
		return b, false, ErrFlags
	}
	if b.Generation == 0 || min(b.First, b.TruncatedTo, b.Truncations) < 0 || max(b.First, b.TruncatedTo) > MaxSeq {
		return b, false, ErrBounds
	}
	return b, true, nil
}

// ReadMeta returns the newest bounds in f. They are zero if the writer has only just created f.
func ReadMeta(f io.ReaderAt) (newest Bounds, err error) {
	var p [boundsSize]byte
	damaged := false
	for slot := range int64(2) {
		n, err := f.ReadAt(p[:], slot*SlotSize)
		if err != nil && err != io.EOF {
			return newest, err
		}
		clear(p[n:])
		b, ok, err := parseBounds(p[:])
		if err != nil {
			return newest, err
		}
		if ok && b.Generation > newest.Generation {
			newest = b
		} else if !ok && p != [boundsSize]byte{} {
			damaged = true
		}
	}
	if newest.Generation == 0 && damaged { // no crash leaves that
		return newest, ErrMeta
	}
	return newest, nil
}
