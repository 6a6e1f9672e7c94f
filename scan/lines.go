package scan

import (
	"context"
	"iter"
	"runtime"
	"runtime/debug"

	"go.dw1.io/mmapfile"
)

// Line is a line of a file.
type Line struct {
	Offset int64  // offset of the first byte in the file
	Number int64  // number of the line, from 1
	Text   []byte // content, with the "\n" if the line has one
}

// Lines returns an iterator over the lines of f, in order, as [bytes.Lines] divides them. An
// error ends the iteration, with the zero Line. The search runs on the caller's goroutine.
//
// Text is the file's memory, as for [mmapfile.File.Bytes], and must not be written to. It is
// valid until f is closed, and f must stay reachable while it is used. On Windows, and if the
// file cannot be mapped, Text is a copy.
//
// If the file is truncated, an access to a truncated byte of Text is a page fault. On the
// goroutine of the loop, in its body, the fault is a panic. Elsewhere it ends the process.
func Lines(ctx context.Context, f *mmapfile.File) iter.Seq2[Line, error] {
	return Scanner{}.Lines(ctx, f)
}

// Lines returns an iterator over the lines of f, in order. See the function [Lines].
func (s Scanner) Lines(ctx context.Context, f *mmapfile.File) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		src, err := s.open(f)
		if err != nil {
			yield(Line{}, err)
			return
		}
		defer debug.SetPanicOnFault(debug.SetPanicOnFault(true)) // for the body of the loop
		l := lines{source: src, yield: yield}
		if !src.reads || mapsForFree {
			l.mem = f.Bytes()
		}
		m, progress := matches{reader: reader{source: src}, sep: []byte("\n")}, newProgress(s.Progress)
		for !m.ended || ctx.Err() != nil {
			if err := m.more(ctx); err != nil {
				yield(Line{}, err)
				return
			}
			for i, at := range m.found {
				if i%checkEvery == checkEvery-1 && ctx.Err() != nil {
					break // more returns the error
				}
				if !l.next(at + 1) {
					return
				}
			}
			if m.ended && l.start < src.size && ctx.Err() == nil && !l.next(src.size) {
				return
			}
			progress.report(m.off, m.size)
		}
		progress.end(src.size)
		runtime.KeepAlive(f)
	}
}

// lines yields lines in order.
type lines struct {
	*source
	yield  func(Line, error) bool
	mem    []byte // the file's memory; may be shorter than the file
	start  int64  // offset of the next line
	number int64  // number of lines yielded
}

// next yields the line that ends at end. It reports whether the loop continues.
func (l *lines) next(end int64) bool {
	var text []byte
	if end <= int64(len(l.mem)) {
		text = l.mem[l.start:end:end]
	} else {
		r := reader{source: l.source} // its buffer is the copy
		var err error
		if text, err = r.read(l.start, end-l.start); err != nil {
			l.yield(Line{}, err)
			return false
		}
	}
	start := l.start
	l.start = end
	l.number++
	return l.yield(Line{Offset: start, Number: l.number, Text: text}, nil)
}
