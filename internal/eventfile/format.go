// Package eventfile is the files of package eventlog, which FORMAT.md there describes: names, header,
// events, where they end, and the space after them. It knows nothing of a Log or a Stream. The
// command of eventlog and module raftlog use it, too.
package eventfile

import (
	"encoding/binary"
	"hash/crc32"
)

// Sizes in bytes.
const (
	HeaderSize = 24 // WriteOffset, EventCount, StartTimestamp
	EntrySize  = 16 // Timestamp, Size, Checksum; the data follow
	MaxData    = 1<<32 - 1
)

// Offsets of the fields of the header.
const (
	AtWriteOffset = 0
	AtEventCount  = 8
	AtStart       = 16
)

var le = binary.LittleEndian

// LittleWord converts v between the machine's byte order and little-endian.
func LittleWord(v uint64) uint64 {
	var b [8]byte
	le.PutUint64(b[:], v)
	return binary.NativeEndian.Uint64(b[:])
}

// Header is the beginning of the file.
type Header struct {
	End   int64 // WriteOffset: the end of the last event
	Count int64 // EventCount
	Start int64 // StartTimestamp
}

// Bytes returns the encoded header.
func (h Header) Bytes() []byte {
	b := make([]byte, HeaderSize)
	le.PutUint64(b[AtWriteOffset:], uint64(h.End))
	le.PutUint64(b[AtEventCount:], uint64(h.Count))
	le.PutUint64(b[AtStart:], uint64(h.Start))
	return b
}

// ParseHeader decodes the header at the beginning of b.
func ParseHeader(b []byte) Header {
	return Header{
		End:   int64(le.Uint64(b[AtWriteOffset:])),
		Count: int64(le.Uint64(b[AtEventCount:])),
		Start: int64(le.Uint64(b[AtStart:])),
	}
}

// Valid reports whether h can be the header of a log in a file of size bytes. A crash may leave
// the count or the offset of the append before, so the count may include fewer events, but not
// none, or more, if the file has room for them. It may have its old length, that of a new log, or of one that was closed.
func (h Header) Valid(size int64) bool {
	if h.End == HeaderSize && size <= HeaderSize+MarkSize {
		return h.Count >= 0
	}
	maxCount := (max(h.End, size) - HeaderSize) / EntrySize
	return h.End >= HeaderSize && h.Count >= 0 && h.Count <= maxCount && (h.Count > 0 || h.End == HeaderSize)
}

// Empty reports whether h is that of a log without events.
func (h Header) Empty() bool { return h.End <= HeaderSize && h.Count == 0 }

// Entry is the header of an event.
type Entry struct {
	Time int64  // Unix nanoseconds
	Size uint32 // bytes of data
	Sum  uint32 // CRC-32 of Time, Size and the data
}

// ParseEntry decodes the entry at the beginning of b.
func ParseEntry(b []byte) Entry {
	_ = b[EntrySize-1]
	return Entry{Time: int64(le.Uint64(b)), Size: le.Uint32(b[8:]), Sum: le.Uint32(b[12:])}
}

// Put encodes e at the beginning of b.
func (e Entry) Put(b []byte) {
	_ = b[EntrySize-1]
	le.PutUint64(b, uint64(e.Time))
	le.PutUint64(b[8:], uint64(e.Size)|uint64(e.Sum)<<32)
}

// Next returns the offset of the entry after one at off.
func (e Entry) Next(off int64) int64 { return off + EntrySize + int64(e.Size) }

// NewEntry returns the entry of an event with these data.
func NewEntry(time int64, data []byte) Entry {
	size := uint32(len(data))
	return Entry{time, size, crc32.Update(sumHead(time, size), crc32.IEEETable, data)}
}

// Matches reports whether data has the checksum of e.
func (e Entry) Matches(data []byte) bool {
	return crc32.Update(sumHead(e.Time, e.Size), crc32.IEEETable, data) == e.Sum
}

// sumHead returns the CRC-32 of time and size. Package crc32 goes through such a short text
// byte by byte. With a table for each of the 12 bytes the steps do not wait for each other.
func sumHead(time int64, size uint32) uint32 {
	t := uint64(time) ^ (1<<32 - 1)
	return ^(headSums[11][byte(t)] ^ headSums[10][byte(t>>8)] ^ headSums[9][byte(t>>16)] ^ headSums[8][byte(t>>24)] ^
		headSums[7][byte(t>>32)] ^ headSums[6][byte(t>>40)] ^ headSums[5][byte(t>>48)] ^ headSums[4][byte(t>>56)] ^
		headSums[3][byte(size)] ^ headSums[2][byte(size>>8)] ^ headSums[1][byte(size>>16)] ^ headSums[0][byte(size>>24)])
}

// headSums[k][b] is the CRC-32 register after a byte b and k zeros.
var headSums = func() (t [12][256]uint32) {
	t[0] = *crc32.IEEETable
	for k := 1; k < len(t); k++ {
		for b, sum := range t[k-1] {
			t[k][b] = sum>>8 ^ t[0][byte(sum)]
		}
	}
	return t
}()
