package eventlog_test

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/eventlog"
	"go.dw1.io/mmapfile/internal/filetest"
)

func TestStream_FullDisk(t *testing.T) {
	dir := filetest.Tmpfs(t, "2m")
	o := eventlog.StreamOptions{SegmentSize: 100_000}
	s := openStream(t, dir, o)
	fill := func() {
		full := 0
		for range 100_000 {
			if _, err := s.Append([]byte(nth(s.Next()))); errors.Is(err, syscall.ENOSPC) {
				eventlog.WaitJobs(s) // which may release space
				if full++; full > 2 {
					return
				}
			} else if err != nil {
				t.Fatal(err)
			} else {
				full = 0
			}
		}
		t.Fatal("the disk does not become full")
	}
	for range 3 {
		fill()
		wantError(t, errOf(s.AppendBatch(make([]byte, 50_000), make([]byte, 50_000))), syscall.ENOSPC, "a batch")
		if err := s.Roll(); err != nil && !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("Roll: %v", err)
		}
		wantError(t, s.WaitDurable(context.Background(), s.Next()-1), nil, "WaitDurable")
		to := filepath.Join(dir, "copy")
		wantError(t, s.Copy(context.Background(), to, nil), syscall.ENOSPC, "Copy")
		wantError(t, errOf(os.Stat(to+".tmp")), fs.ErrNotExist, "a copy is left")
		wantNth(t, s.Events(s.First()), s.First(), s.Next())
		wantError(t, s.Sync(), nil, "Sync")
		next := s.Next()
		must(t, s.TruncateFront(s.First()+(next-s.First())/2))
		eventlog.WaitJobs(s)
		fill()
		if s.Next() < next+1000 {
			t.Errorf("%d events after %d were removed", s.Next()-next, next-s.First())
		}
	}
	closeStream(t, s)
	s = openStream(t, dir, o)
	wantNth(t, s.Events(s.First()), s.First(), s.Next())
	if s.Recovery().TruncatedBytes != 0 {
		t.Errorf("%+v", s.Recovery())
	}
}

func TestStream_Flush(t *testing.T) {
	t.Parallel()
	o := eventlog.StreamOptions{SegmentSize: 5000}
	o.Flush = mmapfile.FlushPolicy{Bytes: 1000}
	s := openStream(t, newDir(t), o)
	for range 300 {
		pushN(t, s, 1)
		if s.Next()-s.Durable() > 1000/50 {
			t.Fatalf("durable up to %d of %d", s.Durable(), s.Next())
		}
	}
	o.Flush = mmapfile.FlushPolicy{Interval: time.Millisecond}
	s = openStream(t, newDir(t), o)
	pushN(t, s, 300)
	for deadline := time.Now().Add(20 * time.Second); s.Durable() < s.Next(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("durable up to %d of %d", s.Durable(), s.Next())
		}
	}
}

// Events that were removed release the space that an append needs.
func TestStream_FullDiskOfFewSegments(t *testing.T) {
	dir := filetest.Tmpfs(t, "2m")
	s := openStream(t, dir, eventlog.StreamOptions{SegmentSize: 1_500_000})
	err := error(nil)
	for err == nil {
		_, err = s.Append(make([]byte, 4000))
	}
	if !errors.Is(err, syscall.ENOSPC) || len(segments(t, dir)) != 2 {
		t.Fatal(err, segments(t, dir))
	}
	must(t, s.TruncateFront(s.Next()))
	eventlog.WaitJobs(s)
	for range 100 {
		if _, err := s.Append(make([]byte, 4000)); err != nil {
			t.Fatal("after events were removed: ", err)
		}
	}
	closeStream(t, s)
}

