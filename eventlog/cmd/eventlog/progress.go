package main

import (
	"fmt"
	"io"
	"os"
	"time"
)

// progress reports on work that lasts.
type progress struct {
	e           *env
	what        string
	mute        bool
	first, end  int64 // positions
	calls       int
	began, next time.Time
	pause       time.Duration
}

func (e *env) progress(what string, first, end int64) *progress {
	now := time.Now()
	return &progress{e: e, what: what, first: first, end: end, began: now, next: now.Add(e.wait), pause: max(e.wait, time.Millisecond)}
}

// at says that the work has reached a position. It returns the context's error. It looks at
// the clock once in a while, since an event takes less time than that.
func (p *progress) at(pos int64) error {
	if p.calls++; p.calls%256 == 0 {
		p.report(pos)
		return p.e.ctx.Err()
	}
	return nil
}

// report prints how far the work is, if the last time was long enough ago.
func (p *progress) report(pos int64) {
	if now := time.Now(); now.After(p.next) && !p.mute {
		p.next, p.pause = now.Add(p.pause), min(2*p.pause, time.Minute)
		part := 100 * float64(pos-p.first) / float64(max(p.end-p.first, 1))
		fmt.Fprintf(p.e.err, "eventlog: %s: %.0f%% after %v\n", p.what, min(part, 100), now.Sub(p.began).Round(time.Second/10))
	}
}

// isTerminal reports whether w is a terminal. There progress would stand between events.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	fi, err := f.Stat()
	return err == nil && fi.Mode()&os.ModeCharDevice != 0
}
