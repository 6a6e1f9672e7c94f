package scan_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"testing"

	"go.dw1.io/mmapfile/scan"
)

// isZero reports whether line is the zero Line.
func isZero(line scan.Line) bool {
	return line.Offset == 0 && line.Number == 0 && line.Text == nil
}

func TestLines_Cancelled(t *testing.T) {
	t.Parallel()
	f := open(t, bytes.Repeat([]byte("x\n"), 10_000))
	c, cancel := context.WithCancel(ctx)
	defer cancel()
	n, last := 0, error(nil)
	for line, err := range scan.Lines(c, f) {
		cancel()
		n++
		if last = err; err != nil && !isZero(line) {
			t.Errorf("%+v comes with %v", line, err)
		}
	}
	if last != context.Canceled || n > 40 {
		t.Errorf("Lines yields %d values after the context is done, then %v", n, last)
	}
}

// The lines that are left over are not yielded as one.
func TestLines_CancelledInShortFile(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"", "z"} {
		c, cancel := context.WithCancel(ctx)
		last := error(nil)
		for line, err := range scan.Lines(c, open(t, append(bytes.Repeat([]byte("x\n"), 100), end...))) {
			cancel()
			if last = err; err == nil && string(line.Text) != "x\n" {
				t.Errorf("line %d is %q", line.Number, line.Text)
			}
		}
		cancel()
		if last != context.Canceled {
			t.Errorf("Lines ends with %v", last)
		}
	}
}

func TestLines_CancelledInLastLine(t *testing.T) {
	t.Parallel()
	for _, content := range []string{"one\ntwo\n", "one\ntwo"} {
		c, cancel := context.WithCancel(ctx)
		var got []string
		for line, err := range scan.Lines(c, open(t, []byte(content))) {
			if err != nil {
				got = append(got, err.Error())
				continue
			}
			if got = append(got, string(line.Text)); len(got) == 2 {
				cancel()
			}
		}
		cancel()
		if len(got) != 3 || got[2] != context.Canceled.Error() {
			t.Errorf("Lines of %q yields %q", content, got)
		}
	}
}

func TestLines_TruncatedOrClosed(t *testing.T) {
	t.Parallel()
	for _, access := range accesses {
		for what, c := range shortened {
			f := open(t, bytes.Repeat([]byte("x\n"), 1<<20))
			n, last := int64(0), error(nil)
			for line, err := range (scan.Scanner{Chunk: 64 << 10}).With(access).Lines(ctx, f) {
				if last != nil || err != nil && !isZero(line) || err == nil && (line.Number != n+1 || line.Offset != 2*n) {
					t.Errorf("%s, access %v: yields line %d at %d, %v after line %d, %v", what, access, line.Number, line.Offset, err, n, last)
				}
				last = err
				if n++; n == 1000 {
					if err := c.do(f); err != nil {
						t.Error(err)
					}
				}
			}
			if pe := (*fs.PathError)(nil); !errors.Is(last, c.want) || !errors.As(last, &pe) || n >= 1<<20 {
				t.Errorf("%s, access %v: ends with %v after %d lines", what, access, last, n)
			}
		}
	}
}

func TestLines_Break(t *testing.T) {
	t.Parallel()
	for _, content := range []string{"one\ntwo\nthree\n", "one\ntwo\nthree"} {
		f := open(t, []byte(content))
		for stop := int64(1); stop <= 3; stop++ {
			n := int64(0)
			for line := range scan.Lines(ctx, f) {
				if n = line.Number; n == stop {
					break
				}
			}
			if n != stop {
				t.Errorf("%q: stopped at line %d, want %d", content, n, stop)
			}
		}
	}
}