// TruncateBack needs no block. The next append begins a segment, once there is one for it.
func TestStream_TruncateBackFullDisk(t *testing.T) {
	dir := filetest.Tmpfs(t, "2m")
	s := openStream(t, dir, eventlog.StreamOptions{SegmentSize: 100_000})
	// Events of one segment, of several, and all.
	for _, removed := range []int64{20, 200, math.MaxInt64} {
		err := error(nil)
		for err == nil {
			_, err = s.Append(make([]byte, 4000))
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
		eventlog.WaitJobs(s)
		ballast := fillDisk(t, dir)
		next := max(s.Next()-removed, s.First())
		if err := s.TruncateBack(next); err != nil {
			t.Fatalf("%d events: %v", removed, err)
		}
		eventlog.WaitJobs(s)
		must(t, os.Remove(ballast))
		if seq, err := s.Append([]byte("event")); err != nil || seq != next {
			t.Fatalf("event %d, %v, want %d", seq, err, next)
		}
	}
	must(t, s.TruncateBack(s.Next()-1))
	push(t, s, "a", "b") // the last segment has few pages now
	must(t, s.Sync())
	eventlog.WaitJobs(s)
	ballast := fillDisk(t, dir)
	next := s.Next()
	must(t, s.TruncateBack(next-1))
	want(t, s.Events(next-2), "a")
	must(t, os.Remove(ballast))
	push(t, s, "c")
	want(t, s.Events(next-2), "a", "c")
	closeStream(t, s)
}

// TruncateFront past the end needs no block.
func TestStream_TruncateFrontFullDisk(t *testing.T) {
	o := eventlog.StreamOptions{SegmentSize: 100_000}
	for _, block := range []string{"spare", "tail", "none"} {
		dir := filetest.Tmpfs(t, "2m")
		s, r := openStream(t, dir, o), openStreamReader(t, dir)
		pushN(t, s, 2500)
		switch block {
		case "spare":
			for n := len(segments(t, dir)); len(segments(t, dir)) == n; {
				pushN(t, s, 1)
			}
			must(t, s.Sync())
			pushN(t, s, 1200) // more than half of the segment
		case "tail":
			if !eventlog.Maps {
				continue // a segment has no more blocks than its events need
			}
		case "none": // the last segment has one page
			must(t, s.TruncateBack(s.Next()-1))
		}
		eventlog.WaitJobs(s)
		next := s.Next()
		ballast := fillDisk(t, dir)
		if err := s.TruncateFront(next + 100); err != nil {
			t.Fatalf("%s: %v", block, err)
		}
		must(t, os.Remove(ballast))
		pushN(t, s, 10)
		wantNth(t, s.Events(next+100), next+100, next+110)
		wantNth(t, r.Events(next+100), next+100, next+110)
		closeStream(t, s)
	}
}

// fillDisk writes a file until the disk is full.
func fillDisk(t *testing.T, dir string) (name string) {
	name = filepath.Join(dir, "ballast")
	filetest.FillDisk(t, name)
	return name
}

// A disk that is full when a segment ends has a file for the next one, which needs no space to open the stream.
func TestOpenStream_FullDisk(t *testing.T) {
	disk := filetest.Tmpfs(t, "2m")
	dir, filler, more := filepath.Join(disk, "stream"), filepath.Join(disk, "filler"), filepath.Join(disk, "more")
	o := eventlog.StreamOptions{SegmentSize: 100_000}
	s := openStream(t, dir, o)
	pushN(t, s, 10)
	filetest.FillDisk(t, filler)
	wantError(t, s.Roll(), syscall.ENOSPC, "Roll")
	closeStream(t, s)
	filetest.FillDisk(t, more) // what Close has released
	s = openStream(t, dir, o)
	wantNth(t, s.Events(0), 0, 10)
	wantError(t, errOf(s.Append(nil)), syscall.ENOSPC, "Append")
	must(t, os.Remove(filler))
	must(t, os.Remove(more))
	pushN(t, s, 10)
	wantNth(t, s.Events(0), 0, 20)
	closeStream(t, s)
	s = openStream(t, dir, o)
	wantNth(t, s.Events(0), 0, 20)
}
