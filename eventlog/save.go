package eventlog

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"os"

	"go.dw1.io/mmapfile/internal/eventfile"
	"go.dw1.io/mmapfile/internal/logdisk"
)

// maxSaved is the maximum number of bytes of data that are saved: more could fill the disk,
// or keep Open busy for minutes.
const maxSaved = 1 << 30

// save copies a range of the file into a new file beside it, with holes for pages of zeros,
// and returns its name. If there is nothing but zeros, it makes no file.
func (l *Log) save(from, to int64) (name string, err error) {
	ranges, err := l.dataRanges(from, to)
	if err != nil {
		return "", err
	}
	name = eventfile.SavedName(l.f.Name(), from)
	out, err := logdisk.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	copied := int64(0)
	for i := 0; i < len(ranges) && err == nil; i++ {
		var n int64
		n, err = l.copyData(out, ranges[i], from)
		copied += n
	}
	if err == nil {
		err = out.Truncate(to - from)
	}
	if err == nil {
		err = out.Flush()
	}
	err = cmp.Or(err, out.Close())
	if err == nil && copied > 0 {
		err = logdisk.SyncDir(dirOf(name))
	}
	if err != nil || copied == 0 {
		logdisk.Remove(name)
		return "", err
	}
	return name, nil
}

// span is a range of offsets.
type span struct{ from, to int64 }

// dataRanges returns the parts of a range of the file that are not holes, or errTooMuch.
func (l *Log) dataRanges(from, to int64) (ranges []span, err error) {
	total := int64(0)
	for off := from; off < to; {
		r := span{off, to} // on a system that does not know
		if a, b, err := l.f.NextData(off); err == io.EOF {
			break
		} else if err == nil {
			r = span{min(a, to), min(b, to)}
		} else if !errors.Is(err, errors.ErrUnsupported) {
			return nil, err
		}
		if total += r.to - r.from; total > maxSaved {
			return nil, errTooMuch
		}
		ranges = append(ranges, r)
		off = r.to
	}
	return ranges, nil
}

// copyData copies a range of the file to out, whose beginning is base in the file. It leaves
// out pages of zeros, and returns the number of bytes that it wrote.
func (l *Log) copyData(out logdisk.File, r span, base int64) (copied int64, err error) {
	buf := make([]byte, 64<<10)
	for off := r.from; off < r.to; {
		n, err := l.f.ReadAt(buf[:min(r.to-off, int64(len(buf))-off%int64(len(buf)))], off)
		if n == 0 && err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return copied, err
		}
		for p := buf[:n]; len(p) > 0; {
			k := min(int64(len(p)), page-off%page)
			if !bytes.Equal(p[:k], zeroPage[:k]) {
				if _, err := out.WriteAt(p[:k], off-base); err != nil {
					return copied, err
				}
				copied += k
			}
			off, p = off+k, p[k:]
		}
	}
	return copied, nil
}

var zeroPage [page]byte
