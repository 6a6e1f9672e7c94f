package raftlog

import (
	"bufio"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"os"

	"go.dw1.io/mmapfile/internal/eventfile"
)

// A snapshot that is sent to another node is a header, the events, and zeros up to the size
// that was told before. That is a bound, which includes the headers of the segments.
//
//	8 bytes  "raftlog" and the version
//	8 bytes  sequence number of the first event
//	8 bytes  number of events
//	4 bytes  CRC-32C of these 24 bytes
//
// An event is the length of its data and the CRC-32C of that, 4 bytes each, and the data.
const (
	transferMagic  = "raftlog\x01"
	transferHeader = 28
	frameHeader    = 8
)

var (
	errTransfer = errors.New("snapshot is damaged")
	errSize     = errors.New("snapshot is larger than the log")
)

func transferStart(first, count uint64) []byte {
	b := []byte(transferMagic)
	b = binary.LittleEndian.AppendUint64(b, first)
	b = binary.LittleEndian.AppendUint64(b, count)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// readStart reads the header.
func readStart(r io.Reader) (first, count uint64, err error) {
	var b [transferHeader]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return 0, 0, errTransfer
	}
	first, count = binary.LittleEndian.Uint64(b[8:]), binary.LittleEndian.Uint64(b[16:])
	if string(b[:]) != string(transferStart(first, count)) || first+count < first {
		return 0, 0, errTransfer
	}
	return first, count, nil
}

// readFrame reads the data of an event.
func readFrame(r io.Reader, buf []byte) ([]byte, error) {
	var h [frameHeader]byte
	if _, err := io.ReadFull(r, h[:]); err != nil {
		return buf, errTransfer
	}
	n := binary.LittleEndian.Uint32(h[:])
	at := len(buf)
	// In pieces, for a length that was damaged to take no more memory than the file has.
	for left := int(n); left > 0; {
		piece := min(left, 1<<20)
		buf = append(buf, make([]byte, piece)...)
		if _, err := io.ReadFull(r, buf[len(buf)-piece:]); err != nil {
			return buf, errTransfer
		}
		left -= piece
	}
	if crc32.Checksum(buf[at:], castagnoli) != binary.LittleEndian.Uint32(h[4:]) {
		return buf, errTransfer
	}
	return buf, nil
}

// verify reads a snapshot, all of whose events are to be within index. They are those from first
// to before end.
func verify(r io.Reader, index uint64) (first, end uint64, err error) {
	in := bufio.NewReaderSize(r, 256<<10)
	first, count, err := readStart(in)
	if err == nil && (first == 0 || first+count-1 > index) {
		err = errTransfer
	}
	buf := []byte(nil)
	for n := uint64(0); err == nil && n < count; n++ {
		if buf, err = readFrame(in, buf[:0]); err == nil {
			_, err = parseEntry(buf)
		}
	}
	return first, first + count, err
}

// snapshotReader reads the snapshot of an index from the stream.
type snapshotReader struct {
	s      *Store
	size   int64
	left   int64  // bytes of size that were not read
	seq    uint64 // sequence number of the next event
	end    uint64 // after the last
	buf    []byte // not read yet
	frame  []byte
	closed bool
}

// newSnapshotReader returns a reader of the events up to the index. The stream keeps them
// until Close.
func (s *Store) newSnapshotReader(index uint64) *snapshotReader {
	s.mu.Lock()
	s.readers++
	first := min(s.stream.First(), index+1)
	r := &snapshotReader{s: s, seq: first, end: index + 1}
	r.buf = transferStart(first, r.end-first)
	next := s.stream.Next()
	events := int64(max(min(r.end, next), first) - first) // a restore may have dropped the others
	r.size = transferHeader + s.stream.Size() - events*(eventfile.EntrySize-frameHeader)
	s.mu.Unlock()
	if ev, err := s.stream.Get(first); err == nil { // the segment may have events before it
		r.size -= ev.Offset - eventfile.HeaderSize
	}
	r.size -= s.bytesAfter(index, next)
	r.left = r.size
	return r
}

// bytesAfter returns the bytes that the events after the index, and before number next, take in
// the stream. Reading them takes less time than sending as many zeros.
func (s *Store) bytesAfter(index, next uint64) (n int64) {
	for ev, err := range s.stream.Events(index + 1) {
		if err != nil || uint64(ev.Seq) >= next {
			break
		}
		n += ev.Next() - ev.Offset
	}
	return n
}

func (r *snapshotReader) Read(p []byte) (n int, err error) {
	if r.closed {
		return 0, os.ErrClosed
	}
	for n < len(p) && (r.left > 0 || r.seq < r.end) { // an event that is missing is an error
		if len(r.buf) == 0 {
			if err := r.fill(); err != nil {
				return n, err
			}
		}
		k := copy(p[n:], r.buf)
		if r.buf = r.buf[k:]; int64(k) > r.left {
			return n, r.s.fail("snapshot", errSize)
		}
		n += k
		r.left -= int64(k)
	}
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

// fill reads the next event, or makes some of the zeros.
func (r *snapshotReader) fill() error {
	if r.seq >= r.end {
		r.buf = make([]byte, min(r.left, 64<<10))
		return nil
	}
	ev, err := r.s.stream.Get(r.seq)
	if err != nil {
		return err
	}
	b := binary.LittleEndian.AppendUint32(r.frame[:0], uint32(len(ev.Data)))
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(ev.Data, castagnoli))
	r.frame = append(b, ev.Data...)
	r.buf = r.frame
	r.seq++
	return nil
}

// Close lets the stream drop what raft has deleted meanwhile.
func (r *snapshotReader) Close() error {
	s := r.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.closed {
		return nil
	}
	r.closed = true
	if s.readers--; s.readers > 0 || s.dropped == 0 || s.closed.Load() {
		return nil
	}
	dropped := min(s.dropped, s.next.Load())
	s.dropped = 0
	return s.stream.TruncateFront(dropped)
}
