package eventlog

import (
	"io"
	"math"
	"runtime"
	"sync/atomic"

	"go.dw1.io/mmapfile"
)

// page is what the system allocates at least. Some have larger ones, which does no harm.
const page = 4 << 10

// trims says that a file can be cut while it is mapped, by anyone.
const trims = runtime.GOOS != "windows"

// attach makes the file's memory that of the log, where it can be mapped.
func (l *Log) attach(size int64) {
	l.room, l.mem, l.word = size, nil, nil
	if maps {
		if word, err := mmapfile.At[atomic.Uint64](l.f, atWriteOffset); err == nil {
			if mem := l.f.Bytes(); int64(len(mem)) >= size {
				l.mem, l.word = mem[:size], word
			}
		}
	}
	// There is always a byte left, so that a log whose length is its
	// WriteOffset is one that was closed; but for one that has its full size.
	l.usable = l.room
	if l.room < l.o.maxSize() {
		l.usable--
	}
}

// grow makes room for events up to end.
func (l *Log) grow(end int64) error {
	most := l.o.maxSize()
	if end > most {
		return ErrFull
	}
	size, err := l.size()
	switch {
	case err != nil:
		return err
	case size < l.end:
		return io.ErrUnexpectedEOF // somebody has cut it
	}
	if least := min(end, most-1) + 1; size < least {
		size, err = l.enlarge(size, least, most)
		if err != nil {
			return err
		}
	}
	l.attach(size)
	return nil
}

// enlarge makes the file, which has size bytes, at least least long, by a step if it can.
func (l *Log) enlarge(size, least, most int64) (int64, error) {
	step := l.o.step(size)
	for {
		to := least
		if step > least-size && size <= most-step {
			to = size + step
		} else if step > least-size {
			to = most
		}
		if whole := to + (page-to%page)%page; whole >= to && whole <= most {
			to = whole
		}
		err := l.extend(size, to)
		if err == nil {
			return to, nil
		}
		if trims {
			l.f.Truncate(size) // gives back what it got before the disk was full
		}
		if to == least || step <= page {
			return 0, err
		}
		step /= 2
	}
}

// extend makes the file longer. What is not mapped needs no blocks: there a full
// disk is an error of the write, and no fault.
func (l *Log) extend(size, to int64) error {
	if !maps || to > math.MaxInt {
		return l.f.Truncate(to)
	}
	return allocate(l.f, size, to)
}

// writeZeros writes zeros where the system has no better way to allocate.
func writeZeros(f *mmapfile.File, from, to int64) error {
	var zeros [64 << 10]byte
	for from < to {
		n, err := f.WriteAt(zeros[:min(to-from, int64(len(zeros)))], from)
		if err != nil {
			return err
		}
		from += int64(n)
	}
	return nil
}
