package tables

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.dw1.io/mmapfile/benchdata/internal/results"
	"go.dw1.io/mmapfile/benchdata/internal/results/resultstest"
)

// measured are the raw results that lie in the repository, with lines that match a pattern replaced. The command's tests
// compare the pages with them as they are.
func measured(t *testing.T, name, pattern, replacement string) *results.Set {
	t.Helper()
	file := filepath.Join("..", "..", ResultsDir, name+".txt")
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile("(?m)"+pattern).ReplaceAll(raw, []byte(replacement))
	if pattern != "^$" && bytes.Equal(text, raw) {
		t.Fatalf("%s has no match of %s", name, pattern)
	}
	res, err := results.Parse(bytes.NewReader(text), file)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// printed is what a report prints, with a tab for each run of spaces.
func printed(t *testing.T, res *results.Set) string {
	t.Helper()
	var out bytes.Buffer
	if err := Report(&out, res); err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile(` {2,}`).ReplaceAllString(out.String(), "\t")
}

// No row or way is left out without a reason.
func TestPages_Incomplete(t *testing.T) {
	for name, changes := range map[string][][2]string{
		"reread":     {{"^BenchmarkReread/pages=near/times=20/.*\n", ""}, {"^.*/pages=4096/impl=exp.*\n", ""}},
		"bench-full": {{"^BenchmarkStat/.*\n", ""}, {"^BenchmarkPipe/.*\n", ""}, {"^BenchmarkSliceCopy/.*\n", ""}},
		"cold":       {{"^.*/device=loop/.*\n", ""}, {"^BenchmarkCold/scan/.*\n", ""}, {"^.*/figure=p99/.*\n", ""}},
		"durable": {{"^.*goroutines=16.*/way=tidwall.*\n", ""}, {"^.*batch=16.*\n", ""},
			{"^BenchmarkDurable.*\n", "${0}BenchmarkDurable/goroutines=2/batch=2/size=1024/way=bare-2 1 5 ns/op\n"}},
		"events": {{"^.*/pass=later/way=bare.*\n", ""}, {"^BenchmarkEventsRead/.*/way=eventlog.*\n", ""}, {"^BenchmarkRecords/.*\n", ""},
			{"^BenchmarkRecords/.*/way=map.*\n", ""}, {"^BenchmarkEvents/.*/pass=later.*\n", ""}, {"/size=64/", "/size=x/"}, {"/record=100B/", "/record=x/"}},
		"needle":   {{"^.*/way=mmap-words/.*\n", ""}, {"^size: .*\n", ""}, {"^workers: .*\n", ""}},
		"peers":    {{"^BenchmarkGrow/.*\n", ""}, {"^BenchmarkGrow(.*\n)", "${0}BenchmarkShrink${1}"}},
		"programs": {{"^.*program=tar-list/state=cold.*\n", ""}, {"^scale: 1\n", "scale: 0.01\n"}},
		"raft":     {{"^.*DeleteRange.*\n", ""}},
		"regret":   {{"^program-1: .*\n", ""}},
	} {
		for _, c := range changes {
			if _, err := Pages(measured(t, name, c[0], c[1]), filepath.Join("..", "..")); err == nil {
				t.Errorf("%s with %q for %q is published", name, c[1], c[0])
			}
		}
	}
}

// What cannot be measured on a machine is said to be missing.
func TestPages_Missing(t *testing.T) {
	for _, c := range []struct{ name, pattern, reason, want string }{
		{"cold", "^.*/device=loop/.*\n", "missing-loop: no losetup", "no losetup"},
		{"cold", "^.*Cold/(ticker|larger|sweep|slightly|moving|evicted|.*/memory=).*\n", "missing-group: no cgroup", "no cgroup"},
		{"programs", "^.*state=cold.*\n", "missing-cold: no fadvise", "not in memory: no fadvise.\n"},
		{"needle", "^.*/(state=cold|way=grep)/.*\n", "missing-cold: no mincore\nmissing-grep: no grep", "Not measured: cold; no mincore.\n"},
	} {
		res := measured(t, c.name, c.pattern, "")
		for line := range strings.SplitSeq(c.reason, "\n") {
			key, why, _ := strings.Cut(line, ": ")
			res.Config[key] = why
		}
		made, err := kinds[res.Kind()].pages(res, "")
		if err != nil || !strings.Contains(string(made[0].Text), c.want) {
			t.Errorf("%s without %s: %v in\n%s", c.name, c.pattern, err, made)
		}
	}
}

func TestNeedle_Resident(t *testing.T) {
	for _, c := range []struct{ state, percent, want string }{
		{"cold", "12.50", "Up to 12.5% of the file stayed"},
		{"cold", "99.90", "cold is warm here"},
		{"warm", "50.00", "Before 230 of 230 warm searches a part of the file was not in memory: at most 50.0%"},
	} {
		res := measured(t, "needle", "^(.*/state="+c.state+`/.*\s)\S+ resident-%`, "${1}"+c.percent+" resident-%")
		resultstest.Contains(t, printed(t, res), c.want)
	}
}

// The tables of each kind are printed, too, and those of a part of the rows.
func TestReport_EachKind(t *testing.T) {
	for _, c := range []struct{ name, without, want string }{
		{"bench-full", "^$", "slower than x/exp/mmap|than x/exp/mmap beyond"},
		{"cold", "^$", "\ngoroutines: 4, 99th percentile\t(.*\n)*\nA ticker beside a slow disk\n"},
		{"durable", "^$", "time of eventlog /\tbare loop\tbufio and Sync\traft-wal\ttidwall/wal\none goroutine\t"},
		{"durable", "^.*batch=16.*\n", "one goroutine, batches of 16\t–\t–"},
		{"events", "^BenchmarkEvents.*\n", "(?s)^\nnanoseconds for a record, by the buffer\tnone\t"},
		{"needle", "^$", "counting lines, [0-9]+ workers where in parallel\twarm, GB/s\tspeed-up\n"},
		{"peers", "^$", "\tmmapfile / mmap-io\tmmapfile / memmap2\nwalk through 16 MiB in windows of 4 KiB\t"},
		{"programs", "^$", "archive/tar: list 500 MB\tone process\t"},
		{"raft", "^.*DeleteRange.*\n", "GetLog, first\t.*\n"},
		{"regret", "^$", "variations of losers.\n(.*\n)*.*judged by\t"},
	} {
		if text := printed(t, measured(t, c.name, c.without, "")); !regexp.MustCompile(c.want).MatchString(text) {
			t.Errorf("%s: no %q in\n%s", c.name, c.want, text)
		}
	}
}

// Each figure of a message, of a record and of a search follows from the times.
func TestSections_Arithmetic(t *testing.T) {
	for text, want := range map[string][]string{
		"BenchmarkEvents/messages=10000/size=1024/pass=later/way=bufio 1 10000000 ns/op\n" +
			"BenchmarkEvents/messages=10000/size=1024/pass=later/way=eventlog 1 2000000 ns/op\n" +
			"BenchmarkEvents/messages=10000/size=1024/pass=later/way=limit 1 1000000 ns/op\n" +
			"BenchmarkEventsRead/messages=10000/size=1024/way=eventlog 1 1000000 ns/op\n" +
			"BenchmarkEventsRead/messages=10000/size=1024/way=crc32 1 600000 ns/op\n": {
			"later passes\t10,000 × 1 KiB\tpublished\n", "buffered: bufio\t1000\t1042\n", "\neventlog\t5000\t", "Events, verified\t10.2\n",
			"later passes: rate / buffered\t5.00\n", "later passes: time / the limit\t2.00\n", "reading back: speed / crc32\t0.60\n",
		},
		"BenchmarkRecords/file=1KB/pass=later/record=8B/buffer=none/way=writeat 1 256 ns/op\n" +
			"BenchmarkRecords/file=1KB/pass=later/record=8B/buffer=none/way=bufio 1 512 ns/op\n" +
			"BenchmarkRecords/file=1KB/pass=later/record=8B/buffer=1KB/way=map/reading=corrected 1 128 ns/op\n" +
			"BenchmarkRecords/file=1KB/pass=later/record=8B/buffer=1KB/way=map/reading=asPublished 1 64 ns/op\n": {
			"by the buffer\tnone\t1 KiB\n", "8 bytes, later pass over 1 KiB: WriteAt\t2.00\t–\n", "corrected\t–\t1.00\n", "as published\t–\t0.50\n",
		},
		"size: 1G\nworkers: 2\nBenchmarkNeedle/way=readfile-bytes/state=warm/workers=1 1 2000000000 ns/op\n" +
			"BenchmarkNeedle/way=scan/state=warm/workers=1 1 1000000000 ns/op\nBenchmarkNeedle/way=scan/state=warm/workers=2 1 500000000 ns/op\n": {
			"os.ReadFile, byte by byte\t0.54\t1.00\t–\t–\n", "scan, with opening and mapping\t2.15\t4.00\t", "opening and mapping, warm\t1.07\t2.15\n",
		},
		"BenchmarkGrow/impl=mmapfile 1 200 ns/op\nBenchmarkGrow/impl=mmap-io 1 400 ns/op\nBenchmarkRandomView/size=64B/impl=mmapfile 1 200 ns/op\n" +
			"BenchmarkRandomWindow/size=64B/impl=memmap2 1 100 ns/op\n": {"and back\t200 ns\t400 ns\t–\t0.50\t–\n", "in View\t200 ns\t–\t100 ns\t–\t2.00\n"},
		"program-1: drawn life=90\nprogram-2: mutated life=96\n" + strings.Repeat("BenchmarkRegret/program=1/figure=cpu/impl=os 1 1000 ns/op\n"+
			"BenchmarkRegret/program=1/figure=cpu/impl=os-again 1 1010 ns/op\nBenchmarkRegret/program=1/figure=cpu/impl=mmapfile 1 1200 ns/op\n"+
			"BenchmarkRegret/program=2/figure=cpu/impl=os 1 1000 ns/op\nBenchmarkRegret/program=2/figure=cpu/impl=os-again 1 1010 ns/op\n"+
			"BenchmarkRegret/program=2/figure=cpu/impl=mmapfile 1 1300 ns/op\n", 7): {
			"CPU time, mmapfile\t1.20\t1.20\t", "1 of 1 programs that were drawn, and 1 of 1 variations of losers", "\nlife=96\tcpu\t1.30\t1.01\t7\nlife=90\t",
		},
	} {
		resultstest.Contains(t, printed(t, resultstest.Parse(t, text)), want...)
	}
}

// A difference that may be an accident is not in bold.
func TestSignificant_Bold(t *testing.T) {
	for rounds, want := range map[int]string{7: "**1.20**", 3: "1.20"} {
		times := []float64{120, 121.2, 122.4, 123.6, 124.8, 126, 127.2}[:rounds]
		if got := significant(resultstest.Parse(t, resultstest.Rounds("A", times...)), "A", "mmapfile", "os"); got != want {
			t.Errorf("%d rounds: %s, want %s", rounds, got, want)
		}
	}
}

// What is compared is of one run: the noise of an earlier one does not hide that a row is slower.
func TestCold_TwoRuns(t *testing.T) {
	const row = "Cold/life/reads=1"
	rounds := resultstest.Rounds(row, 120, 121, 122, 123, 124, 125, 126)
	earlier := regexp.MustCompile("1[0-9][0-9] ns").ReplaceAllString(strings.ReplaceAll(rounds, row, "Cold/life/reads=0"), "100 ns")
	earlier = strings.ReplaceAll(earlier, "os-again-2 1 100 ns", "os-again-2 1 300 ns")
	resultstest.Contains(t, printed(t, resultstest.Parse(t, "date: a\n"+earlier+"date: b\n"+rounds)), "open and close\t100 ns\t100 ns\t1.00\t3.00\n", "64 KiB\t103 ns\t123 ns\t1.19\t1.04\n")
	list, err := coldSections(resultstest.Parse(t, "date: a\n"+earlier+"date: b\n"+rounds))
	if err != nil || len(list) != 1 || list[0].grid[2][3] != "**1.19**" {
		t.Errorf("%v, %v", list, err)
	}
}

func TestALostRowIsSlowerThanTheNoiseAndSignificantly(t *testing.T) {
	res := resultstest.Parse(t, resultstest.Rounds("Slow", 120, 121, 122, 123, 124)+
		resultstest.Rounds("Noise", 103, 104, 105, 106, 107)+
		resultstest.Rounds("Accident", 90, 95, 130, 131, 99)+
		resultstest.Rounds("Worse", 150, 151, 152, 153, 154)+
		resultstest.Rounds("Fast", 50, 51, 52, 53, 54))
	want := "Of 5 rows, mmapfile is faster than `os.File` beyond the noise in 1, and slower in 2: `Worse` (1.49), `Slow` (1.20)."
	if got := lostText(res, "os", 0); got != want {
		t.Errorf("%s\nwant: %s", got, want)
	}
	if got, want := verdict(res, "os", res.Rows, 0, nil), "in 1, and slower in 2."; !strings.HasSuffix(got, want) {
		t.Errorf("%s\nwant: %s", got, want)
	}
	if got := lostText(res, "os", 1); !strings.HasSuffix(got, "`Worse` (1.49), and 1 more.") {
		t.Error(got)
	}
}

func TestBlock_Replace(t *testing.T) {
	b := block{name: "bench"}
	got, err := b.replace([]byte("before\n"+b.begin()+"old\n"+b.end()+"after\n"), "new\n")
	if want := "before\n" + b.begin() + "new\n" + b.end() + "after\n"; err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
	for _, text := range []string{"no marks\n", b.begin()} {
		if _, err := b.replace([]byte(text), "new\n"); err == nil {
			t.Errorf("no error for %q", text)
		}
	}
	if _, err := Pages(measured(t, "durable", "^$", ""), t.TempDir()); err == nil {
		t.Error("no error without a page")
	}
}

func TestArtifact_StaleFailsTheCheck(t *testing.T) {
	a := Artifact{filepath.Join(t.TempDir(), "charts", "a.svg"), []byte("<svg/>")}
	if err := a.Put(true); err == nil {
		t.Error("check passes without the file")
	}
	if err := a.Put(false); err != nil {
		t.Fatal(err)
	}
	if err := a.Put(true); err != nil {
		t.Error(err)
	}
	a.Text = []byte("<svg></svg>")
	if err := a.Put(true); err == nil {
		t.Error("check passes for an old file")
	}
}

func TestPays_ReasonForEachProgram(t *testing.T) {
	for _, name := range programNames(measured(t, "programs", "^$", "")) {
		if programReasons[name] == "" {
			t.Errorf("%s has no reason", name)
		}
	}
}
