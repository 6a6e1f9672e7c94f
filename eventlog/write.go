package eventlog

import (
	"os"
	"runtime"
	"slices"

	"go.dw1.io/mmapfile/internal/eventfile"
	"go.dw1.io/mmapfile/internal/logdisk"
)

// useCalls reports whether an append is to write by system call: because the file is not
// mapped, or because the event is or may be flushed soon. It is called with mu held.
//
// A flush makes the pages read-only. The first store to one after that is a fault of some
// 5 µs, and makes all of its folio dirty, which may be 256 KiB for the next flush to write.
// A write with its header takes 1.7 µs, and makes its blocks dirty (Linux 6.18, ext4).
func (l *Log) useCalls(sync bool) bool {
	if l.mem == nil || sync && writesDirect {
		return true
	}
	if n := l.flush.count.Load(); n != l.seen {
		l.seen, l.direct = n, directAppends
	}
	if l.direct == 0 || !writesDirect {
		return false
	}
	l.direct--
	return true
}

// directAppends is the number of appends after a flush that are written by system call. One
// append of 16 KiB and Sync takes 0.72 of the time, and four 0.75. With more, 64 small events
// and Sync take 1.5 times as long: then stores are faster.
const directAppends = 8

// writesDirect says that the file's memory is that of its mappings, and that an append may
// be written by system call for speed.
const writesDirect = logdisk.Direct

// writesWords says that WriteOffset may be written by system call while readers load it. A mapped
// store would add 5 to 9% to a durable append: the fault, and the interrupts that make the page
// read-only again.
//
// The kernel copies the two words of the header in moves of 8 or 16 bytes, or with one "rep movsb"
// on amd64 with fast short strings (fsrm, most since 2019). No manual promises that such a string
// move stores a word at once. 12.7 million writes of both words beside 14.3 billion loads of a
// mapping have shown none that was torn (AMD EPYC with fsrm, Linux 6.18). In addition, a reader of
// this package loads WriteOffset until it is twice the same.
const writesWords = writesDirect && (runtime.GOARCH == "amd64" || runtime.GOARCH == "arm64")

// write appends events by system call. sum is the checksum of one event, if that is known.
func (l *Log) write(now int64, sum uint32, ps [][]byte) error {
	if err := l.beginWrite(); err != nil {
		return err
	}
	for _, p := range ps {
		if err := l.stage.add(l, eventfile.Entry{Time: now, Size: uint32(len(p)), Sum: sum}, p); err != nil {
			return err
		}
	}
	if err := l.stage.write(l); err != nil {
		return err
	}
	return l.publish(l.stage.off, int64(len(ps)), true)
}

// beginWrite begins to write at the end of the log. A write past the end of a file that
// another program has truncated would leave a hole in place of events.
//
// A truncation before the end of the log takes all later pages, so a load from one of them tells
// it without a system call. Zeros were written there, so that the load waits for no disk.
func (l *Log) beginWrite() error {
	l.stage.buf, l.stage.off = l.stage.buf[:0], l.end
	if l.mem == nil {
		return nil
	}
	if at := l.preparedLimit - 1; at/pageSize > l.end/pageSize && loads(l.mem, at) {
		return nil
	}
	return l.reaches(l.fileLen)
}

var pageSize = int64(os.Getpagesize())

// loads reports whether a byte of mapped memory can be loaded. A fault must be a panic.
func loads(mem []byte, at int64) (ok bool) {
	defer func() {
		if r := recover(); r != nil {
			ok = false
		}
	}()
	load(mem, at)
	return true
}

//go:noinline
func load(mem []byte, at int64) byte { return mem[at] }

const maxStaged = 64 << 10 // bytes that one system call writes, but for a larger event

// stage collects events that are small, to be written by one system call.
type stage struct {
	buf []byte
	off int64 // offset of buf in the file
}

// add adds an event, or writes it if it is large. It computes the checksum unless e has it.
func (s *stage) add(l *Log, e eventfile.Entry, p []byte) error {
	if len(s.buf)+eventfile.EntrySize+len(p) > maxStaged {
		if err := s.write(l); err != nil {
			return err
		}
	}
	n := len(s.buf)
	s.buf = slices.Grow(s.buf, eventfile.EntrySize)[:n+eventfile.EntrySize]
	small := eventfile.EntrySize+len(p) <= maxStaged
	if small {
		s.buf = append(s.buf, p...)
		p = s.buf[n+eventfile.EntrySize:]
	}
	if e.Sum == 0 {
		e = eventfile.NewEntry(e.Time, p)
	}
	e.Put(s.buf[n:])
	if small {
		return nil
	}
	err := l.writeAt(p, s.off+eventfile.EntrySize) // first, as in memory
	if err == nil {
		err = s.write(l)
		s.off += int64(len(p))
	}
	return err
}

// writeAt writes by system call.
func (l *Log) writeAt(p []byte, off int64) error {
	_, err := l.f.WriteAt(p, off)
	return err
}

// write writes what was collected.
func (s *stage) write(l *Log) error {
	if len(s.buf) == 0 {
		return nil
	}
	err := l.writeAt(s.buf, s.off)
	s.off += int64(len(s.buf))
	s.buf = s.buf[:0]
	return err
}

// writeHeader publishes by system call.
func (l *Log) writeHeader(end, count int64) error {
	err := error(nil)
	if l.count == 0 {
		err = l.put(l.end, count) // first, as in memory: see eventfile.Header.Valid
	}
	if err == nil {
		err = l.put(end, count)
	}
	if err != nil {
		l.put(l.end, l.count) // the end must not be after what will be made zeros
	}
	return err
}

// put writes WriteOffset and EventCount.
func (l *Log) put(end, count int64) error {
	if l.words == nil {
		l.words = make([]byte, eventfile.AtStart) // aligned, so that words are copied as words
	}
	le.PutUint64(l.words[eventfile.AtWriteOffset:], uint64(end))
	le.PutUint64(l.words[eventfile.AtEventCount:], uint64(count))
	return l.writeAt(l.words, 0)
}

// undo makes zeros of what was written from the end of the log to here, if the file is not
// mapped.
func (l *Log) undo(to int64) {
	if eventfile.WriteZeros(l.f, l.end, to) == nil {
		return // with its length: a crash may leave no other beside events that a flush has lost
	}
	l.minFileLen.Store(l.end) // first: see whole
	if l.f.Truncate(l.end) == nil {
		l.attach(l.end)
	}
}
