package eventlog_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.dw1.io/mmapfile/eventlog"
)

var kills = flag.Int("eventlog.kills", 30, "how often a writer is killed")

const childEnv = "EVENTLOG_TEST_CHILD"

func TestMain(m *testing.M) {
	for env, fn := range map[string]func(string) error{childEnv: childWrites, readerEnv: childReads, consumerEnv: childConsumes, streamEnv: childStreams} {
		if name := os.Getenv(env); name != "" {
			if err := fn(name); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			return
		}
	}
	os.Exit(m.Run())
}

const readerEnv = "EVENTLOG_TEST_READER"

// childReads reads all events, so that it has them mapped, and says so, and ends with its input.
func childReads(dir string) error {
	r, err := eventlog.OpenStreamReader(dir)
	if err != nil {
		return err
	}
	n := 0
	for e, err := range r.Events(0) {
		if err != nil {
			return err
		}
		n += bytes.Count(e.Data, []byte("x"))
	}
	fmt.Println(n)
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// killedChild runs a child, and kills it after up to so many microseconds. It returns the last number
// that it has said.
func killedChild(t *testing.T, env, name string, round, micros int) (said int64) {
	t.Helper()
	if round > 0 && round%100 == 0 {
		t.Logf("%d kills", round)
	}
	cmd := child(t, env, name)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	in := bufio.NewReader(out)
	var b [8]byte
	if _, err := io.ReadFull(in, b[:]); err != nil {
		t.Fatalf("round %d: the child said nothing: %v, %v", round, err, cmd.Wait())
	}
	timer := time.AfterFunc(time.Duration(round*7919%micros)*time.Microsecond, func() { cmd.Process.Kill() })
	for err == nil {
		said = int64(binary.LittleEndian.Uint64(b[:]))
		_, err = io.ReadFull(in, b[:])
	}
	timer.Stop()
	if cmd.Wait() == nil {
		t.Fatal("the child ended of itself")
	}
	return said
}

// childWrites appends events that are numbered, and says of each that it was, until it is killed.
func childWrites(name string) error {
	l, err := eventlog.Open(name, eventlog.Options{Grow: 64 << 10})
	if err != nil {
		return err
	}
	if l.Recovery().TruncatedBytes != 0 {
		return fmt.Errorf("after a kill %+v", l.Recovery())
	}
	out := [8]byte{}
	for i := uint64(l.Len()); ; i++ {
		n := int64(1)
		switch p := numbered(i); i % 5 {
		case 0:
			_, err = l.AppendBatch(p)
		case 1:
			_, err = l.AppendBatch(p, numbered(i+1))
			n, i = 2, i+1
		case 2:
			if i%7 == 0 {
				_, err = l.AppendSync(p)
				break
			}
			_, err = l.Append(p)
		default:
			_, err = l.Append(p)
		}
		if err != nil {
			return err
		}
		binary.LittleEndian.PutUint64(out[:], i+1)
		if _, err := os.Stdout.Write(out[:]); err != nil {
			return err
		}
		if n == 2 && i%64 == 0 {
			if err := l.Sync(); err != nil {
				return err
			}
		}
	}
}

func numbered(i uint64) []byte {
	p := binary.LittleEndian.AppendUint64(nil, i)
	for k := range i * 37 % 300 {
		p = append(p, byte(i+k))
	}
	return binary.LittleEndian.AppendUint32(p, crc32.ChecksumIEEE(p))
}

func child(t *testing.T, env, name string) *exec.Cmd {
	t.Helper()
	if runtime.GOOS == "js" || runtime.GOOS == "wasip1" {
		t.Skip("no processes on this platform")
	}
	line := []string{os.Args[0]}
	if e := os.Getenv("MMAPFILE_EMULATOR"); e != "" {
		line = append([]string{e}, line...)
	}
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Env = append(os.Environ(), env+"="+name)
	cmd.Stderr = os.Stderr
	return cmd
}

// A writer is killed at a random moment, and the next goes on with its log. A reader follows
// through all of it, and sees every event that an append returned for, once, in order.
func TestAppend_KilledWriter(t *testing.T) {
	t.Parallel()
	name := newName(t)
	l := open(t, name, eventlog.Options{})
	must(t, l.Close())
	rounds := *kills
	if small() {
		rounds = min(rounds, 5)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r := openReader(t, name)
	seen, followed := make(chan uint64, 1), make(chan error, 1)
	seen <- 0
	go func() {
		i := uint64(0)
		for e, err := range r.Follow(ctx, 0) {
			if err != nil {
				followed <- err
				return
			}
			if string(e.Data) != string(numbered(i)) {
				followed <- fmt.Errorf("event %d is %x", i, e.Data)
				return
			}
			i++
			<-seen
			seen <- i
		}
	}()
	said := uint64(0)
	for round := range rounds {
		said = uint64(killedChild(t, childEnv, name, round, 3000))
	}
	all, err := collect(openReader(t, name).Events(0))
	if err != nil || uint64(len(all)) < said {
		t.Fatalf("%d events, %v; append returned for %d", len(all), err, said)
	}
	for deadline := time.Now().Add(20 * time.Second); ; {
		n := <-seen
		seen <- n
		if n == uint64(len(all)) {
			break
		}
		select {
		case err := <-followed:
			t.Fatalf("the follower: %v", err)
		case <-time.After(time.Millisecond):
		}
		if time.Now().After(deadline) {
			t.Fatalf("the follower saw %d events of %d", n, len(all))
		}
	}
	cancel()
	wantError(t, <-followed, context.Canceled, "the follower")
	l = open(t, name, eventlog.Options{})
	// There may be one append more, of two events at most, if the kill came between the two stores
	// that end it: Open does the second.
	if n := int64(len(all)); l.Len() < n || l.Len() > n+2 || l.Recovery().TruncatedBytes != 0 {
		t.Errorf("%d events, want %d; %+v", l.Len(), n, l.Recovery())
	}
	all, err = collect(l.Events(0))
	if err != nil || int64(len(all)) != l.Len() {
		t.Errorf("%d events of %d, %v", len(all), l.Len(), err)
	}
	for i, e := range all {
		if string(e.Data) != string(numbered(uint64(i))) {
			t.Fatalf("event %d is %x", i, e.Data)
		}
	}
}

func TestFollow_SecondWriter(t *testing.T) {
	t.Parallel()
	name := newName(t)
	put(t, name, nil) // not a log yet
	r := openReader(t, name)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	events := make(chan string)
	go func() {
		defer close(events)
		for e, err := range r.Follow(ctx, 0) {
			if err != nil {
				t.Error(err)
				return
			}
			if events <- string(e.Data); string(e.Data) == "end" {
				return
			}
		}
	}()
	for round := range 3 {
		l := open(t, name, eventlog.Options{Grow: 4096})
		for i := range 100 {
			p := strings.Repeat("x", round*1000+i)
			add(t, l, p)
			if got := <-events; got != p {
				t.Fatalf("round %d: %d bytes, want %d", round, len(got), len(p))
			}
		}
		if round == 2 {
			add(t, l, "end")
		}
		must(t, l.Close())
	}
	if got := <-events; got != "end" {
		t.Error(got)
	}
	if _, ok := <-events; ok {
		t.Error("an event too many")
	}
}

func TestFollow_Ends(t *testing.T) {
	t.Parallel()
	name := newName(t)
	l := open(t, name, eventlog.Options{})
	offs := add(t, l, "one", "two")
	r := openReader(t, name)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	n := 0
	for _, err := range r.Follow(ctx, offs[1]) {
		if n++; n == 1 && err == nil {
			cancel()
		} else if n != 2 || err != context.Canceled {
			t.Errorf("%d, %v", n, err)
		}
	}
	if n != 2 {
		t.Errorf("%d events", n)
	}
	must(t, l.Close())
	n = 0
	for _, err := range r.Follow(context.Background(), 0) {
		if n++; n == 2 {
			put := header(uint64(offs[1]), 1)
			f, err := os.OpenFile(name, os.O_WRONLY, 0)
			must(t, err)
			must(t, errOf(f.WriteAt(put, 0)))
			f.Close()
		}
		if n == 3 {
			wantCorrupt(t, err, offs[1])
		}
	}
	if n != 3 {
		t.Errorf("%d steps", n)
	}
}
