package eventfile

import (
	"bytes"
	"errors"
	"io"
)

// Validation is what Validate has found.
type Validation struct {
	Header Header
	Empty  bool  // the file is no log yet: it has no header, or zeros
	Count  int64 // number of events that are whole, up to the first that is not
	End    int64 // end of these
	Claim  int64 // WriteOffset, or the length of the file if the header is bad
	Save   bool  // events after End may be valid
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

// Validate looks at all events of a file of size bytes, to find where those end that are whole. It
// verifies the checksums of the last verify bytes, of all if that is 0, and of none if it is
// negative. With repair it goes on after a bad header. It appends all events to x, unless that is nil.
func Validate(src Source, size, verify int64, repair bool, x *Index) (Validation, error) {
	v := validator{src: src, size: size, repair: repair, index: x}
	v.src.Limit = size
	if size <= HeaderSize {
		b, err := v.src.Bytes(0, size)
		if err != nil || len(bytes.Trim(b, "\x00")) == 0 {
			v.Empty = err == nil
			return v.Validation, err
		}
	}
	v.src.MapIfHot(size)
	v.Damage = v.validate(verify)
	return v.Validation, v.err
}

// validator is the work of Validate.
type validator struct {
	Validation
	src    Source
	size   int64 // length of the file
	limit  int64 // events reads no further
	repair bool
	index  *Index
	err    error // the system's, which ended the work
}

func (v *validator) validate(verify int64) *Damage {
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
	v.BadHeader = !v.Header.Valid(v.size)
	if v.BadHeader {
		if !v.repair {
			return &Damage{0, ErrHeader}
		}
		v.Claim = v.size
	}
	v.limit = min(v.Claim, v.size)
	from := int64(HeaderSize)
	switch {
	case verify < 0:
		from = v.limit
	case verify > 0:
		from = max(from, v.limit-verify)
	}
	err = v.events(from)
	switch {
	case v.err != nil:
		return nil
	case v.BadHeader:
		return &Damage{0, ErrHeader}
	case err == nil:
		v.forward()
		return nil
	case v.endsInFile(err):
		return nil
	case v.insideEvent():
		v.BadHeader = true
		if v.repair { // valid events stay
			v.Claim, v.limit, v.Count = v.size, v.size, 0
			v.events(HeaderSize)
		}
		return &Damage{0, errBoundary}
	}
	damage := v.search(err)
	if damage == nil || v.Claim == v.size || hasMark(v.src.readAt, v.Claim) {
		return damage
	}
	// The length of the file is not its WriteOffset, and there is no mark, so it was not closed. A crash may have
	// left a page as it was in the middle of an append, before events that are newer and
	// whole.
	v.Save = true
	return nil
}

// events goes from the first event to the last that is whole. It verifies those that end
// after from. Its error says why the next event is not whole.
func (v *validator) events(from int64) error {
	v.End = HeaderSize
	if v.index != nil {
		v.index.Clear()
	}
	for v.End < v.limit {
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
	if v.index != nil {
		v.index.Append(v.End, end)
	}
	v.End = end
	v.Count++
}

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
