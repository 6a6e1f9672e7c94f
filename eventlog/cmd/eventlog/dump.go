package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"iter"
	"math"
	"time"

	"go.dw1.io/mmapfile/eventlog"
)

const dumpHelp = `Prints events, each verified: the position, the time and the data. The position is the
sequence number in a stream, and the offset in a log. Data that are not printable text, or
begin with a quote, are printed as a Go string.
`

const tailHelp = `Prints the last events as dump does. With -f it goes on until it is interrupted. A log must
be read from its beginning to find the last events; a stream need not be.
`

func dump(f *flag.FlagSet) func(*env) error {
	from := f.Int64("from", 0, "begin with the event at this `position`, not with the first")
	since := f.String("since", "", "leave out what is older: a `time` as in RFC 3339, or a duration before now")
	n := f.Int64("n", math.MaxInt64, "print at most this `number` of events")
	raw := f.Bool("raw", false, "print the data alone")
	return func(e *env) error {
		if *n < 0 || *from < 0 {
			return e.misused("dump: a number is negative")
		}
		if *raw && e.json {
			return e.misused("dump: -raw and -json exclude each other")
		}
		if *from != 0 && *since != "" {
			return e.misused("dump: -from and -since exclude each other")
		}
		s, err := openSource(e.args[0])
		if err != nil {
			return err
		}
		defer s.Close()
		first, end, err := s.bounds()
		if err != nil {
			return err
		}
		first = max(first, *from)
		events := s.Events(first)
		if *since != "" {
			t, err := parseTime(*since)
			if err != nil {
				return e.misused("dump: %v", err)
			}
			events = s.Since(t)
		}
		_, err = e.print(s, events, *n, first, *raw, e.progress("dump", first, end))
		if *from > end && errors.Is(err, fs.ErrInvalid) {
			err = fmt.Errorf("%s: position %d is after the end, which is %d", s.name, *from, end)
		}
		return err
	}
}

// parseTime parses a time, or a duration before now.
func parseTime(s string) (time.Time, error) {
	if d, err := time.ParseDuration(s); err == nil {
		return time.Now().Add(-d), nil
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		err = fmt.Errorf("%q is neither a time as in RFC 3339 nor a duration", s)
	}
	return t, err
}

// print prints at most n events, and returns the position after them, or next without any.
func (e *env) print(s *source, events iter.Seq2[eventlog.Event, error], n, next int64, raw bool, p *progress) (int64, error) {
	if n == 0 {
		return next, nil
	}
	p.mute = e.terminal
	for ev, err := range events {
		if err == nil {
			err = e.printEvent(s, ev, raw)
		}
		if err == nil {
			next = s.next(ev)
			err = p.at(next)
		}
		if n--; err != nil || n == 0 {
			return next, err
		}
	}
	return next, nil
}

func tail(f *flag.FlagSet) func(*env) error {
	n := f.Int64("n", 10, "print at most this `number` of events that are there")
	follow := f.Bool("f", false, "follow what is appended")
	raw := f.Bool("raw", false, "print the data alone")
	return func(e *env) error {
		if *n < 0 {
			return e.misused("tail: -n is negative")
		}
		if *raw && e.json {
			return e.misused("tail: -raw and -json exclude each other")
		}
		s, err := openSource(e.args[0])
		if err != nil {
			return err
		}
		defer s.Close()
		err = e.tail(s, *n, *follow, *raw)
		if *follow && e.ctx.Err() != nil && errors.Is(err, e.ctx.Err()) {
			return nil
		}
		return err
	}
}

func (e *env) tail(s *source, n int64, follow, raw bool) error {
	from, err := e.last(s, n)
	if err == nil && n > 0 {
		_, end, berr := s.bounds()
		from, err = e.print(s, s.Events(from), math.MaxInt64, from, raw, e.progress("tail", from, end))
		err = errors.Join(err, berr)
	}
	if err != nil || !follow {
		return err
	}
	if err := e.out.Flush(); err != nil {
		return err
	}
	for ev, err := range s.Follow(e.ctx, from) {
		if err == nil {
			err = e.printEvent(s, ev, raw)
		}
		if err == nil {
			err = e.out.Flush()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// last returns the position of the first of the last n events.
func (e *env) last(s *source, n int64) (int64, error) {
	first, end, err := s.bounds()
	switch {
	case err != nil:
		return 0, err
	case s.stream != nil:
		return max(first, end-n), nil
	case n == 0:
		return end, nil
	}
	p := e.progress("tail", first, end)
	var ring []int64
	k := int64(0)
	for ev, err := range s.Events(first) {
		if err == nil {
			err = p.at(ev.Offset)
		}
		if err != nil {
			return 0, err
		}
		if int64(len(ring)) < n {
			ring = append(ring, ev.Offset)
			continue
		}
		ring[k] = ev.Offset
		k = (k + 1) % n
	}
	if len(ring) == 0 {
		return first, nil
	}
	return ring[k], nil
}
