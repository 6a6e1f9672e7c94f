package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"go.dw1.io/mmapfile/eventlog"
)

const repairHelp = `Truncates a log at its first damage, so that a writer can open it. What follows the damage is
first saved in a file beside the log. It needs the lock of the writer.

In a stream, repair does so for segments that keep a writer from opening it. Segments after
one that has lost events are renamed to *.cut. Damage in older segments does not stop a
writer: repair reports it, and leaves it as it is.
`

// result is a JSON line of repair.
type result struct {
	Path   string `json:"path"`
	Events int64  `json:"events"` // in the log, or in the last segment of a stream
	Offset int64  `json:"offset"` // where it was truncated
	Cut    int64  `json:"cut"`
	Kept   string `json:"kept,omitempty"` // file with what was truncated
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
		return e.repairLog(name)
	}
}

func (e *env) repairLog(name string) error {
	r, err := eventlog.Repair(name)
	if errors.Is(err, errors.ErrUnsupported) {
		return fmt.Errorf("%s is not a regular file", name)
	}
	if err != nil {
		return err
	}
	return e.repaired(name, r)
}

// repaired prints what was done.
func (e *env) repaired(name string, r eventlog.Recovery) error {
	if e.json {
		return e.printJSON(result{name, r.Events, r.Offset, r.Cut, r.Kept})
	}
	fmt.Fprintf(e.out, "%s: %d events, ", name, r.Events)
	switch {
	case r.Cut == 0 && r.Kept == "":
		fmt.Fprint(e.out, "nothing was truncated")
	case r.Kept == "":
		fmt.Fprintf(e.out, "truncated at offset %d, %d bytes without a valid event", r.Offset, r.Cut)
	default:
		fmt.Fprintf(e.out, "truncated at offset %d, the rest is saved in %s", r.Offset, r.Kept)
	}
	return e.out.WriteByte('\n')
}

// repairStream repairs segments until the stream can be opened. It has no lock between two
// calls, but no other writer can open the stream then.
func (e *env) repairStream(dir string) error {
	done := map[string]bool{} // segments that were repaired
	for {
		if err := e.ctx.Err(); err != nil {
			return err
		}
		s, err := eventlog.OpenStream(dir, eventlog.StreamOptions{})
		if err == nil {
			r := s.Recovery()
			if err := s.Close(); err != nil {
				return err
			}
			if err := e.repaired(dir, r); err != nil {
				return err
			}
			return e.checkRest(dir)
		}
		corrupt, at := (*eventlog.CorruptError)(nil), (*fs.PathError)(nil)
		if !errors.As(err, &corrupt) || !errors.As(err, &at) {
			return err
		}
		names, lerr := segments(dir)
		k := slices.Index(names, filepath.Base(at.Path))
		switch {
		case lerr != nil || k < 0:
			return errors.Join(err, lerr)
		case !done[at.Path]:
			done[at.Path] = true
			err = e.repairLog(at.Path)
		case k+1 < len(names):
			err = e.setAside(dir, names[k+1:])
		}
		if err != nil {
			return err
		}
	}
}

// setAside renames segments, the last one first: a crash leaves no gap.
func (e *env) setAside(dir string, names []string) error {
	for _, name := range slices.Backward(names) {
		name = filepath.Join(dir, name)
		kept := name + ".cut"
		for i := 1; ; i++ {
			if _, err := os.Lstat(kept); errors.Is(err, fs.ErrNotExist) {
				break
			}
			kept = fmt.Sprintf("%s.cut.%d", name, i)
		}
		if err := os.Rename(name, kept); err != nil {
			return err
		}
		err := error(nil)
		if e.json {
			err = e.printJSON(result{Path: name, Kept: kept})
		} else {
			_, err = fmt.Fprintf(e.out, "%s: renamed to %s\n", name, kept)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkRest reports damage that is left.
func (e *env) checkRest(dir string) error {
	s, err := openSource(dir)
	if err != nil {
		return err
	}
	defer s.Close()
	places, err := e.walk(s, "verify", func(eventlog.Event) {})
	if err == nil && places > 0 {
		err = errDamage
	}
	return err
}
