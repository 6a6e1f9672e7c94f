package raftlog_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"go.dw1.io/mmapfile/eventlog"
	"go.dw1.io/mmapfile/raftlog"
)

// take has the store take a snapshot of the entries up to index, and returns what is sent.
func take(t testing.TB, s *raftlog.Store, index uint64) []byte {
	t.Helper()
	k := create(t, s, index)
	snapshot, err := raftlog.NewFSM(s).Snapshot()
	must(t, err)
	must(t, snapshot.Persist(k))
	must(t, k.Close())
	meta, r, err := s.Snapshots().Open(k.ID())
	must(t, err)
	defer r.Close()
	p, err := io.ReadAll(r)
	if err != nil || int64(len(p)) != meta.Size || meta.Index != index {
		t.Fatalf("%d bytes, %v, want %d; index %d", len(p), err, meta.Size, meta.Index)
	}
	return p
}

func create(t testing.TB, s *raftlog.Store, index uint64) raft.SnapshotSink {
	t.Helper()
	k, err := s.Snapshots().Create(raft.SnapshotVersionMax, index, 1+index/10, raft.Configuration{}, 1, nil)
	must(t, err)
	return k
}

// receive keeps a snapshot that was sent, and returns its ID.
func receive(t testing.TB, s *raftlog.Store, index uint64, p []byte) string {
	t.Helper()
	k := create(t, s, index)
	for part := range bytes.Lines(p) {
		must(t, errOf(k.Write(part)))
	}
	must(t, k.Close())
	return k.ID()
}

// restore has the state machine restore a snapshot, as raft does.
func restore(t *testing.T, s *raftlog.Store, fsm *raftlog.FSM, id string) error {
	t.Helper()
	_, r, err := s.Snapshots().Open(id)
	must(t, err)
	return fsm.Restore(r)
}

// wantEvents checks that the stream has the commands among the entries, and raft's log none.
func wantEvents(t testing.TB, s *raftlog.Store, logs []*raft.Log) {
	t.Helper()
	wantLogs(t, s)
	f := raftlog.NewFSM(s)
	f.Apply(logs[len(logs)-1])
	for e, err := range f.Events(0) {
		must(t, err)
		for len(logs) > 0 && logs[0].Type != raft.LogCommand {
			logs = logs[1:]
		}
		if len(logs) == 0 || e.Index != logs[0].Index || !bytes.Equal(e.Data, logs[0].Data) {
			t.Fatalf("event %d is not the next command", e.Index)
		}
		logs = logs[1:]
	}
	for _, l := range logs {
		if l.Type == raft.LogCommand {
			t.Fatalf("no event %d", l.Index)
		}
	}
}

func TestSnapshots_Restored(t *testing.T) {
	t.Parallel()
	from := open(t, t.TempDir(), small)
	logs := newLogs(1, 1000)
	store(t, from, logs...)
	must(t, from.DeleteRange(1, 99))
	sent := take(t, from, 900)

	for _, before := range []int{0, 50, 2000} { // entries that the other has
		dir := t.TempDir()
		to := open(t, dir, small)
		store(t, to, newLogs(1, before)...)
		id := receive(t, to, 900, sent)
		_, r, err := to.Snapshots().Open(id)
		must(t, err)
		must(t, raftlog.NewFSM(to).Restore(r))
		wantEvents(t, to, logs[99:900])
		to = reopen(t, to, dir, small)
		wantEvents(t, to, logs[99:900])
		if err := to.StoreLog(newLog(902)); err == nil {
			t.Error("a gap after the snapshot")
		}
		store(t, to, newLogs(901, 5)...)
		wantLogs(t, to, newLogs(901, 5)...)
		// They were not committed, and conflict with those of a new leader.
		must(t, to.DeleteRange(901, 905))
		store(t, to, newLogs(901, 2)...)
		if again := take(t, to, 902); len(again) == 0 {
			t.Error("no snapshot of that")
		}
		must(t, to.DeleteRange(901, 902)) // compacted
		wantLogs(t, to)
		store(t, to, newLogs(903, 2)...)
		wantLogs(t, to, newLogs(903, 2)...)
	}
}

