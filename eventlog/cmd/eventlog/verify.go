package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"path/filepath"

	"go.dw1.io/mmapfile/eventlog"
	"go.dw1.io/mmapfile/internal/eventfile"
)

const verifyHelp = `Verifies the checksums of all events, and reports all damage. After damage in a stream it
goes on with the next segment. A log cannot be read after its first damage. The end of a log
is damaged also after a crash of the system: its next writer truncates that. The exit code
is 1 if there is damage. With -json it prints the sizes and times of the events, and the sizes of the files, too.
`

// damage is one place as a JSON line.
type damage struct {
	Path   string `json:"path"`
	Offset int64  `json:"offset"`
	Seq    *int64 `json:"seq,omitempty"` // number of the first event that cannot be read, in a stream
	Error  string `json:"error"`
}

func verify(*flag.FlagSet) func(*env) error {
	return func(e *env) error {
		s, err := openSource(e.args[0])
		if err != nil {
			return err
		}
		defer s.Close()
		f := figures{Path: s.name}
		if f.First, f.Next, err = s.bounds(); err != nil {
			return err
		}
		if err := f.measure(s); err != nil {
			return err
		}
		if f.Damage, err = e.walk(s, f.add); err != nil {
			return err
		}
		if e.json {
			err = e.printJSON(f)
		} else {
			_, err = fmt.Fprintf(e.out, "%s: %d events, %d bytes of data; damaged places: %d\n", s.name, f.Events, f.Data, f.Damage)
		}
		if err == nil && f.Damage > 0 {
			err = errDamage
		}
		return err
	}
}

// walk verifies all events, and calls fn with those that are whole. It reports damage, and
// returns the number of places.
func (e *env) walk(s *source, fn func(eventlog.Event)) (places int, err error) {
	from, end, err := s.bounds()
	if err != nil {
		return 0, err
	}
	p := e.progress("verify", from, end)
	for {
		pos := from
		err := error(nil)
		for ev, everr := range s.Events(from) {
			if err = everr; err == nil {
				pos = s.next(ev)
				err = p.at(pos)
				fn(ev)
			}
			if err != nil {
				break
			}
		}
		corrupt := (*eventlog.CorruptError)(nil)
		switch {
		case err == nil:
			return places, nil
		case s.stream != nil && errors.Is(err, eventlog.ErrTruncated): // by retention
			if from, err = s.stream.First(); err != nil || from <= pos { // else by TruncateBack
				return places, errors.Join(err, fmt.Errorf("%s: event %d was removed meanwhile", s.name, pos))
			}
			continue
		case !errors.As(err, &corrupt):
			return places, err
		}
		places++
		if err := e.report(s, pos, err, corrupt); err != nil {
			return places, err
		}
		if from, err = s.segmentAfter(pos, err); err != nil || from < 0 {
			return places, err
		}
	}
}

// report prints damage.
func (e *env) report(s *source, pos int64, err error, corrupt *eventlog.CorruptError) error {
	d := damage{Path: s.name, Offset: corrupt.Offset, Error: corrupt.Err.Error()}
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		d.Path = pe.Path
	}
	if s.stream != nil {
		d.Seq = &pos
	}
	if e.json {
		return e.printJSON(d)
	}
	_, err = fmt.Fprintf(e.out, "%s: %v\n", d.Path, corrupt)
	return err
}

// segmentAfter returns the number of the first event of the segment after the damage that err
// reports for event seq, or -1. A log has no other segment.
func (s *source) segmentAfter(seq int64, err error) (int64, error) {
	if s.stream == nil {
		return -1, nil
	}
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		if first := eventfile.ParseSegmentName(filepath.Base(pe.Path)); first >= 0 && first < seq {
			seq-- // the event may be that of the next segment: bytes after the last one are damaged
		}
	}
	firsts, err := eventfile.ListSegments(s.name)
	for _, first := range firsts {
		if first > seq {
			return first, nil
		}
	}
	return -1, err
}
