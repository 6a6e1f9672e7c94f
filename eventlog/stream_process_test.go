package eventlog_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.dw1.io/mmapfile/eventlog"
)

const streamEnv = "EVENTLOG_TEST_STREAM"

var childOptions = eventlog.StreamOptions{SegmentSize: 16 << 10, RetainBytes: 100 << 10}

// childStreams appends events that are numbered, and truncates, and says up to where there
// must be events, until it is killed.
func childStreams(dir string) error {
	s, err := eventlog.OpenStream(dir, childOptions)
	if err != nil {
		return err
	}
	if rec := s.Recovery(); rec.TruncatedBytes != 0 || rec.SavedAs != "" {
		return fmt.Errorf("after a kill %+v", rec)
	}
	say := func(next int64) error {
		_, err := os.Stdout.Write(binary.LittleEndian.AppendUint64(nil, uint64(next)))
		return err
	}
	for i := 1; ; i++ {
		next := s.Next()
		switch {
		case i%97 == 0:
			back := max(s.First(), next-int64(i%200))
			if err = say(back); err == nil {
				err = s.TruncateBack(back)
			}
		case i%89 == 0:
			err = s.TruncateFront(min(next, s.First()+int64(i%50)))
		case i%13 == 0:
			_, err = s.AppendSync(numbered(uint64(next)))
		case i%31 == 0:
			err = s.Roll()
		case i%23 == 0 && next > s.First():
			err = s.WaitDurable(context.Background(), next-1)
		case i%5 == 0:
			_, err = s.AppendBatch(numbered(uint64(next)), numbered(uint64(next+1)))
		default:
			_, err = s.Append(numbered(uint64(next)))
		}
		if err == nil {
			err = say(s.Next())
		}
		if err != nil {
			return err
		}
	}
}

// A writer is killed at a random moment, and the next goes on with its stream. A reader
// follows through all of it.
func TestStream_KilledWriter(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	closeStream(t, openStream(t, dir, childOptions))
	rounds := *kills
	if small() {
		rounds = min(rounds, 5)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	followed := make(chan error, 1)
	r := openStreamReader(t, dir)
	go func() { followed <- followNumbered(ctx, r) }()
	said := int64(0)
	for round := range rounds {
		said = killedChild(t, streamEnv, dir, round, 30_000)
		if next, err := r.Next(); next < said || err != nil {
			t.Fatalf("round %d: the events end at %d, %v, want %d", round, next, err, said)
		}
	}
	s := openStream(t, dir, childOptions)
	seq := s.First()
	for e, err := range s.Events(seq) {
		if err != nil || e.Seq != seq || string(e.Data) != string(numbered(uint64(seq))) {
			t.Fatalf("event %d: %d %x, %v", seq, e.Seq, e.Data, err)
		}
		seq++
	}
	if seq < said || seq != s.Next() || s.Recovery().TruncatedBytes != 0 {
		t.Errorf("the events end at %d, want %d at least; %+v", seq, said, s.Recovery())
	}
	cancel()
	wantError(t, <-followed, context.Canceled, "the follower")
}

// followNumbered follows a stream of numbered events, also when it is truncated.
func followNumbered(ctx context.Context, r *eventlog.StreamReader) error {
	seq := int64(0)
	for {
		for e, err := range r.Follow(ctx, seq) {
			if errors.Is(err, eventlog.ErrTruncated) || errors.Is(err, fs.ErrInvalid) { // since Next
				break
			}
			if err != nil {
				return err
			}
			if e.Seq != seq || string(e.Data) != string(numbered(uint64(seq))) {
				return fmt.Errorf("event %d is %d %x", seq, e.Seq, e.Data)
			}
			seq++
		}
		first, err := r.First()
		if err != nil {
			return err
		}
		next, err := r.Next()
		if err != nil {
			return err
		}
		seq = max(first, min(seq, next))
	}
}

func TestStream_PythonReader(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 here")
	}
	dir := newDir(t)
	s := openStream(t, dir, eventlog.StreamOptions{SegmentSize: 1000})
	pushN(t, s, 200)
	must(t, s.TruncateFront(70))
	must(t, s.TruncateBack(150))
	pushN(t, s, 20)
	var all strings.Builder
	for e, err := range s.Events(70) {
		must(t, err)
		fmt.Fprintf(&all, "%d %d %x\n", e.Seq, e.Time.UnixNano(), e.Data)
	}
	eventlog.WaitJobs(s)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, python, filepath.Join("testdata", "events.py"), dir).CombinedOutput()
	if text := strings.ReplaceAll(string(out), "\r\n", "\n"); text != all.String() || err != nil {
		t.Errorf("%d bytes %.200q, %v, want %d", len(text), text, err, all.Len())
	}
}