// A stream does not go back to events that it has dropped.
func TestSnapshots_BeginsEarlier(t *testing.T) {
	t.Parallel()
	from := open(t, t.TempDir(), small)
	logs := newLogs(1, 900)
	store(t, from, logs...)
	dir := t.TempDir()
	to := open(t, dir, small)
	store(t, to, newLogs(1, 300)...)
	must(t, to.DeleteRange(1, 249))
	k := create(t, to, 200)
	must(t, errOf(k.Write(take(t, from, 200))))
	if k.Close() == nil {
		t.Error("a snapshot that ends before the stream begins was kept")
	}
	receive(t, to, 900, take(t, from, 900))
	to = reopen(t, to, dir, small)
	wantEvents(t, to, logs[249:])
	store(t, to, newLogs(901, 2)...)
	wantLogs(t, to, newLogs(901, 2)...)
}

// After a crash between keeping a snapshot and restoring it, Open restores it.
func TestSnapshots_RestoredByOpen(t *testing.T) {
	t.Parallel()
	from := open(t, t.TempDir(), small)
	logs := newLogs(1, 500)
	store(t, from, logs...)
	dir := t.TempDir()
	to := open(t, dir, small)
	store(t, to, newLogs(1, 700)...)
	receive(t, to, 400, take(t, from, 400))
	receive(t, to, 500, take(t, from, 500))
	wantLogs(t, to, newLogs(1, 700)...)
	to = reopen(t, to, dir, small)
	wantEvents(t, to, logs)
	list, err := to.Snapshots().List()
	if err != nil || len(list) != 1 || list[0].Index != 500 {
		t.Errorf("%d snapshots, %v", len(list), err)
	}
}

// A damaged snapshot is refused when it has come, and the log stays.
func TestSnapshots_Damaged(t *testing.T) {
	t.Parallel()
	from := open(t, t.TempDir(), small)
	store(t, from, newLogs(1, 20)...)
	sent := take(t, from, 20)
	events := 28 // bytes that count, without the zeros at the end
	for i, b := range sent {
		if b != 0 {
			events = i + 1
		}
	}
	dir := t.TempDir()
	to := open(t, dir, small)
	store(t, to, newLogs(1, 3)...)
	for i := 0; i < events; i += 1 + i/20 {
		damaged := bytes.Clone(sent)
		damaged[i] ^= 4
		for _, p := range [][]byte{damaged, sent[:i]} {
			k := create(t, to, 20)
			must(t, errOf(k.Write(p)))
			if k.Close() == nil {
				t.Fatalf("%d bytes, damaged at %d, were kept", len(p), i)
			}
		}
	}
	k := create(t, to, 19)
	must(t, errOf(k.Write(sent)))
	if k.Close() == nil {
		t.Error("a snapshot with more than its index says")
	}
	wantLogs(t, to, newLogs(1, 3)...)
	to = reopen(t, to, dir, small)
	wantLogs(t, to, newLogs(1, 3)...)
	if left, err := os.ReadDir(filepath.Join(dir, "snapshots")); err != nil || len(left) != 1 || left[0].Name() != "reserve" {
		t.Errorf("%v are left, %v", left, err)
	}
}

// What raft deletes while a snapshot is read stays until that has ended.
func TestSnapshots_ReadDuringDeleteRange(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, small)
	store(t, s, newLogs(1, 1000)...)
	want := take(t, s, 900)
	list, err := s.Snapshots().List()
	must(t, err)
	_, r, err := s.Snapshots().Open(list[0].ID)
	must(t, err)
	must(t, s.DeleteRange(1, 800))
	wantLogs(t, s, newLogs(801, 200)...)
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes, %v, want %d", len(got), err, len(want))
	}
	if first := raftlog.NewFSM(s).First(); first != 1 {
		t.Errorf("the stream begins with %d", first)
	}
	must(t, r.Close())
	if first := raftlog.NewFSM(s).First(); first != 801 {
		t.Errorf("the stream begins with %d", first)
	}
	wantLogs(t, s, newLogs(801, 200)...)
}

const restoredEntries = 3000

// childRestore receives a snapshot, restores it, and stores a log entry, until it is killed.
func childRestore(dir string) error {
	sent, err := os.ReadFile(os.Getenv(childRestores))
	if err != nil {
		return err
	}
	s, err := raftlog.Open(dir, small)
	if err != nil {
		return err
	}
	step{What: "open"}.tell("did")
	k, err := s.Snapshots().Create(raft.SnapshotVersionMax, restoredEntries, 1, raft.Configuration{}, 1, nil)
	if err != nil {
		return err
	}
	if _, err := k.Write(sent); err != nil {
		return err
	}
	if err := k.Close(); err != nil {
		return err
	}
	step{What: "close"}.tell("did")
	_, r, err := s.Snapshots().Open(k.ID())
	if err != nil {
		return err
	}
	if err := raftlog.NewFSM(s).Restore(r); err != nil {
		return err
	}
	if err := s.StoreLog(newLog(restoredEntries + 1)); err != nil {
		return err
	}
	step{What: "store"}.tell("did")
	select {}
}

