package eventfile

import (
	"bytes"
	"hash/crc32"
	"io"

	"go.dw1.io/mmapfile/internal/logdisk"
	"go.dw1.io/mmapfile/internal/sys"
)

// MarkSize is the length of the mark that ends a closed file: its WriteOffset, markMagic, and the CRC-32 of
// both and of StartTimestamp.
const MarkSize = int64(8 + len(markMagic) + 4)

const markMagic = "closed\r\n"

// mark returns the mark of a closed file with this header.
func (h Header) mark() []byte {
	b := le.AppendUint64(nil, uint64(h.End))
	b = append(b, markMagic...)
	return le.AppendUint32(b, crc32.ChecksumIEEE(le.AppendUint64(b, uint64(h.Start))))
}

// closed reports whether a file of size bytes ends with the mark of its header. Then all events were durable
// when the mark was written.
func (h Header) closed(f io.ReaderAt, size int64) bool {
	var b [MarkSize]byte
	if h.End < HeaderSize || size-MarkSize < h.End {
		return false
	}
	n, _ := f.ReadAt(b[:], size-MarkSize)
	return bytes.Equal(b[:n], h.mark())
}

// Close marks a file closed whose events are durable, and truncates it after the mark, which is at off.
// Windows does not truncate what a reader has mapped: there the mark is at the end all the same. On a full
// disk the file may stay without.
func Close(f logdisk.File, h Header, off int64) error {
	fi, err := f.Stat()
	if err != nil {
		return err
	}
	if f.Truncate(off+MarkSize) != nil {
		off = max(off, fi.Size()-MarkSize)
	}
	if _, err = f.WriteAt(h.mark(), off); sys.IsFull(err) {
		err = nil
	}
	return err
}
