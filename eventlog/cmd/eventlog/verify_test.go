package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.dw1.io/mmapfile/eventlog"
)

// Events 0 and 1, 2 and 3, 4 and 5 each have a segment.
var six = []string{"event zero", "event one", "event two", "event 3", "event 4", "event 5"}

const (
	segment0 = "00000000000000000000.log"
	segment2 = "00000000000000000002.log"
	segment4 = "00000000000000000004.log"
)

func TestVerify_Log(t *testing.T) {
	t.Parallel()
	name := newLog(t, six...)
	want(t, 0, "PATH: 6 events, 49 bytes of data; damaged places: 0\n", name, "verify")
	damageAt(t, name, 24+26+16) // the data of event 1
	want(t, 1, `PATH: damaged at offset 50: checksum does not match
PATH: 1 events, 10 bytes of data; damaged places: 1
`, name, "verify")
	want(t, 1, `{"path":"PATH","offset":50,"error":"checksum does not match"}
{"path":"PATH","segments":1,"fileBytes":189,"first":24,"next":169,"events":1,"bytes":10,"minData":10,"maxData":10,"oldest":"2023-11-14T22:13:22Z","newest":"2023-11-14T22:13:22Z","damage":1}
`, name, "verify", "-json")
}

func TestVerify_Stream(t *testing.T) {
	t.Parallel()
	dir := newStream(t, six...)
	want(t, 0, "PATH: 6 events, 49 bytes of data; damaged places: 0\n", dir, "verify")
	damageAt(t, filepath.Join(dir, segment0), -1)
	damageAt(t, filepath.Join(dir, segment4), 24+16)
	want(t, 1, `PATH/`+segment0+`: damaged at offset 50: event 1: checksum does not match
PATH/`+segment4+`: damaged at offset 24: event 4: checksum does not match
PATH: 3 events, 26 bytes of data; damaged places: 2
`, dir, "verify")
}

func TestVerify_JSONOfStream(t *testing.T) {
	t.Parallel()
	want(t, 0, `{"path":"PATH","segments":1,"fileBytes":44,"first":24,"next":24,"events":0,"bytes":0,"minData":0,"maxData":0,"damage":0}
`, newLog(t), "verify", "-json")
	dir := newStream(t, six...)
	damageAt(t, filepath.Join(dir, segment2), 24+16)
	code, out, _ := call(t, dir, "verify", "-json")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	var f figures
	must(t, json.Unmarshal([]byte(lines[len(lines)-1]), &f))
	if code != 1 || len(lines) != 2 || f.Segments != 3 || f.Events != 4 || f.Next != 6 || f.Files != 3*(24+markSize)+6*16+49 || f.Damage != 1 {
		t.Errorf("exit code %d\n%s", code, out)
	}
}

func TestRepair_Log(t *testing.T) {
	t.Parallel()
	name := newLog(t, six...)
	want(t, 0, "PATH: 6 events, nothing was truncated\n", name, "repair")
	damageAt(t, name, 24+26+16)
	if _, err := eventlog.Open(name, eventlog.Options{}); err == nil {
		t.Fatal("Open accepts the damage")
	}
	want(t, 0, "PATH: 1 events, truncated at offset 50, 5 events from there on are saved in PATH.cut-50\n", name, "repair")
	want(t, 0, `{"path":"PATH","events":1,"offset":50,"truncatedBytes":0,"truncatedEvents":0}`+"\n", name, "repair", "-json")
	want(t, 0, "event zero\n", name, "dump", "-raw")
}

func TestRepair_Locked(t *testing.T) {
	t.Parallel()
	dir := newStream(t, six...)
	s, err := eventlog.OpenStream(dir, eventlog.StreamOptions{})
	must(t, err)
	defer s.Close()
	if second, err := eventlog.OpenStream(dir, eventlog.StreamOptions{}); err == nil {
		second.Close()
		t.Skip("this system has no locks")
	}
	if code, out, errs := call(t, dir, "repair"); code != 1 || out != "" || !strings.Contains(errs, eventlog.ErrLocked.Error()) {
		t.Errorf("exit code %d, %q, %q", code, out, errs)
	}
}

func TestRepair_LastSegment(t *testing.T) {
	t.Parallel()
	dir := newStream(t, six...)
	damageAt(t, filepath.Join(dir, segment4), 24+16)
	want(t, 0, `PATH/`+segment4+`: 0 events, truncated at offset 24, 2 events from there on are saved in PATH/`+segment4+`.cut-24
PATH: 4 events are left; truncated or set aside: 2
`, dir, "repair")
	want(t, 0, "PATH: 4 events, 35 bytes of data; damaged places: 0\n", dir, "verify")
}

