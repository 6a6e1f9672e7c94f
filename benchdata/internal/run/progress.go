package run

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"time"
)

// progress shows on a terminal what is running, and elsewhere a line for each round.
type progress struct {
	w             io.Writer
	terminal      bool
	unit          string // what a round is called; empty for round
	round, rounds int
	shown         int           // the last round that has its line
	each          time.Duration // what a round takes, 0 before the second
	seen          bool          // the program ran a benchmark
	began         time.Time
	first         time.Time // the first round began
}

func newProgress(f *os.File, rounds int) *progress {
	fi, err := f.Stat()
	terminal := err == nil && fi.Mode()&os.ModeCharDevice != 0
	return &progress{w: f, terminal: terminal, rounds: rounds, began: time.Now()}
}

func (p *progress) show(name string) {
	p.seen = true
	now := time.Now()
	if p.shown < p.round {
		if p.shown == 0 {
			p.first = now
		} else {
			p.each = now.Sub(p.first) / time.Duration(p.round-1)
		}
		p.shown = p.round
		if !p.terminal {
			fmt.Fprintln(p.w, p.line(now))
		}
	}
	if p.terminal {
		fmt.Fprintf(p.w, "\r\x1b[K%s: %s", p.line(now), name)
	}
}

// line says which round it is, and how long the others will take if they are like those before.
func (p *progress) line(now time.Time) string {
	s := fmt.Sprintf("%s %d of %d, %v", cmp.Or(p.unit, "round"), p.round, p.rounds, now.Sub(p.began).Round(time.Second))
	if p.each > 0 {
		left := p.first.Add(p.each * time.Duration(p.rounds)).Sub(now)
		s += fmt.Sprintf(", about %v left", max(left, 0).Round(time.Second))
	}
	return s
}

func (p *progress) end() {
	if p.terminal {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
	fmt.Fprintf(p.w, "measured in %v\n", time.Since(p.began).Round(time.Second))
}
