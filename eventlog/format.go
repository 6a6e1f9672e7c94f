package eventlog

import (
	"encoding/binary"
	"hash/crc32"
)

// The format is described in FORMAT.md.
const (
	headerSize = 24 // WriteOffset, EventCount, StartTimestamp
	entrySize  = 16 // Timestamp, Size, Checksum; the data follow
	maxData    = 1<<32 - 1

	atWriteOffset = 0
	atEventCount  = 8
	atStart       = 16
)

var le = binary.LittleEndian

// littleWord converts v between the machine's byte order and little-endian.
func littleWord(v uint64) uint64 {
	var b [8]byte
	le.PutUint64(b[:], v)
	return binary.NativeEndian.Uint64(b[:])
}

// header is the beginning of the file.
type header struct{ end, count, start int64 }

func (h header) bytes() []byte {
	b := make([]byte, headerSize)
	le.PutUint64(b[atWriteOffset:], uint64(h.end))
	le.PutUint64(b[atEventCount:], uint64(h.count))
	le.PutUint64(b[atStart:], uint64(h.start))
	return b
}

func parseHeader(b []byte) header {
	return header{
		end:   int64(le.Uint64(b[atWriteOffset:])),
		count: int64(le.Uint64(b[atEventCount:])),
		start: int64(le.Uint64(b[atStart:])),
	}
}

// valid reports whether h can be the header of a log in a file of size bytes. A crash may leave
// the count or the offset of the append before, so the count may include fewer events, but not
// none, or more, if the file has room for them. It may have its old length, that of a new log.
func (h header) valid(size int64) bool {
	if h.end == headerSize && size == headerSize {
		return h.count >= 0
	}
	most := (max(h.end, size) - headerSize) / entrySize
	return h.end >= headerSize && h.count >= 0 && h.count <= most && (h.count > 0 || h.end == headerSize)
}

// empty reports whether h is that of a log without events.
func (h header) empty() bool { return h.end <= headerSize && h.count == 0 }

// entry is the header of an event.
type entry struct {
	time int64
	size uint32
	sum  uint32
}

func parseEntry(b []byte) entry {
	_ = b[entrySize-1]
	return entry{time: int64(le.Uint64(b)), size: le.Uint32(b[8:]), sum: le.Uint32(b[12:])}
}

func (e entry) put(b []byte) {
	_ = b[entrySize-1]
	le.PutUint64(b, uint64(e.time))
	le.PutUint64(b[8:], uint64(e.size)|uint64(e.sum)<<32)
}

// next returns the offset of the entry after one at off.
func (e entry) next(off int64) int64 { return off + entrySize + int64(e.size) }

func newEntry(time int64, data []byte) entry {
	size := uint32(len(data))
	return entry{time, size, crc32.Update(sumHead(time, size), crc32.IEEETable, data)}
}

// holds reports whether data has the checksum of e.
func (e entry) holds(data []byte) bool {
	return crc32.Update(sumHead(e.time, e.size), crc32.IEEETable, data) == e.sum
}

// runningSum computes the checksum of an event whose data come in pieces.
type runningSum struct{ sum uint32 }

func newSum(e entry) runningSum { return runningSum{sumHead(e.time, e.size)} }

func (s *runningSum) add(p []byte) { s.sum = crc32.Update(s.sum, crc32.IEEETable, p) }

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
