package eventlog

// A log is truncated at the first event that is not whole. If valid events follow, one that was
// closed is damaged and stays as it is, and another's tail is saved first.

import (
	"cmp"

	"go.dw1.io/mmapfile/internal/eventfile"
)

// Recovery says what opening a log has found. [Stream.Recovery] says how it applies to a
// Stream.
type Recovery struct {
	Events          int64  // number of events in the log
	Offset          int64  // its end, and the beginning of the truncated bytes
	TruncatedBytes  int64  // number of bytes from Offset to WriteOffset
	TruncatedEvents int64  // number of events in those bytes, according to EventCount
	SavedAs         string // the file beside the log that they were saved in, if events among them may be valid
}

// found is what a log has before its next writer changes anything.
type found struct {
	eventfile.Validation
	seen   eventfile.State // what readers may have seen
	size   int64
	stored bool // memory may have other bytes than the disk
	repair bool
}

// examine finds the end of the log.
func (l *Log) examine(rules eventfile.Rules) (f found, err error) {
	seen, stored, err := eventfile.OpenStored(l.f, !rules.Blank) // in a stream, meta tells readers
	if err != nil {
		return f, err
	}
	defer closeStored(stored)
	f = found{seen: seen, size: seen.Size, stored: stored != nil, repair: rules.Repair}
	err = l.whileOpen("open", func() (err error) {
		f.Validation, err = eventfile.Validate(eventfile.Source{File: eventfile.OnDisk(l.f, stored)}, f.size, rules)
		return err
	})
	return f, err
}

// damage is the error of a log that a crash does not leave, and that is not to be repaired.
func (f *found) damage() error {
	if f.Damage == nil || f.repair {
		return nil
	}
	return &CorruptError{f.Damage.Offset, f.Damage.Err}
}

// recover truncates the log where its events end.
func (l *Log) recover(f found, err error) error {
	if err = cmp.Or(err, f.damage()); err != nil {
		return err
	}
	if f.Empty {
		if f.stored {
			if err := l.f.Truncate(0); err != nil {
				return err
			}
		}
		err := l.create()
		l.recovered = Recovery{Offset: l.end}
		return err
	}
	l.recovered = Recovery{Events: f.Count, Offset: f.End, TruncatedBytes: max(f.Claim-f.End, 0)}
	if f.Header.Valid(f.size) { // else its count is not to be believed
		l.recovered.TruncatedEvents = min(max(f.Header.Count-f.Count, 0), l.recovered.TruncatedBytes/eventfile.EntrySize)
	}
	if f.Damage != nil || f.Save {
		from := f.End
		if f.BadHeader {
			from = 0
		}
		if l.recovered.SavedAs, err = l.save(from, min(f.Claim, f.size)); err == errTooMuch {
			err = &CorruptError{f.End, err}
		}
		if err != nil {
			return err
		}
	}
	if f.seen.Valid(f.size) && f.Header.Valid(f.size) { // readers may have seen that of an Open whose flush has failed
		f.Header.Start = max(f.Header.Start, f.seen.Start)
	}
	if f.seen.End > f.End {
		f.Header.Start++ // for readers: see FORMAT.md
	}
	if err := l.truncateTail(&f.Validation, f.size); err != nil {
		return err
	}
	if !f.Closed {
		stats.recoveries.Add(1)
		stats.truncated.Add(uint64(l.recovered.TruncatedBytes))
	}
	return nil
}

// truncateTail truncates a file of size bytes where its events end, and makes that durable.
func (l *Log) truncateTail(v *eventfile.Validation, size int64) error {
	l.end, l.count, l.start = v.End, v.Count, v.Header.Start
	h := eventfile.Header{End: v.End, Count: v.Count, Start: v.Header.Start}
	// Always: the page cache may have a header that a flush has failed to write. Its block is there.
	if _, err := l.f.WriteAt(h.Bytes(), 0); err != nil {
		return err
	}
	// What was after the end must be zeros again before anything else is stored there:
	// else a second crash could bring it back.
	if size > v.End {
		if err := eventfile.TruncateOrZero(l.f, v.End, size); err != nil {
			return err
		}
	}
	if err := l.f.Flush(); err != nil {
		return err
	}
	size, err := l.size()
	if err == nil {
		l.attach(size)
	}
	return err
}
