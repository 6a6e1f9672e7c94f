package eventfile

import (
	"bytes"
	"errors"
	"io"
	"slices"
)

// Validation is what Validate has found.
type Validation struct {
	Header Header
	Empty  bool  // the file is no log yet: it has no header, or zeros
	Count  int64 // number of events that are whole, up to the first that is not
	End    int64 // end of these
	Claim  int64 // WriteOffset, or the length of the file if the header is bad
	Save   bool  // events after End may be valid
	Closed bool  // the log was closed in order
	Damage *Damage

	BadHeader bool
}

// Damage is damage that no crash leaves.
type Damage struct {
	Offset int64 // of the first event that is not whole; 0 if the header is bad
	Err    error
}

var (
	errBoundary = errors.New("log does not end at the end of an event")
	errSearch   = errors.New("too much data to search for events after the damage")
)

// Rules say how Validate looks at a file.
type Rules struct {
	Verify  int64   // number of bytes at the end whose checksums are verified: all if 0, none if negative
	Repair  bool    // go on after a bad header
	Blank   bool    // a file with a header of zeros has no events, whatever follows
	Lengths []int64 // that a crash may leave, beside others
	Most    int64   // number of events after which to stop, 0 for all
	Index   *Index  // all events are added to it, unless it is nil
}

// Validate looks at the events of a file of size bytes, to find where those end that are whole.
func Validate(src Source, size int64, rules Rules) (Validation, error) {
	v := validator{Rules: rules, src: src, size: size}
	v.src.Limit = size
	b, err := v.src.Bytes(0, min(size, HeaderSize))
	if zeros := len(bytes.Trim(b, "\x00")) == 0; err != nil || zeros && (rules.Blank || size <= HeaderSize) {
		v.Empty, v.End = err == nil, HeaderSize
		return v.Validation, err
	}
	v.src.MapIfHot(size)
	v.Damage = v.validate()
	return v.Validation, v.err
}

// validator is the work of Validate.
type validator struct {
	Validation
	Rules
	src   Source
	size  int64 // length of the file
	limit int64 // events reads no further

	marked bool  // an event ends where a mark before the end of the file may begin
	err    error // the system's, which ended the work
}

func (v *validator) validate() *Damage {
	if v.size < HeaderSize {
		v.End, v.Claim, v.BadHeader = HeaderSize, HeaderSize, true
		return &Damage{0, io.ErrUnexpectedEOF}
	}
	b, err := v.src.Bytes(0, HeaderSize)
	if err != nil {
		v.err = err
		return nil
	}
	v.Header = ParseHeader(b)
	v.Claim = v.Header.End
	v.Closed = v.Header.closed(v.src.File, v.size)
	v.BadHeader = !v.Header.Valid(v.size)
	if v.BadHeader {
		if !v.Repair {
			return &Damage{0, ErrHeader}
		}
		v.Claim = v.size
	}
	v.limit = min(v.Claim, v.size)
	from := int64(HeaderSize)
	switch {
	case v.Verify < 0:
		from = v.limit
	case v.Verify > 0:
		from = max(from, v.limit-v.Verify)
	}
	err = v.events(from)
	switch {
	case v.err != nil, v.Most > 0 && v.Count == v.Most:
		return nil
	case v.BadHeader:
		return &Damage{0, ErrHeader}
	case v.Claim > v.size && !v.crashLength():
		return &Damage{v.End, io.ErrUnexpectedEOF}
	case err == nil:
		v.forward()
		return nil
	case v.endsInFile(err):
		return nil
	case v.insideEvent():
		v.BadHeader = true
		if v.Repair { // valid events stay
			v.Claim, v.limit, v.Count = v.size, v.size, 0
			v.events(HeaderSize)
		}
		return &Damage{0, errBoundary}
	}
	damage := v.search(err)
	if damage == nil || v.Closed {
		return damage
	}
	// A crash may have left a page as it was in the middle of an append, before events that are newer and whole.
	v.Save = true
	return nil
}

