package tables

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"go.dw1.io/mmapfile/benchdata/internal/results/resultstest"
)

// eventsSample is a run in which a message takes each way a number of nanoseconds, of which a fresh
// file is twice as much, and a record 1,000 divided by its buffer's place, but for WriteAt.
func eventsSample() string {
	var b strings.Builder
	b.WriteString("date: 2026-01-02T03:04:05Z\nfs: ext4\ncpu: EPYC\n")
	line := func(round int, name string, ns float64) {
		fmt.Fprintf(&b, "Benchmark%s-2 \t 1\t %.0f ns/op\n", name, ns*[]float64{1, 5, 0.9}[round])
	}
	ways := map[string]float64{"standard": 10_000, "channel": 2_000, "bufio": 1_000, "bare": 250, "eventlog": 200,
		"eventlog-two": 250, "limit": 150}
	for round := range 3 {
		for _, v := range []struct{ messages, size int }{{10_000, 64}, {10_000, 1024}, {1 << 20, 1024}} {
			row := fmt.Sprintf("messages=%d/size=%d", v.messages, v.size)
			for _, w := range eventWays {
				ns := ways[w.way] * float64(v.messages)
				if w.way != "" && w.way != "limit" {
					line(round, "Events/"+row+"/pass=fresh/way="+w.way, 2*ns)
				}
				if w.way != "" {
					line(round, "Events/"+row+"/pass=later/way="+w.way, ns)
				}
			}
			line(round, "EventsRead/"+row+"/way=eventlog", float64(100*v.messages))
			line(round, "EventsRead/"+row+"/way=crc32", float64(60*v.messages))
		}
		for i, buffer := range []string{"none", "1KB", "8KB"} {
			row, n := "Records/file=10MB/pass=later/record=100B/buffer="+buffer, float64(10<<20/100)
			line(round, row+"/way=writeat", 10*n)
			line(round, row+"/way=bufio", 1000/float64(i+1)*n)
			if buffer == "none" {
				line(round, row+"/way=map", 7*n)
			} else {
				line(round, row+"/way=map/reading=corrected", 8*n)
				line(round, row+"/way=map/reading=asPublished", float64(5-i)*n)
			}
		}
	}
	return b.String()
}

func TestReportEvents(t *testing.T) {
	res := resultstest.Parse(t, eventsSample())
	text := printed(t, res)
	resultstest.Contains(t, text,
		"thousand messages a second, later passes\t10,000 × 64 bytes\t10,000 × 1 KiB\t1 GiB of 1 KiB\tpublished\n",
		"standard: a Write for each\t50.0\t50.0\t50.0\t104\n",
		"standard: a Write for each\t100\t100\t100\t104\n",
		"the same in Zig\t5649\n",
		"eventlog\t5000\t5000\t5000",
		"Events, verified\t0.64\t10.2\t10.2\n",
		"later passes: rate / buffered\t5.00\t5.00\t5.00\n",
		"later passes: rate / the bare mapped loop\t1.25\t1.25\t1.25\n",
		"later passes: time / the limit\t1.33\t1.33\t1.33\n",
		"first pass: rate / buffered\t5.00\t5.00\t5.00\n",
		"later passes: two goroutines / one\t0.80\t0.80\t0.80\n",
		"reading back: speed / crc32\t0.60\t0.60\t0.60\n",
		"by the buffer\tnone\t1 KiB\t8 KiB\n",
		"100 bytes, later pass over 10 MiB: Write, with bufio\t1000\t500\t333\n",
		"100 bytes, later pass over 10 MiB: bare mapping, corrected\t7.00\t8.00\t8.00\n",
		"Medians of 3 rounds or more; ext4",
	)
}

// A selection of rows is printed, too.
func TestReportEvents_Selection(t *testing.T) {
	records := strings.Join(regexp.MustCompile("(?m)^BenchmarkRecords.*\n").FindAllString(eventsSample(), -1), "")
	if text := printed(t, resultstest.Parse(t, records)); !strings.Contains(text, "by the buffer\tnone") || strings.Contains(text, "messages a second") {
		t.Errorf("unexpected text:\n%s", text)
	}
}

func TestReadmeEvents(t *testing.T) {
	file, page := oldPages(t, eventsSample(), eventsBlock)
	putBlocks(t, file)
	text := page(eventsBlock)
	resultstest.Contains(t, text,
		"before events\n"+eventsBlock.begin()+"| thousand messages a second, first pass",
		"|---|--:|--:|--:|--:|\n| standard: a `Write` for each | 50.0 | 50.0 | 50.0 | 104 |\n",
		"| later passes: two goroutines / one | 0.80 | 0.80 | 0.80 |\n",
		"\n\n`make events` on 2026-01-02: medians of 3 interleaved rounds at commit unknown; EPYC",
	)

	without := func(pattern string) string {
		return regexp.MustCompile("(?m)^.*"+pattern+".*\n").ReplaceAllString(eventsSample(), "")
	}
	for what, text := range map[string]string{
		"a way without results":  without("/pass=later/way=bare"),
		"reading back":           without("EventsRead/.*/way=eventlog"),
		"records":                without("Records/"),
		"records in the mapping": without("Records/.*/way=map"),
		"later passes":           without("Events/.*/pass=later"),
		"a size that is none":    strings.ReplaceAll(eventsSample(), "/size=64/", "/size=x/"),
		"a record that is none":  strings.ReplaceAll(eventsSample(), "/record=100B/", "/record=x/"),
	} {
		if _, err := renderEvents(resultstest.Parse(t, text)); err == nil {
			t.Errorf("no error for a run that lacks %s", what)
		}
	}
}