// A process that restores a snapshot is killed at a random moment. The store is what it was
// before, or the snapshot.
func TestSnapshots_Killed(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "js" || runtime.GOOS == "wasip1" {
		t.Skip("no processes on this platform")
	}
	from := open(t, t.TempDir(), small)
	logs := newLogs(1, restoredEntries)
	store(t, from, logs...)
	name := filepath.Join(t.TempDir(), "sent")
	must(t, os.WriteFile(name, take(t, from, restoredEntries), 0o600))
	rounds := *kills
	if testing.Short() {
		rounds = min(rounds, 3)
	}
	for round := range rounds {
		dir := t.TempDir()
		s := open(t, dir, small)
		old := newLogs(1, 100)
		store(t, s, old...)
		must(t, s.Close())
		reached := ""
		for _, st := range runAndKill(t, dir, time.Duration(round*7919%60_000)*time.Microsecond, childRestores+"="+name) {
			reached = st.What
		}
		s = open(t, dir, small)
		last, err := s.LastIndex()
		must(t, err)
		what := fmt.Sprintf("round %d, after %s: last index %d", round, reached, last)
		switch {
		case last == 100 && reached == "open":
			wantLogs(t, s, old...)
		case last == 0 && reached != "store":
			wantEvents(t, s, logs)
			store(t, s, newLog(restoredEntries+1))
		case last == restoredEntries+1 && reached != "open":
			wantLogs(t, s, newLog(restoredEntries+1))
		default:
			t.Fatal(what)
		}
		s.Close()
	}
}

// What follows the index takes no room in what is sent.
func TestSnapshots_Size(t *testing.T) {
	t.Parallel()
	short, long := open(t, t.TempDir(), small), open(t, t.TempDir(), small)
	store(t, short, newLogs(1, 100)...)
	store(t, long, newLogs(1, 2000)...)
	want, got := take(t, short, 100), take(t, long, 100)
	if len(got) > 2*len(want) {
		t.Errorf("%d bytes for %d", len(got), len(want))
	}
	to := open(t, t.TempDir(), small)
	_, r, err := to.Snapshots().Open(receive(t, to, 100, got))
	must(t, err)
	must(t, raftlog.NewFSM(to).Restore(r))
	wantEvents(t, to, newLogs(1, 100))
}

// An old snapshot that cannot be read is skipped with a warning, and replaced by the next ones.
func TestSnapshots_OldUnreadable(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(string) error{
		"empty":   func(name string) error { return os.Truncate(name, 0) },
		"damaged": func(name string) error { return os.WriteFile(name, []byte(`{"Index":"x"}`), 0o666) },
		"missing": os.Remove,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var warnings bytes.Buffer
			o := raftlog.Options{
				SegmentSize: small.SegmentSize,
				Logger:      hclog.New(&hclog.LoggerOptions{Output: &warnings, Level: hclog.Warn}),
			}
			dir := t.TempDir()
			s := open(t, dir, o)
			logs := newLogs(1, 120)
			store(t, s, logs[:100]...)
			take(t, s, 50)
			old, err := s.Snapshots().List()
			must(t, err)
			take(t, s, 100)
			must(t, damage(filepath.Join(dir, "snapshots", old[0].ID, "meta.json")))
			list := func(indexes ...uint64) {
				t.Helper()
				list, err := s.Snapshots().List()
				var got []uint64
				for _, m := range list {
					got = append(got, m.Index)
				}
				if err != nil || !slices.Equal(got, indexes) {
					t.Errorf("snapshots %d, %v, want %d", got, err, indexes)
				}
			}
			list(100)
			if !strings.Contains(warnings.String(), old[0].ID) {
				t.Errorf("no warning of %s: %q", old[0].ID, &warnings)
			}
			warnings.Reset()
			s = reopen(t, s, dir, o)
			if !strings.Contains(warnings.String(), old[0].ID) {
				t.Errorf("Open does not warn of %s: %q", old[0].ID, &warnings)
			}
			wantLogs(t, s, logs[:100]...)
			list(100)
			store(t, s, logs[100:]...)
			take(t, s, 120)
			list(120, 100)
		})
	}
}

