// Package regret draws random programs of file calls, runs them, and mutates those in which a File loses.
package regret

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
)

// Program says which calls are made. It opens and closes a file in each of its lives.
type Program struct {
	FS         string // disk or tmpfs
	Content    string // data, zeros or sparse
	Folios     string // small: the file was written in pieces of 4 KiB; large: in pieces of 1 MiB
	Size       int    // of the file
	Lives      int
	Life       int    // calls between opening and closing, at most
	Spread     int    // a life has at least Life/Spread calls
	Pattern    string // see patterns
	Len        int    // bytes of a call, at most
	Vary       int    // 1: calls have lengths from 1 to Len
	Writes     int    // percent of the calls
	Sync       int    // a Sync after so many calls; 0 for none
	Goroutines int    // that share the calls of a life
	Fresh      int    // 1: each life creates the file and writes it before its calls
	Cold       int    // 1: the file is not in memory at first
	Seed       int    // of the offsets and lengths
}

// patterns are the ways to choose offsets: Read in order, ReadAt in order, anywhere, anywhere but mostly in
// the same blocks, in up to four blocks, and once in each block of 64 KiB, again and again.
var patterns = []string{"order", "at", "uniform", "zipf", "few", "laps"}

// field is a field of a Program: text or number, with how to draw it.
type field struct {
	name   string
	text   *string
	number *int
	draw   func(r *rand.Rand)
}

func (p *Program) fields() []field {
	oneOf := func(s *string, of ...string) func(r *rand.Rand) {
		return func(r *rand.Rand) { *s = of[r.IntN(len(of))] }
	}
	among := func(n *int, of ...int) func(r *rand.Rand) {
		return func(r *rand.Rand) { *n = of[r.IntN(len(of))] }
	}
	between := func(n *int, low, high float64) func(r *rand.Rand) { // as many in each octave
		return func(r *rand.Rand) { *n = int(low * math.Pow(high/low, r.Float64())) }
	}
	return []field{
		{"fs", &p.FS, nil, oneOf(&p.FS, "disk", "disk", "disk", "tmpfs")},
		{"content", &p.Content, nil, oneOf(&p.Content, "data", "data", "data", "data", "zeros", "sparse")},
		{"folios", &p.Folios, nil, oneOf(&p.Folios, "small", "large")},
		{"size", nil, &p.Size, between(&p.Size, 512, maxSize)},
		{"lives", nil, &p.Lives, between(&p.Lives, 1, 512)},
		{"life", nil, &p.Life, between(&p.Life, 1, 20_000)},
		{"spread", nil, &p.Spread, among(&p.Spread, 1, 1, 1, 4)},
		{"pattern", &p.Pattern, nil, oneOf(&p.Pattern, patterns...)},
		{"len", nil, &p.Len, between(&p.Len, 16, 64<<10)},
		{"vary", nil, &p.Vary, among(&p.Vary, 0, 0, 1)},
		{"writes", nil, &p.Writes, among(&p.Writes, 0, 0, 0, 0, 5, 40, 100)},
		{"sync", nil, &p.Sync, among(&p.Sync, 0, 0, 0, 0, 0, 0, 0, 50, 1000)},
		{"goroutines", nil, &p.Goroutines, among(&p.Goroutines, 1, 1, 1, 1, 1, 2, 4)},
		{"fresh", nil, &p.Fresh, among(&p.Fresh, 0, 0, 0, 0, 0, 0, 0, 1)},
		{"cold", nil, &p.Cold, among(&p.Cold, 0, 0, 0, 0, 0, 0, 0, 1)},
		{"seed", nil, &p.Seed, func(r *rand.Rand) { p.Seed = r.IntN(1 << 20) }},
	}
}

// Limits of a program, so that one takes some milliseconds with os.File.
const (
	maxSize  = 64 << 20
	minCalls = 10_000
	maxCalls = 40_000
	maxBytes = 96 << 20
	maxSyncs = 4
)

