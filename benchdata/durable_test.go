package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReportDurable_Demands(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "durable.txt")
	raw := "fs: ext4\n"
	for row, ns := range map[string]string{
		"goroutines=1/batch=1/size=1024/way=bare":      "100000",
		"goroutines=1/batch=1/size=1024/way=raft-wal":  "90000",
		"goroutines=1/batch=1/size=1024/way=eventlog":  "110000",
		"goroutines=16/batch=1/size=1024/way=eventlog": "20000",
	} {
		raw += "BenchmarkDurable/" + row + " 100 " + ns + " ns/op\n"
	}
	if err := os.WriteFile(name, []byte(raw), 0o600); err != nil {
		t.Fatal(err)
	}
	res, err := readResults(name)
	if err != nil || !res.ofDurable() {
		t.Fatalf("%v, %v", res, err)
	}
	var out strings.Builder
	if err := reportDurable(&out, res); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"one goroutine, of bare: 1.10, at most 1.10: met\n",
		"one goroutine, of raft-wal: 1.22, at most 1.05: missed\n",
		"one goroutine, of 16: 5.50, at least 5.00: met\n",
	} {
		if !strings.Contains(out.String(), line) {
			t.Errorf("no %q in:\n%s", line, out.String())
		}
	}
	if strings.Contains(out.String(), "batches") {
		t.Errorf("a demand that was not measured:\n%s", out.String())
	}
}
