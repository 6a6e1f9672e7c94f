package raftlog_test

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"go.dw1.io/mmapfile/raftlog"
)

var kills = flag.Int("raftlog.kills", 20, "how often a process that stores logs is killed")

const (
	childEnv      = "RAFTLOG_TEST_CHILD"
	childRestores = "RAFTLOG_TEST_RESTORES" // the file with the snapshot
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		run := childStores
		if os.Getenv(childRestores) != "" {
			run = childRestore
		}
		if err := run(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// step is one call of the child. It tells each before and after.
type step struct {
	What        string // append, front, back, term
	First, Last uint64 // indexes; of term the value is First
	Term        uint64
}

func (s step) tell(when string) {
	fmt.Printf("%s %s %d %d %d\n", when, s.What, s.First, s.Last, s.Term)
}

// childStores changes a store until it is killed.
func childStores(dir string) error {
	s, err := raftlog.Open(dir, small)
	if err != nil {
		return err
	}
	term, err := s.GetUint64([]byte("term"))
	if err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(term, uint64(os.Getpid())))
	for term++; ; {
		first, err := s.FirstIndex()
		last, lerr := s.LastIndex()
		if err != nil || lerr != nil {
			return fmt.Errorf("%v, %v", err, lerr)
		}
		n := uint64(1 + r.IntN(40))
		st := step{What: "append", First: last + 1, Last: last + n, Term: term}
		switch k := r.IntN(12); {
		case k == 0 && last > first+100:
			st = step{What: "front", First: first, Last: first + uint64(r.IntN(int(last-first)))}
		case k == 1 && last > first+100:
			st = step{What: "back", First: last - n, Last: last}
		case k == 2:
			st = step{What: "term", First: term}
		}
		st.tell("try")
		switch st.What {
		case "append":
			var logs []*raft.Log
			for i := st.First; i <= st.Last; i++ {
				logs = append(logs, killLog(i, term))
			}
			err = s.StoreLogs(logs)
		case "term":
			err = s.SetUint64([]byte("term"), term)
			term++
		default:
			err = s.DeleteRange(st.First, st.Last)
		}
		if err != nil {
			return err
		}
		st.tell("did")
	}
}

// killLog is an entry that checks itself.
func killLog(index, term uint64) *raft.Log {
	p := fmt.Append(nil, index, " ", term, " ")
	p = append(p, bytes.Repeat([]byte{byte(index)}, int(index*37%700))...)
	return &raft.Log{Index: index, Term: term, Data: fmt.Appendf(p, "%08x", crc32.ChecksumIEEE(p))}
}

// A process that stores logs is killed at a random moment, again and again. What its calls
// returned for is there each time, and of the call that was interrupted all, or the beginning.
func TestStore_Killed(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "js" || runtime.GOOS == "wasip1" {
		t.Skip("no processes on this platform")
	}
	rounds := *kills
	if testing.Short() {
		rounds = min(rounds, 5)
	}
	dir := t.TempDir()
	terms := map[uint64]uint64{} // by index
	first, next, term := uint64(1), uint64(1), uint64(0)
	for round := range rounds {
		if round > 0 && round%100 == 0 {
			t.Logf("%d of %d kills", round, rounds)
		}
		steps := runAndKill(t, dir, time.Duration(round*7919%40_000)*time.Microsecond)
		pending := step{}
		for _, st := range steps {
			if st.when == "try" {
				pending = st.step
				continue
			}
			pending = step{}
			switch st.What {
			case "append":
				for i := st.First; i <= st.Last; i++ {
					terms[i] = st.Term
				}
				next = st.Last + 1
			case "front":
				first = st.Last + 1
			case "back":
				next = st.First
			case "term":
				term = st.First
			}
		}
		s := open(t, dir, small)
		gotFirst, err := s.FirstIndex()
		gotLast, lerr := s.LastIndex()
		if err != nil || lerr != nil {
			t.Fatal(err, lerr)
		}
		gotNext := gotLast + 1
		leastNext, mostNext, mostFirst := next, next, first
		switch pending.What {
		case "append":
			mostNext = pending.Last + 1
		case "front":
			mostFirst = pending.Last + 1
		case "back":
			leastNext = pending.First
		}
		if gotNext > 1 && (gotFirst != first && gotFirst != mostFirst) || gotNext < leastNext || gotNext > mostNext ||
			pending.What == "back" && gotNext != next && gotNext != leastNext {
			t.Fatalf("round %d: indexes %d to %d, want %d to %d; then %+v", round, gotFirst, gotLast, first, next-1, pending)
		}
		for i := gotFirst; i > 0 && i < gotNext; i++ {
			l := new(raft.Log)
			must(t, s.GetLog(i, l))
			want := killLog(i, l.Term)
			if i < next && l.Term != terms[i] || i >= next && l.Term != pending.Term || !equal(l, want) {
				t.Fatalf("round %d: index %d has term %d, want %d", round, i, l.Term, terms[i])
			}
			terms[i] = l.Term
		}
		got, err := s.GetUint64([]byte("term"))
		if err != nil || got != term && !(pending.What == "term" && got == pending.First) {
			t.Fatalf("round %d: term %d, %v, want %d; then %+v", round, got, err, term, pending)
		}
		first, next, term = max(gotFirst, 1), gotNext, got
		must(t, s.Close())
	}
	if next < 10 {
		t.Errorf("only %d entries were stored", next-1)
	}
}

type told struct {
	when string
	step
}

// runAndKill starts a child, kills it that long after its first call, and returns what it told.
func runAndKill(t *testing.T, dir string, after time.Duration, env ...string) (steps []told) {
	t.Helper()
	line := []string{os.Args[0]}
	if e := os.Getenv("MMAPFILE_EMULATOR"); e != "" {
		line = append([]string{e}, line...)
	}
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Env = append(os.Environ(), childEnv+"="+dir)
	cmd.Env = append(cmd.Env, env...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	var timer *time.Timer
	in := bufio.NewScanner(out)
	for in.Scan() {
		st := told{}
		if _, err := fmt.Sscan(in.Text(), &st.when, &st.What, &st.First, &st.Last, &st.Term); err != nil {
			t.Fatalf("%q: %v", in.Text(), err)
		}
		steps = append(steps, st)
		if timer == nil {
			timer = time.AfterFunc(after, func() { cmd.Process.Kill() })
		}
	}
	if err := cmd.Wait(); err == nil || timer == nil {
		t.Fatalf("the child ended of itself: %v", err)
	}
	timer.Stop()
	return steps
}
