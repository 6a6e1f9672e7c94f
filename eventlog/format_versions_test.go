package eventlog_test

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.dw1.io/mmapfile/eventlog"
)

// FORMAT.md reserves these numbers for a later format: a file that begins with one is left alone.
func TestOpen_LaterFormat(t *testing.T) {
	t.Parallel()
	for _, word := range []int64{1, 2, 8, 16, 23, -1, -1 << 63} {
		for count := range uint64(3) {
			b := append(header(uint64(word), count), goldenFile(t)[24:]...)
			for _, b := range [][]byte{b, b[:24]} {
				name := newName(t)
				put(t, name, b)
				ce := (*eventlog.CorruptError)(nil)
				if _, err := eventlog.Open(name, eventlog.Options{}); !errors.As(err, &ce) {
					t.Errorf("Open of %d: %v", word, err)
				}
				if all, err := collect(openReader(t, name).Events(0)); len(all) > 0 || !errors.As(err, &ce) {
					t.Errorf("Events of %d: %d, %v", word, len(all), err)
				}
				if !bytes.Equal(get(t, name), b) {
					t.Errorf("%d: the file has changed", word)
				}
			}
		}
	}
}

// So are flags in meta.
func TestOpenStream_LaterFormat(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	s := openStream(t, dir, eventlog.StreamOptions{})
	pushN(t, s, 10)
	closeStream(t, s)
	for _, flags := range []uint32{2, 3, 1 << 31} {
		putMeta(t, dir, meta{generation: 1 << 20, flags: flags})
		before, files := get(t, filepath.Join(dir, "meta")), len(segments(t, dir))
		ce := (*eventlog.CorruptError)(nil)
		if _, err := eventlog.OpenStream(dir, eventlog.StreamOptions{}); !errors.As(err, &ce) {
			t.Errorf("flags %d: %v", flags, err)
		}
		if _, err := eventlog.OpenStreamReader(dir); !errors.As(err, &ce) {
			t.Errorf("a reader, flags %d: %v", flags, err)
		}
		if !bytes.Equal(get(t, filepath.Join(dir, "meta")), before) || len(segments(t, dir)) != files {
			t.Errorf("flags %d: the stream has changed", flags)
		}
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 here")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, python, filepath.Join("testdata", "events.py"), dir).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "flags of a later format") {
		t.Errorf("%v, %q", err, out)
	}
}
