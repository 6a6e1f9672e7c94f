package scan

import (
	"context"
	"os"
	"regexp"
	"regexp/syntax"
	"unicode/utf8"

	"go.dw1.io/mmapfile"
)

// Regexp returns the start and the end of the first match of re in f, or -1 and -1: what
// [regexp.Regexp.FindIndex] returns for the whole content. re must come from [regexp.Compile],
// without Longest.
//
// maxLen is the length in bytes of the longest match: 12 for id=[0-9]{1,9}. Regexp fails with
// [fs.ErrInvalid] if maxLen is negative, or if the search meets a longer match, or one that
// ends only because a part of the content ends.
//
// An expression that begins with literal text is searched at the speed of [Index]. One that
// begins with (?m)^ or \b takes many times as long: use \nERROR instead of (?m)^ERROR if the
// first line does not matter.
func Regexp(ctx context.Context, f *mmapfile.File, re *regexp.Regexp, maxLen int) (start, end int64, err error) {
	return Scanner{}.Regexp(ctx, f, re, maxLen)
}

// Regexp returns the start and the end of the first match of re in f, or -1 and -1. See the
// function [Regexp].
func (s Scanner) Regexp(ctx context.Context, f *mmapfile.File, re *regexp.Regexp, maxLen int) (start, end int64, err error) {
	if f == nil {
		return -1, -1, os.ErrInvalid
	}
	e := expression{re: re}
	if e.after, err = afterRune(re); err != nil {
		return -1, -1, pathError(f, invalidError(err.Error()))
	}
	return s.match(ctx, f, maxLen, exprBehind, &e.matcher, e.search)
}

// afterRune returns an expression whose first group is the first match of re after the first rune
// of a text. That rune is the context of the match: for \b, say.
func afterRune(re *regexp.Regexp) (*regexp.Regexp, error) {
	tree, err := syntax.Parse(re.String(), syntax.Perl)
	if err != nil {
		return nil, err
	}
	return regexp.Compile(`\A(?s:.)(?s:.*?)(` + tree.String() + `)`) // the tree's has no \Q without \E
}

const (
	// exprBehind is the number of bytes of a window before its piece: a rune may begin there
	// and end in the piece, or be a letter or the end of a line.
	exprBehind = runeLen

	// minSpan is the least number of bytes that are searched after a false match, with the
	// expression after. That one takes two or three times as long as re.
	minSpan = 1 << 10
)

// expression is a search for the first match of a regular expression.
type expression struct {
	matcher
	re, after *regexp.Regexp
}

// search searches the window p at off of piece i.
func (e *expression) search(i, off int64, p []byte) (stop bool, err error) {
	piece := int(i*e.chunk - off) // its index in p
	var loc []int
	if i == 0 {
		loc = e.re.FindIndex(p)
	} else {
		loc = e.from(p, runeStart(p, piece))
	}
	switch {
	case loc == nil, i < e.pieces-1 && int64(loc[0]-piece) >= e.chunk: // the next piece has it
		return false, nil
	case int64(loc[1]-loc[0]) > e.overlap:
		return false, e.tooLong(int64(loc[1] - loc[0]))
	}
	e.keep(i, off+int64(loc[0]), off+int64(loc[1]))
	return true, nil
}

// from returns the first match in p that starts at or after index from, at which a rune starts.
// There is one before.
//
// re takes the start of its text for that of a line and of a word. So a match at the rune before
// from may be false, and hide a true one. All later ones are true: they depend on no more than
// the rune before them.
func (e *expression) from(p []byte, from int) []int {
	for span := minSpan; ; span *= 2 {
		_, n := utf8.DecodeLastRune(p[:from])
		at := from - n
		loc := e.re.FindIndex(p[at:])
		if loc == nil {
			return nil
		}
		if loc[0] > 0 {
			return []int{at + loc[0], at + loc[1]}
		}
		// Matches that start in this span, and the byte after each, which may be a letter or the
		// end of a line.
		upto := from + min(max(span, int(e.overlap)), len(p)-from)
		end := upto + min(int(e.overlap), len(p)-upto)
		loc = e.after.FindSubmatchIndex(p[at:end])
		if loc != nil && (at+loc[2] < upto || end == len(p)) {
			return []int{at + loc[2], at + loc[3]}
		}
		if end == len(p) {
			return nil
		}
		from = runeStart(p, upto)
	}
}

// runeStart returns the index of the first rune of p that starts at index i or later. A byte that
// is in no valid rune counts as one.
func runeStart(p []byte, i int) int {
	for start := max(i-runeLen+1, 0); start < i; start++ {
		if _, n := utf8.DecodeRune(p[start:]); utf8.RuneStart(p[start]) && start+n > i {
			return start + n
		}
	}
	return i
}
