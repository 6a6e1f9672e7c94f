package main

import (
	"fmt"
	"io"
	"os"
	"time"
)

// progress shows on a terminal what is running, and elsewhere a line for each round.
type progress struct {
	w             io.Writer
	terminal      bool
	round, rounds int
	shown         int           // the last round that has its line
	before        time.Duration // what the rounds before this one took
	seen          bool          // the program ran a benchmark
	began         time.Time
}

func newProgress(f *os.File, rounds int) *progress {
	fi, err := f.Stat()
	terminal := err == nil && fi.Mode()&os.ModeCharDevice != 0
	return &progress{w: f, terminal: terminal, rounds: rounds, began: time.Now()}
}

func (p *progress) show(name string) {
	p.seen = true
	elapsed := time.Since(p.began).Round(time.Second)
	if p.shown < p.round {
		p.shown, p.before = p.round, time.Since(p.began)
		if !p.terminal {
			fmt.Fprintf(p.w, "round %d of %d, %v%s\n", p.round, p.rounds, elapsed, p.left())
		}
	}
	if p.terminal {
		fmt.Fprintf(p.w, "\r\x1b[Kround %d of %d, %v%s: %s", p.round, p.rounds, elapsed, p.left(), name)
	}
}

// left says how long it will take, as far as the rounds before tell.
func (p *progress) left() string {
	if p.round < 2 {
		return ""
	}
	whole := p.before / time.Duration(p.round-1) * time.Duration(p.rounds)
	return fmt.Sprintf(" of about %v", whole.Round(time.Second))
}

func (p *progress) end() {
	if p.terminal {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
	fmt.Fprintf(p.w, "measured in %v\n", time.Since(p.began).Round(time.Second))
}
