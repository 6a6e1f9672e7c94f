package eventlog_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"go.dw1.io/mmapfile/eventlog"
	"go.dw1.io/mmapfile/internal/filetest"
)

// What a flush has lost is not acknowledged by the next writer, although the page cache still has
// it: the writer's last events, or those of its last two segments, or the header of the last.
func TestOpen_AfterFailedFlush(t *testing.T) {
	for _, c := range []struct {
		fs, block, reader string
		segment           int64
	}{
		{"ext4", "4096", "none", 0},
		{"ext4", "4096", "process", 600_000},
		{"ext4", "1024", "process", 0},
		{"ext4", "4096", "same process", 600_000},
		{"xfs", "4096", "none", 600_000},
		{"xfs", "4096", "process", 0},
	} {
		t.Run(fmt.Sprintf("%s/block=%s/reader=%s/segment=%d", c.fs, c.block, c.reader, c.segment), func(t *testing.T) {
			testFailedFlush(t, filetest.NewThinDisk(t, c.fs, c.block), c.reader, c.segment)
		})
	}
}

func testFailedFlush(t *testing.T, d *filetest.ThinDisk, reader string, segment int64) {
	dir, o := filepath.Join(d.Dir, "stream"), eventlog.StreamOptions{SegmentSize: segment}
	data := func(seq int64) string { return fmt.Sprint(seq, strings.Repeat("x", 1000)) }
	s := openStream(t, dir, o)
	appendTo := func(next int64) {
		for s.Next() < next {
			push(t, s, data(s.Next()))
		}
	}
	appendTo(100)
	must(t, s.Sync())
	d.Fill(0)
	appendTo(700) // in the second segment, or the first
	unpin := d.Pin(filepath.Join(dir, "*.log"))
	if err := s.Sync(); err == nil {
		t.Fatal("Sync: no error on a device that is full")
	}
	var r *eventlog.StreamReader
	end := func() {}
	switch reader {
	case "process":
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), readerEnv+"="+dir)
		in, ierr := cmd.StdinPipe()
		var said strings.Builder
		cmd.Stderr = &said
		out, oerr := cmd.StdoutPipe()
		must(t, errors.Join(ierr, oerr, cmd.Start()))
		end = func() { in.Close(); cmd.Wait() }
		if line, err := bufio.NewReader(out).ReadString('\n'); line != "700000\n" {
			end()
			t.Fatalf("the reader has %q, %v: %s", line, err, said.String())
		}
	case "same process":
		r = openStreamReader(t, dir)
		if all, err := collect(r.Events(0)); len(all) != 700 || err != nil {
			t.Fatal(len(all), err)
		}
		end = func() { r.Close() }
	}
	defer end()
	unpin()
	if err := s.Close(); err == nil {
		t.Error("Close: no error")
	}
	d.Free()
	s, err := eventlog.OpenStream(dir, o)
	if err != nil { // that of the flush
		s = openStream(t, dir, o)
	}
	if s.Next() < 100 {
		t.Fatalf("events from %d on are lost, 100 were durable", s.Next())
	}
	found := s.Next()
	appendTo(found + 300)
	must(t, errOf(s.AppendSync([]byte(data(s.Next())))))
	durable := s.Next()
	closeStream(t, s)
	end()
	d.Remount()
	s = openStream(t, dir, o)
	if err := s.Check(); err != nil || s.Next() != durable {
		t.Errorf("events up to %d, want %d, of which %d were found; %v", s.Next(), durable, found, err)
	}
	seq := int64(0)
	for e, err := range s.Events(0) {
		if err != nil || string(e.Data) != data(seq) {
			t.Fatalf("event %d: %.20q, %v", seq, e.Data, err)
		}
		seq++
	}
	if seq != durable {
		t.Errorf("%d events, want %d", seq, durable)
	}
	closeStream(t, s)
}