// Draw draws a program. Without caches that can be dropped, or a tmpfs, it has no cold or tmpfs file.
func Draw(r *rand.Rand, cold, tmpfs bool) Program {
	var p Program
	for _, f := range p.fields() {
		f.draw(r)
	}
	return p.fit(cold, tmpfs)
}

// Mutate draws one or two fields of p again, or doubles or halves them.
func (p Program) Mutate(r *rand.Rand, cold, tmpfs bool) Program {
	for range 1 + r.IntN(2) {
		fields := p.fields()
		f := fields[r.IntN(len(fields))]
		if f.number == nil || *f.number < 2 || r.IntN(3) == 0 {
			f.draw(r)
		} else {
			*f.number = int(float64(*f.number) * math.Exp2(2*r.Float64()-1))
		}
	}
	return p.fit(cold, tmpfs)
}

// fit makes the fields agree with each other and with the limits.
func (p Program) fit(cold, tmpfs bool) Program {
	if !tmpfs {
		p.FS = "disk"
	}
	if !cold || p.FS != "disk" || p.Fresh == 1 || p.Content == "sparse" {
		p.Cold = 0
	}
	if p.Pattern == "order" {
		p.Goroutines = 1
	}
	if p.Fresh == 1 {
		p.Size = min(p.Size, 1<<20)
	}
	p.Len = max(min(p.Len, p.Size), 1)
	p.Life = max(min(p.Life, maxCalls, maxBytes/p.Len), 1)
	if p.Lives = max(p.Lives, minCalls/p.Life, 1); p.Cold == 1 {
		p.Lives, p.Sync = 1, 0 // its wall time is measured, which is the disk's mood at a Sync
	}
	calls, bytes := p.Life, p.Life*p.Len
	if p.Fresh == 1 {
		calls, bytes = calls+p.Size/p.Len, bytes+p.Size
	}
	p.Lives = max(min(p.Lives, maxCalls/calls, maxBytes/bytes), 1)
	if p.Sync > 0 {
		p.Sync = max(p.Sync, p.Life*p.Lives/maxSyncs)
	}
	return p
}

// plain is what a program is if nothing else is said.
var plain = Program{FS: "disk", Content: "data", Folios: "small", Size: 1 << 20, Lives: 1, Life: 1000, Spread: 1, Pattern: "uniform", Len: 64, Goroutines: 1}

// String returns what Parse reads: the fields that differ from those of a plain program.
func (p Program) String() string {
	var parts []string
	usual := plain
	for i, f := range p.fields() {
		switch u := usual.fields()[i]; {
		case f.text != nil && *f.text != *u.text:
			parts = append(parts, f.name+"="+*f.text)
		case f.number != nil && *f.number != *u.number:
			parts = append(parts, f.name+"="+strconv.Itoa(*f.number))
		}
	}
	return strings.Join(parts, ",")
}

// Parse reads what String returns.
func Parse(text string) (Program, error) {
	p := plain
	for part := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(part, "=")
		known := false
		for _, f := range p.fields() {
			if f.name != name {
				continue
			}
			known = true
			if f.text != nil {
				*f.text = value
				continue
			}
			n, err := strconv.Atoi(value)
			if err != nil || n < 0 {
				return p, fmt.Errorf("%s of a program: %q is no number", name, value)
			}
			*f.number = n
		}
		if !known && text != "" {
			return p, fmt.Errorf("a program has no field %q", name)
		}
	}
	if p.Size < 1 || p.Len < 1 || p.Len > p.Size || p.Life < 1 || p.Lives < 1 || p.Spread < 1 || p.Goroutines < 1 {
		return p, fmt.Errorf("not a program: %s", text)
	}
	for _, c := range []struct {
		value string
		of    string
	}{{p.FS, "disk tmpfs"}, {p.Content, "data zeros sparse"}, {p.Folios, "small large"}, {p.Pattern, strings.Join(patterns, " ")}} {
		if !strings.Contains(" "+c.of+" ", " "+c.value+" ") || c.value == "" {
			return p, fmt.Errorf("%q is none of: %s", c.value, c.of)
		}
	}
	return p, nil
}
