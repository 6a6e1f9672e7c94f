package eventlog_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.dw1.io/mmapfile/eventlog"
)

// consume appends a line for each event to the file out, exactly once, however often it is killed or
// the system crashes. It keeps its place in the file out.place: the number of the next event, and
// the length that out has up to there. What out has beyond that was written without a place.
func consume(r *eventlog.StreamReader, out string, each func()) error {
	next, size := int64(0), int64(0)
	place, err := os.ReadFile(out + ".place")
	if err == nil {
		_, err = fmt.Sscan(string(place), &next, &size)
	} else if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err != nil {
		return err
	}
	f, err := os.OpenFile(out, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Truncate(size); err != nil {
		return err
	}
	save := func() error {
		if err := f.Sync(); err != nil { // first: the place says that out has it
			return err
		}
		return writeFile(out+".place", fmt.Sprintln(next, size))
	}
	unsaved := 0
	for e, err := range r.Events(next, eventlog.OnlyDurable) {
		if err != nil {
			return err // ErrTruncated: the events from next on were removed before they were read
		}
		n, err := fmt.Fprintf(io.NewOffsetWriter(f, size), "%d %s\n", e.Seq, e.Data)
		if err != nil {
			return err
		}
		next, size = e.Seq+1, size+int64(n)
		if unsaved++; unsaved == 50 {
			if err := save(); err != nil {
				return err
			}
			unsaved = 0
		}
		each()
	}
	return save()
}

// writeFile replaces a file, durably: there is the old one or the new one at any time.
func writeFile(name, text string) error {
	f, err := os.Create(name + ".tmp")
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(name+".tmp", name) // a crash before this is durable repeats events, and their effects
}

// A consumer stores its position together with the effects of the events up to it, or so that it
// can tell which effects came later.
func ExampleOnlyDurable() {
	name, remove := exampleName()
	defer remove()
	dir := filepath.Join(filepath.Dir(name), "stream")
	s, err := eventlog.OpenStream(dir, eventlog.StreamOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	r, err := eventlog.OpenStreamReader(dir)
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	for _, data := range []string{"one", "two", "three"} {
		if _, err := s.Append([]byte(data)); err != nil {
			log.Fatal(err)
		}
		if data == "three" {
			break // it is not durable: the consumer does not see it
		}
		if err := s.Roll(); err != nil { // so that a reader sees the event soon
			log.Fatal(err)
		}
		if err := consume(r, name, func() {}); err != nil { // as after a start
			log.Fatal(err)
		}
	}
	out, err := os.ReadFile(name)
	fmt.Print(string(out), err)
	// Output:
	// 0 one
	// 1 two
	// <nil>
}

const consumerEnv = "EVENTLOG_TEST_CONSUMER"

// consumerStep is what a child writes for each event. A pipe holds 64 KiB, so a child that is not
// read is soon blocked, and its parent can kill it in the middle.
const consumerStep = 4096

// childConsumes consumes the stream in dir, and writes consumerStep bytes for each event.
func childConsumes(dir string) error {
	r, err := eventlog.OpenStreamReader(dir)
	if err != nil {
		return err
	}
	return consume(r, dir+".out", func() { os.Stdout.Write(make([]byte, consumerStep)) })
}

func TestOnlyDurable_KilledConsumer(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(newDir(t), "stream")
	s := openStream(t, dir, eventlog.StreamOptions{SegmentSize: 5000})
	const n = 1000
	var want strings.Builder
	for s.Next() < n {
		fmt.Fprintln(&want, s.Next(), nth(s.Next()))
		pushN(t, s, 1)
	}
	closeStream(t, s)
	kills := 0
	for ended := false; !ended; {
		cmd := child(t, consumerEnv, dir)
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		got, _ := io.CopyN(io.Discard, out, int64(90+kills*37%80)*consumerStep)
		if ended = got < 90*consumerStep; !ended {
			cmd.Process.Kill()
			kills++
		}
		if err := cmd.Wait(); ended && err != nil {
			t.Fatal(err)
		}
	}
	if got := string(get(t, dir+".out")); got != want.String() || kills < 5 {
		t.Errorf("after %d kills: %d bytes, want %d", kills, len(got), want.Len())
	}
}