// A copy from outside the writer has what the source shows, also if a flush of the writer has
// failed: then only the page cache has its last events, and shared blocks do not.
func TestStreamReader_CopyAfterFailedFlush(t *testing.T) {
	for _, fs := range []string{"ext4", "xfs"} {
		t.Run(fs, func(t *testing.T) {
			d := filetest.NewThinDisk(t, fs, "4096")
			dir, dst := filepath.Join(d.Dir, "stream"), filepath.Join(d.Dir, "copy")
			s := openStream(t, dir, eventlog.StreamOptions{})
			add := func(n int64) {
				for s.Next() < n {
					push(t, s, strings.Repeat("x", 1000))
				}
			}
			add(100)
			must(t, s.Sync())
			d.Fill(0)
			add(700)
			unpin := d.Pin(filepath.Join(dir, "*.log"))
			if err := s.Sync(); err == nil {
				t.Fatal("no error on a full disk")
			}
			d.Free()
			r := openStreamReader(t, dir)
			shown, err := r.Next()
			must(t, err)
			err = r.Copy(t.Context(), dst, nil)
			if err != nil { // of the flush, once
				err = r.Copy(t.Context(), dst, nil)
			}
			if err != nil {
				unpin()
				t.Skip("the system still reports the failure: ", err)
			}
			unpin()
			r.Close()
			s.Close()
			d.Remount()
			c := openStream(t, dst, eventlog.StreamOptions{})
			if c.Next() < shown {
				t.Errorf("the copy has %d events, the source showed %d", c.Next(), shown)
			}
			closeStream(t, c)
		})
	}
}

// A header or a meta that no flush has written is none for the next writer, although the page cache has
// it, and the file the length of one that was closed in order.
func TestOpen_AfterFailedFirstFlush(t *testing.T) {
	for _, fs := range []string{"ext4", "xfs"} {
		for _, mapped := range []bool{false, true} {
			t.Run(fmt.Sprint(fs, mapped), func(t *testing.T) {
				d := filetest.NewThinDisk(t, fs, "4096")
				name, dir := filepath.Join(d.Dir, "log"), filepath.Join(d.Dir, "stream")
				must(t, os.Mkdir(dir, 0o777)) // its block must be there, for ext4 to go on
				d.Fill(0)
				if _, err := eventlog.Open(name, eventlog.Options{}); err == nil {
					t.Fatal("Open: no error on a device that is full")
				}
				if _, err := eventlog.OpenStream(dir, eventlog.StreamOptions{}); err == nil {
					t.Fatal("OpenStream: no error on a device that is full")
				}
				syscall.Sync() // the header of the first segment
				end := func() {}
				if mapped {
					l, r := openReader(t, name), openStreamReader(t, dir)
					for range 100 { // until meta is mapped
						_, lerr := l.End()
						if _, err := r.Next(); lerr != nil || err != nil {
							t.Fatal(lerr, err)
						}
					}
					end = func() { l.Close(); r.Close() }
				}
				d.Free()
				l, err := eventlog.Open(name, eventlog.Options{})
				if err != nil { // that of the flush
					l = open(t, name, eventlog.Options{})
				}
				s, err := eventlog.OpenStream(dir, eventlog.StreamOptions{})
				for range 2 { // that of meta, and of the segment
					if err != nil {
						s, err = eventlog.OpenStream(dir, eventlog.StreamOptions{})
					}
				}
				must(t, err)
				for range 100 {
					add(t, l, "event")
					push(t, s, "event")
				}
				must(t, errors.Join(l.Close(), s.Sync(), s.TruncateFront(51), s.Close()))
				end()
				d.Remount()
				if l = open(t, name, eventlog.Options{}); l.Len() != 100 {
					t.Errorf("the log has %d events, want 100", l.Len())
				}
				if s = openStream(t, dir, eventlog.StreamOptions{}); s.First() != 51 || s.Next() != 100 {
					t.Errorf("the stream has events %d to %d, want 51 to 100", s.First(), s.Next())
				}
				l.Close()
				closeStream(t, s)
			})
		}
	}
}

// A copy whose events could not be made durable is none.
func TestCopy_FailedFlush(t *testing.T) {
	d := filetest.NewThinDisk(t, "xfs", "4096") // ext4 flushes them with meta
	s := openStream(t, newDir(t), eventlog.StreamOptions{})
	push(t, s, strings.Repeat("x", 4<<20))
	d.Fill(256 << 10) // enough for meta
	dst := filepath.Join(d.Dir, "copy")
	wantError(t, s.Copy(t.Context(), dst, nil), syscall.ENOSPC, "Copy")
	wantError(t, errOf(os.Stat(dst)), os.ErrNotExist, "the copy")
}