// events goes from the first event to the last that is whole. It verifies those that end
// after from. Its error says why the next event is not whole.
func (v *validator) events(from int64) error {
	v.End = HeaderSize
	v.marked = v.size == HeaderSize+MarkSize
	if v.Index != nil {
		v.Index.Clear()
	}
	for v.End < v.limit && (v.Most == 0 || v.Count < v.Most) {
		e, _, err := v.src.Event(v.End, v.limit, false)
		if err == nil && e.Next(v.End) > from {
			_, _, err = v.src.Event(v.End, v.limit, true)
		}
		if err == io.ErrUnexpectedEOF {
			err = ErrPastEnd
		}
		if err != nil {
			if !NotWhole(err) {
				v.err = err
			}
			return err
		}
		v.add(e.Next(v.End))
	}
	return nil
}

// add adds the event from End to end.
func (v *validator) add(end int64) {
	if v.Index != nil {
		v.Index.Append(v.End, end)
	}
	v.End = end
	v.Count++
	v.marked = v.marked || end == v.size-MarkSize
}

// crashLength reports whether a crash may leave the length of a file that is shorter than its WriteOffset: one
// that the file had since it was flushed last.
func (v *validator) crashLength() bool {
	return v.size == HeaderSize || v.size%allocationUnit == 0 || slices.Contains(v.Lengths, v.size) || v.size == v.End || v.marked
}

const allocationUnit = 4 << 10 // a file grows by a multiple of it

// endsInFile reports whether the file ends within the event that is not whole.
func (v *validator) endsInFile(err error) bool {
	if err != ErrPastEnd || v.Claim <= v.size {
		return false
	}
	b, err := v.src.Bytes(v.End, min(EntrySize, v.size-v.End))
	return err == nil && (len(b) < EntrySize || ParseEntry(b).Next(v.End) <= v.Claim)
}

// forward adds the events after WriteOffset that EventCount includes, if all are whole. A
// writer was killed between writing the two, or WriteOffset is damaged.
func (v *validator) forward() {
	end := v.End
	var ends []int64
	for v.Count+int64(len(ends)) < v.Header.Count {
		e, _, err := v.src.Event(end, v.size, true)
		if err != nil {
			if !NotWhole(err) {
				v.err = err
			}
			return
		}
		end = e.Next(end)
		ends = append(ends, end)
	}
	for _, end := range ends {
		v.add(end)
	}
}

// insideEvent reports whether WriteOffset is inside a whole event. No writer and no crash leaves
// that, so WriteOffset is wrong.
func (v *validator) insideEvent() bool {
	_, _, err := v.src.Event(v.End, v.limit, false)
	if err != ErrPastEnd || v.limit == v.size {
		return false
	}
	_, _, err = v.src.Event(v.End, v.size, true)
	return err == nil
}

// search looks at most at searchBytes for a valid event, and computes checksums of at most
// searchSums. A file can be made in which every byte seems to begin a long event. The bounds
// keep the search shorter than a second.
const (
	searchBytes = 64 << 20
	searchSums  = 256 << 20
)

// search looks for a valid event after the one that is not whole. If there is none, the rest is a
// torn end, and not damage. Without this search each crash would leave a copy of the torn end,
// or events that were durable would be dropped.
func (v *validator) search(why error) *Damage {
	sums := int64(0)
	for off := v.End + 1; v.limit-off >= EntrySize; off++ {
		p, err := v.src.Bytes(off, EntrySize)
		if err != nil {
			v.err = err
			return nil
		}
		e := ParseEntry(p)
		fits := e.Next(off) <= v.limit && e != (Entry{}) // zeros are no event
		if fits {
			sums += EntrySize + int64(e.Size)
		}
		if off-v.End > searchBytes || sums > searchSums {
			return &Damage{v.End, errSearch}
		}
		if !fits {
			continue
		}
		if _, _, err := v.src.Event(off, v.limit, true); err == nil {
			return &Damage{v.End, why}
		} else if err != ErrChecksum {
			v.err = err
			return nil
		}
	}
	return nil
}