// Raft does not go back to an older snapshot: the log may lack what follows that.
func TestSnapshots_NewestUnreadable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, small)
	store(t, s, newLogs(1, 100)...)
	take(t, s, 50)
	take(t, s, 100)
	list, err := s.Snapshots().List()
	must(t, err)
	must(t, os.Truncate(filepath.Join(dir, "snapshots", list[0].ID, "meta.json"), 0))
	if list, err := s.Snapshots().List(); err == nil {
		t.Errorf("List: %d snapshots and no error", len(list))
	}
	must(t, s.Close())
	if s, err := raftlog.Open(dir, small); err == nil {
		s.Close()
		t.Error("Open: no error")
	}
}

// A snapshot that the leader sends removes one that cannot be read and may be newer.
func TestSnapshots_UnreadableThenSent(t *testing.T) {
	t.Parallel()
	from := open(t, t.TempDir(), small)
	logs := newLogs(1, 100)
	store(t, from, logs...)
	sent := take(t, from, 90)
	dir := t.TempDir()
	o := raftlog.Options{SegmentSize: small.SegmentSize, Logger: hclog.NewNullLogger()}
	to := open(t, dir, o)
	store(t, to, logs...)
	take(t, to, 50)
	old, err := to.Snapshots().List()
	must(t, err)
	take(t, to, 80)
	must(t, os.Truncate(filepath.Join(dir, "snapshots", old[0].ID, "meta.json"), 0))
	_, r, err := to.Snapshots().Open(receive(t, to, 90, sent))
	must(t, err)
	must(t, raftlog.NewFSM(to).Restore(r))
	to = reopen(t, to, dir, o)
	wantEvents(t, to, logs[:90])
	if list, err := to.Snapshots().List(); err != nil || len(list) == 0 || list[0].Index != 90 {
		t.Error(list, err)
	}
}

// Entries that were stored after a snapshot was sent, and not restored, stay if Open cannot read what the log has there.
func TestOpen_SentAndUnreadable(t *testing.T) {
	t.Parallel()
	from := open(t, t.TempDir(), small)
	logs := newLogs(1, 1000)
	store(t, from, logs[:13]...)
	sent := take(t, from, 13)
	dir := t.TempDir()
	to := open(t, dir, small)
	store(t, to, logs[:12]...)
	receive(t, to, 13, sent)
	for part := range slices.Chunk(logs[12:], 52) {
		store(t, to, part...)
	}
	must(t, to.Close())

	r, err := eventlog.OpenStreamReader(filepath.Join(dir, "log"))
	must(t, err)
	e, err := r.Get(13)
	must(t, err)
	must(t, r.Close())
	segments, err := filepath.Glob(filepath.Join(dir, "log", "*.log"))
	if err != nil || len(segments) < 2 {
		t.Fatal(segments, err)
	}
	flip := func() {
		b, err := os.ReadFile(segments[0])
		must(t, err)
		b[e.Offset] ^= 1
		must(t, os.WriteFile(segments[0], b, 0o666))
	}
	flip()
	if s, err := raftlog.Open(dir, small); err == nil {
		last, err := s.LastIndex()
		t.Errorf("no error: the log ends with %d, %v", last, err)
		s.Close()
	}
	flip()
	wantLogs(t, open(t, dir, small), logs...)
}

// A clock that was set back between two snapshots of one index does not make the older one the newest.
func TestSnapshots_ClockSetBack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, raftlog.Options{})
	store(t, s, newLogs(1, 100)...)
	take(t, s, 50)
	list, err := s.Snapshots().List()
	must(t, err)
	snapshots := filepath.Join(dir, "snapshots")
	old := list[0].ID
	future := old[:42] + "1" + strings.Repeat("9", 18) // the clock was ahead when it was taken
	must(t, os.Rename(filepath.Join(snapshots, old), filepath.Join(snapshots, future)))
	name := filepath.Join(snapshots, future, "meta.json")
	b, err := os.ReadFile(name)
	must(t, err)
	must(t, os.WriteFile(name, bytes.ReplaceAll(b, []byte(old), []byte(future)), 0o666))
	k := create(t, s, 50)
	snapshot, err := raftlog.NewFSM(s).Snapshot()
	must(t, err)
	must(t, snapshot.Persist(k))
	must(t, k.Close())
	if list, err = s.Snapshots().List(); err != nil || len(list) != 2 || list[0].ID != k.ID() {
		t.Errorf("the newest is %s, %v, want %s", list[0].ID, err, k.ID())
	}
}
