package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"go.dw1.io/mmapfile/eventlog"
	"go.dw1.io/mmapfile/internal/eventfile"
	"go.dw1.io/mmapfile/internal/logdisk"
)

const repairHelp = `Truncates a log at its first damage, so that a writer can open it. What follows the damage is
first saved in a file beside the log. It needs the lock of the writer.

In a stream, repair does so for segments that keep a writer from opening it. Segments after
one that has lost events are renamed to *.cut-0. Damage in older segments does not stop a
writer: repair reports it, and leaves it as it is.
`

// result is a JSON line of repair.
type result struct {
	Path      string `json:"path"`
	Events    int64  `json:"events"`            // that are left in the log or the stream
	Offset    int64  `json:"offset"`            // where a log was truncated
	Bytes     int64  `json:"truncatedBytes"`    // number of bytes that were truncated
	Truncated int64  `json:"truncatedEvents"`   // number of events that were truncated or set aside
	SavedAs   string `json:"savedAs,omitempty"` // file with what was truncated
}

func repair(*flag.FlagSet) func(*env) error {
	return func(e *env) error {
		name := e.args[0]
		stream, err := isStream(name)
		if err != nil {
			return err
		}
		if stream {
			return e.repairStream(name)
		}
		_, err = e.repairFile(name)
		return err
	}
}

// repairFile repairs a log, and returns the number of events that were truncated.
func (e *env) repairFile(name string) (truncated int64, err error) {
	r, err := eventlog.Repair(name)
	if errors.Is(err, errors.ErrUnsupported) {
		return 0, fmt.Errorf("%s is not a regular file", name)
	}
	if err != nil {
		return 0, err
	}
	return r.TruncatedEvents, e.repaired(name, r)
}

// repaired prints what was done with a file.
func (e *env) repaired(name string, r eventlog.Recovery) error {
	if e.json {
		return e.printJSON(result{name, r.Events, r.Offset, r.TruncatedBytes, r.TruncatedEvents, r.SavedAs})
	}
	fmt.Fprintf(e.out, "%s: %d events, ", name, r.Events)
	switch {
	case r.TruncatedBytes == 0 && r.SavedAs == "":
		fmt.Fprint(e.out, "nothing was truncated")
	case r.SavedAs == "":
		fmt.Fprintf(e.out, "truncated at offset %d, %d bytes without a valid event", r.Offset, r.TruncatedBytes)
	case wholeFile(name, r.SavedAs):
		fmt.Fprintf(e.out, "the header was damaged; all of the file as it was is saved in %s", r.SavedAs)
	case r.TruncatedEvents == 0:
		fmt.Fprintf(e.out, "truncated at offset %d, the rest is saved in %s", r.Offset, r.SavedAs)
	default:
		fmt.Fprintf(e.out, "truncated at offset %d, %d events from there on are saved in %s", r.Offset, r.TruncatedEvents, r.SavedAs)
	}
	return e.out.WriteByte('\n')
}

// wholeFile reports whether the file that Repair has made has all of the log, because of its
// header.
func wholeFile(name, saved string) bool {
	return saved == name+".cut-0" || strings.HasPrefix(saved, name+".cut-0.")
}

// repairStream repairs segments until the stream can be opened. It has no lock between two
// calls, but no other writer can open the stream then.
func (e *env) repairStream(dir string) error {
	done := map[string]bool{} // segments that were repaired
	truncated := int64(0)     // events
	for {
		if err := e.ctx.Err(); err != nil {
			return err
		}
		s, err := eventlog.OpenStream(dir, eventlog.StreamOptions{})
		if err == nil {
			return e.repairedStream(dir, s, truncated, len(done) > 0)
		}
		corrupt, at := (*eventlog.CorruptError)(nil), (*fs.PathError)(nil)
		if !errors.As(err, &corrupt) || !errors.As(err, &at) {
			return err
		}
		names, lerr := segments(dir)
		k := slices.Index(names, filepath.Join(dir, filepath.Base(at.Path)))
		n := int64(0)
		switch {
		case lerr != nil || k < 0:
			return errors.Join(err, lerr)
		case !done[at.Path]:
			done[at.Path] = true
			n, err = e.repairFile(at.Path)
		case k+1 < len(names):
			n, err = e.setAside(names[k+1:])
		}
		if err != nil {
			return err
		}
		truncated += n
	}
}

// repairedStream prints what is left of a stream that could be opened, and its damage.
func (e *env) repairedStream(dir string, s *eventlog.Stream, truncated int64, repaired bool) error {
	r, events := s.Recovery(), s.Next()-s.First()
	if err := s.Close(); err != nil {
		return err
	}
	if r.TruncatedBytes > 0 || r.SavedAs != "" {
		names, err := segments(dir)
		if err != nil {
			return err
		}
		if err := e.repaired(names[len(names)-1], r); err != nil {
			return err
		}
		truncated, repaired = truncated+r.TruncatedEvents, true
	}
	err := error(nil)
	switch {
	case e.json:
		err = e.printJSON(result{Path: dir, Events: events, Truncated: truncated})
	case repaired:
		_, err = fmt.Fprintf(e.out, "%s: %d events are left; truncated or set aside: %d\n", dir, events, truncated)
	default:
		_, err = fmt.Fprintf(e.out, "%s: %d events, nothing was truncated\n", dir, events)
	}
	if err != nil {
		return err
	}
	return e.checkRest(dir)
}

// setAside renames segments, the last one first: a crash leaves no gap. It returns the number of
// their events.
func (e *env) setAside(names []string) (events int64, err error) {
	for _, name := range slices.Backward(names) {
		h, err := eventfile.ReadState(name)
		if err != nil {
			return events, err
		}
		saved := eventfile.SavedName(name, 0)
		if err := logdisk.Rename(name, saved); err != nil {
			return events, err
		}
		events += h.Count
		if e.json {
			err = e.printJSON(result{Path: name, Truncated: h.Count, SavedAs: saved})
		} else {
			_, err = fmt.Fprintf(e.out, "%s: renamed to %s with %d events\n", name, saved, h.Count)
		}
		if err != nil {
			return events, err
		}
	}
	return events, nil
}

// checkRest reports damage that is left.
func (e *env) checkRest(dir string) error {
	s, err := openSource(dir)
	if err != nil {
		return err
	}
	defer s.Close()
	places, err := e.walk(s, func(eventlog.Event) {})
	if err == nil && places > 0 {
		err = errDamage
	}
	return err
}