// A crash has left a part of the last event.
func TestRepair_TornTail(t *testing.T) {
	t.Parallel()
	dir := newStream(t, six...)
	last := filepath.Join(dir, segment4)
	must(t, os.Truncate(last, 24+23+20))
	want(t, 0, `{"path":"PATH/`+segment4+`","events":1,"offset":47,"truncatedBytes":23,"truncatedEvents":1}
{"path":"PATH","events":5,"offset":0,"truncatedBytes":0,"truncatedEvents":1}
`, dir, "repair", "-json")
	must(t, os.Truncate(last, 24+10))
	want(t, 0, `PATH/`+segment4+`: 0 events, truncated at offset 24, 1 events from there on are saved in PATH/`+segment4+`.cut-24
PATH: 4 events are left; truncated or set aside: 1
`, dir, "repair")
}

// Damage that a writer does not meet stays, and is reported.
func TestRepair_OldSegment(t *testing.T) {
	t.Parallel()
	dir := newStream(t, six...)
	damageAt(t, filepath.Join(dir, segment0), 24+16)
	want(t, 1, `PATH: 6 events, nothing was truncated
PATH/`+segment0+`: damaged at offset 24: event 0: checksum does not match
`, dir, "repair")
}

// A header that is damaged has all of the file saved.
func TestRepair_Header(t *testing.T) {
	t.Parallel()
	name := newLog(t, six...)
	whole := files(t, name)["a.log"]
	damageAt(t, name, 0) // WriteOffset is inside an event then
	want(t, 0, "PATH: 6 events, the header was damaged; all of the file as it was is saved in PATH.cut-0\n", name, "repair")
	if all := files(t, name); all["a.log"] != whole || len(all["a.log.cut-0"]) != len(whole) {
		t.Errorf("files: %q", all)
	}
}

// A segment before the last has lost its end, and the last was flushed.
func TestRepair_Gap(t *testing.T) {
	t.Parallel()
	dir := newStream(t, six...)
	cut, kept := filepath.Join(dir, segment2), filepath.Join(dir, segment4)
	damageAt(t, cut, -1)
	if _, err := eventlog.Repair(cut); err != nil {
		t.Fatal(err)
	}
	whole := files(t, dir)[segment4]
	if _, err := eventlog.OpenStream(dir, eventlog.StreamOptions{}); err == nil {
		t.Fatal("OpenStream accepts the gap")
	}
	want(t, 0, `PATH/`+segment2+`: 1 events, nothing was truncated
PATH/`+segment4+`: renamed to PATH/`+segment4+`.cut-0 with 2 events
PATH: 3 events are left; truncated or set aside: 2
`, dir, "repair")
	want(t, 0, "PATH: 3 events, 28 bytes of data; damaged places: 0\n", dir, "verify")
	if files(t, dir)[filepath.Base(kept)+".cut-0"] != whole {
		t.Error("the last segment was not kept")
	}
}

// A size that is damaged hides no event before it.
func TestVerify_DamagedSize(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	s, err := eventlog.OpenStream(dir, eventlog.StreamOptions{Options: eventlog.Options{Now: ticks()}})
	must(t, err)
	push(t, s, six...)
	must(t, s.Close())
	damageAt(t, filepath.Join(dir, segment0), 24+26+25+25+9) // the size of event 3
	want(t, 1, `PATH/`+segment0+`: damaged at offset 100: event 3: event goes past the end of the log
PATH: 3 events, 28 bytes of data; damaged places: 1
`, dir, "verify")
	code, out, errs := call(t, dir, "dump", "-raw")
	if code != 1 || out != "event zero\nevent one\nevent two\n" || !strings.Contains(errs, "offset 100: event 3:") {
		t.Errorf("exit code %d, %q, %q", code, out, errs)
	}
	if code, out, _ := call(t, dir, "tail", "-raw", "-n=2"); code != 1 || out != "event one\nevent two\n" {
		t.Errorf("tail: exit code %d, %q", code, out)
	}
	if code, _, errs := call(t, dir, "dump", "-from=5"); code != 1 || !strings.Contains(errs, "offset 100: event 3:") {
		t.Errorf("dump from a later event: exit code %d, %q", code, errs)
	}
}

// A WriteOffset that is too large hides no event, and none of the next segment.
func TestVerify_DamagedWriteOffset(t *testing.T) {
	t.Parallel()
	dir := newStream(t, six...)
	damageAt(t, filepath.Join(dir, segment2), 1)
	want(t, 1, `PATH/`+segment2+`: damaged at offset 72: event 4: unexpected EOF
PATH: 6 events, 49 bytes of data; damaged places: 1
`, dir, "verify")
}
