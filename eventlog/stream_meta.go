package eventlog

import (
	"hash/crc32"
	"io"
	"math"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/internal/eventfile"
)

// The file "meta" of a stream has two slots. A change goes to the slot that is older, so
// that a crash leaves one of the two. FORMAT.md describes them.
const (
	metaSlot  = 4 << 10 // from one slot to the next: a crash does not tear both
	metaBytes = 40

	metaTruncating = 1 // a flag: TruncateBack has begun
)

// bounds says which events of the segments belong to the stream.
type bounds struct {
	generation  uint64 // number of the change
	first       int64  // sequence number of the first event
	truncatedTo int64  // the argument of the last TruncateBack
	truncations int64  // the number of calls of TruncateBack
	truncating  bool   // the last TruncateBack has begun, and not ended
}

// limit returns the sequence number from which on events are truncated.
func (b bounds) limit() int64 {
	if b.truncating {
		return b.truncatedTo
	}
	return math.MaxInt64
}

func (b bounds) bytes() []byte {
	p := make([]byte, metaBytes)
	le.PutUint64(p, b.generation)
	le.PutUint64(p[8:], uint64(b.first))
	le.PutUint64(p[16:], uint64(b.truncatedTo))
	le.PutUint64(p[24:], uint64(b.truncations))
	if b.truncating {
		le.PutUint32(p[32:], metaTruncating)
	}
	le.PutUint32(p[36:], crc32.ChecksumIEEE(p[:36]))
	return p
}

// parseBounds reports whether p is a valid slot. A slot that is valid but for its numbers or flags
// is an error: no crash leaves that. A later format has other flags.
func parseBounds(p []byte) (b bounds, ok bool, err error) {
	if le.Uint32(p[36:]) != crc32.ChecksumIEEE(p[:36]) {
		return b, false, nil
	}
	b = bounds{
		generation:  le.Uint64(p),
		first:       int64(le.Uint64(p[8:])),
		truncatedTo: int64(le.Uint64(p[16:])),
		truncations: int64(le.Uint64(p[24:])),
		truncating:  le.Uint32(p[32:])&metaTruncating != 0,
	}
	if le.Uint32(p[32:])&^metaTruncating != 0 {
		return b, false, &CorruptError{0, errFlags}
	}
	if b.generation == 0 || min(b.first, b.truncatedTo, b.truncations) < 0 || max(b.first, b.truncatedTo) > eventfile.MaxSeq {
		return b, false, &CorruptError{0, errBounds}
	}
	return b, true, nil
}

// readMeta returns the newest bounds in f. They are zero if f is one that its writer has
// only just created.
func readMeta(f *mmapfile.File) (newest bounds, err error) {
	var p [metaBytes]byte
	damaged := false
	for slot := range int64(2) {
		n, err := f.ReadAt(p[:], slot*metaSlot)
		if err != nil && err != io.EOF {
			return newest, err
		}
		clear(p[n:])
		b, ok, err := parseBounds(p[:])
		if err != nil {
			return newest, err
		}
		if ok && b.generation > newest.generation {
			newest = b
		} else if !ok && p != [metaBytes]byte{} {
			damaged = true
		}
	}
	if newest.generation == 0 && damaged { // no crash leaves that
		return newest, &CorruptError{0, errMeta}
	}
	return newest, nil
}

// writeMeta makes b durable in f.
func writeMeta(f *mmapfile.File, b bounds) error {
	if _, err := f.WriteAt(b.bytes(), int64(b.generation&1)*metaSlot); err != nil {
		return err
	}
	return hooks.syncMeta(f)
}
