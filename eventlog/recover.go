package eventlog

// A log is truncated at the first event that is not whole. If valid events follow, one that was
// closed is damaged and stays as it is, and another's tail is saved first.

import "go.dw1.io/mmapfile/internal/eventfile"

// Recovery is what opening a log has found. [Stream.Recovery] says what it is of a Stream.
type Recovery struct {
	Events          int64  // number of events in the log
	Offset          int64  // its end, and the beginning of the truncated bytes
	TruncatedBytes  int64  // number of bytes from Offset to WriteOffset
	TruncatedEvents int64  // number of events that the log had there, as its EventCount says
	SavedAs         string // the file beside the log that they were saved in, if events among them may be valid
}

// recover finds the end of the log, and truncates the file there. Without repair it changes
// nothing if a crash does not leave such a file. It adds all events to x, unless that is nil.
func (l *Log) recover(repair bool, x *eventfile.Index) error {
	size, err := l.size()
	if err != nil {
		return err
	}
	stored, err := eventfile.OpenStored(l.os, size)
	if err != nil {
		return err
	}
	defer stored.Close()
	var v eventfile.Validation
	if err := l.whileOpen("open", func() (err error) {
		v, err = eventfile.Validate(eventfile.Source{File: l.f, Stored: stored}, size, l.o.Verify, repair, x)
		return err
	}); err != nil {
		return err
	}
	switch damage := v.Damage; {
	case v.Empty:
		if stored != nil {
			if err := l.f.Truncate(0); err != nil {
				return err
			}
		}
		err := l.create()
		l.recovered = Recovery{Offset: l.end}
		return err
	case damage != nil && !repair:
		return &CorruptError{damage.Offset, damage.Err}
	}
	l.recovered = Recovery{Events: v.Count, Offset: v.End, TruncatedBytes: max(v.Claim-v.End, 0)}
	if v.Header.Valid(size) { // else its count is not to be believed
		l.recovered.TruncatedEvents = min(max(v.Header.Count-v.Count, 0), l.recovered.TruncatedBytes/eventfile.EntrySize)
	}
	if v.Damage != nil || v.Save {
		from := v.End
		if v.BadHeader {
			from = 0
		}
		if l.recovered.SavedAs, err = l.save(from, min(v.Claim, size)); err == errTooMuch {
			err = &CorruptError{v.End, err}
		}
		if err != nil {
			return err
		}
	}
	if err := l.truncateTail(&v, size); err != nil {
		return err
	}
	if size > v.End || l.recovered.TruncatedBytes > 0 {
		stats.recoveries.Add(1)
		stats.truncated.Add(uint64(l.recovered.TruncatedBytes))
	}
	return nil
}

// truncateTail truncates a file of size bytes where its events end, and makes that durable.
func (l *Log) truncateTail(v *eventfile.Validation, size int64) error {
	l.end, l.count = v.End, v.Count
	h := eventfile.Header{End: v.End, Count: v.Count, Start: v.Header.Start}
	// Always: the page cache may have a header that a flush has failed to write. Its block is there.
	if _, err := l.f.WriteAt(h.Bytes(), 0); err != nil {
		return err
	}
	// What was after the end must be zeros again before anything else is stored there:
	// else a second crash could bring it back.
	if size > v.End {
		// Sync first: a file as long as its WriteOffset counts as durable.
		if err := l.f.Sync(); err != nil {
			return err
		}
		if err := eventfile.TruncateOrZero(l.f, v.End, size); err != nil {
			return err
		}
	}
	if err := l.f.Sync(); err != nil {
		return err
	}
	size, err := l.size()
	if err == nil {
		l.attach(size)
	}
	return err
}
