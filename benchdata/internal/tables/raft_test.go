package tables

import (
	"fmt"
	"regexp"
	"testing"

	"go.dw1.io/mmapfile/benchdata/internal/results"
	"go.dw1.io/mmapfile/benchdata/internal/results/resultstest"
)

// raftSample is a run in which raftlog takes half of raft-wal's time.
func raftSample() string {
	text := "date: 2026-01-02T03:04:05Z\nfs: ext4\n"
	figure := regexp.MustCompile("/figure=(p50|p99)$")
	for _, r := range raftRows {
		unit := "ns/op"
		if m := figure.FindStringSubmatch(r.row); m != nil {
			unit = m[1] + "-ns"
		}
		for impl, ns := range map[string]int{"raftlog": 1000, "raft-wal": 2000, "raft-boltdb": 5000} {
			text += fmt.Sprintf("Benchmark%s%s/impl=%s-2 1 %d %s\n", results.RaftRows, figure.ReplaceAllString(r.row, ""), impl, ns, unit)
		}
	}
	return text
}

func TestRaft_Page(t *testing.T) {
	file, page := oldPages(t, raftSample(), raftBlock)
	putBlocks(t, file)
	resultstest.Contains(t, page(raftBlock), "| `StoreLogs` of 64 × 1 KiB, p99 | 1 µs | 2 µs | 5 µs | 0.50 |\n", "| raft/bench `Get` | 1 µs |", "`make raftlog` on 2026-01-02")
	if _, err := renderRaft(resultstest.Parse(t, regexp.MustCompile("(?m)^.*DeleteRange.*\n").ReplaceAllString(raftSample(), ""))); err == nil {
		t.Error("a run without a row is published")
	}
	resultstest.Contains(t, printed(t, resultstest.Parse(t, raftSample())), "GetLog, first\t1 µs\t2 µs\t5 µs\t0.50\n")
}
