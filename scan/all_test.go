package scan_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"testing"
	"time"

	"go.dw1.io/mmapfile/scan"
)

func TestAll_DenseMatches(t *testing.T) {
	t.Parallel()
	content := bytes.Repeat([]byte("\n"), 1<<20)
	f := open(t, content)
	for _, access := range accesses {
		began, n := time.Now(), 0
		for _, err := range (scan.Scanner{}).With(access).All(ctx, f, []byte("\n")) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		t.Logf("access %v: %v", access, time.Since(began))
		if n != len(content) {
			t.Errorf("access %v: %d matches", access, n)
		}
	}
}

func TestAll_Cancelled(t *testing.T) {
	t.Parallel()
	f := open(t, bytes.Repeat([]byte("x\n"), 10_000))
	c, cancel := context.WithCancel(ctx)
	defer cancel()
	n, last := 0, error(nil)
	for _, err := range scan.All(c, f, []byte("x")) {
		cancel()
		n++
		last = err
	}
	if last != context.Canceled || n > 40 {
		t.Errorf("All yields %d values after the context is done, then %v", n, last)
	}
}

func TestAll_TruncatedOrClosed(t *testing.T) {
	t.Parallel()
	for _, access := range accesses {
		for what, c := range shortened {
			f := open(t, bytes.Repeat([]byte("x\n"), 1<<20))
			n, last := 0, error(nil)
			for at, err := range (scan.Scanner{Chunk: 64 << 10}).With(access).All(ctx, f, []byte("\n")) {
				if last != nil || err != nil && at != -1 {
					t.Errorf("%s, access %v: yields %d, %v after %v", what, access, at, err, last)
				}
				last = err
				if n++; n == 1000 {
					if err := c.do(f); err != nil {
						t.Error(err)
					}
				}
			}
			if pe := (*fs.PathError)(nil); !errors.Is(last, c.want) || !errors.As(last, &pe) || n >= 1<<20 {
				t.Errorf("%s, access %v: ends with %v after %d matches", what, access, last, n)
			}
		}
	}
}
