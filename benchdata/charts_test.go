package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestChartsAreTheSameEachTimeAndWellFormed(t *testing.T) {
	res := parse(t, everything()+rounds("Policy/state=hot-64B", 1, 2, 3)+rounds("ReadAtGoroutines/goroutines=1", 9))
	for _, ch := range charts {
		first, err := ch.figure(res).draw(res)
		if err != nil {
			t.Fatal(err)
		}
		again, err := ch.figure(res).draw(res)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(first, again) {
			t.Errorf("%s is another picture each time", ch.file)
		}
		d := xml.NewDecoder(bytes.NewReader(first))
		for err = nil; err == nil; {
			_, err = d.Token()
		}
		if !errors.Is(err, io.EOF) {
			t.Errorf("%s: %v", ch.file, err)
		}
		for _, want := range []string{"prefers-color-scheme: dark", "sans-serif", "medians of 1 rounds", "ext4"} {
			if !bytes.Contains(first, []byte(want)) {
				t.Errorf("%s: %q is missing", ch.file, want)
			}
		}
	}
}

func TestChartsOfASelectionAreDrawn(t *testing.T) {
	res := parse(t, sample)
	for _, ch := range charts {
		if _, err := ch.figure(res).draw(res); err != nil {
			t.Errorf("%s: %v", ch.file, err)
		}
	}
}

func TestBytesOf(t *testing.T) {
	for size, want := range map[string]float64{"64B": 64, "1KB": 1 << 10, "10MB": 10 << 20, "1GB": 1 << 30} {
		if got := bytesOf(size); got != want {
			t.Errorf("%s is %v bytes", size, got)
		}
	}
}

func TestStaleArtifactFailsTheCheck(t *testing.T) {
	a := artifact{filepath.Join(t.TempDir(), "charts", "a.svg"), []byte("<svg/>")}
	if err := a.put(true); err == nil {
		t.Error("check passes without the file")
	}
	if err := a.put(false); err != nil {
		t.Fatal(err)
	}
	if err := a.put(true); err != nil {
		t.Error(err)
	}
	a.text = []byte("<svg></svg>")
	if err := a.put(true); err == nil {
		t.Error("check passes for an old file")
	}
}

func TestPoliciesHaveAPageAndAPicture(t *testing.T) {
	dir := t.TempDir()
	res := parse(t, "fs: ext4\n"+rounds("Policy/state=hot-64B", 25))
	if list, err := pictures(res, dir); err != nil || len(list) != len(charts) {
		t.Errorf("%d files without a policy, %v", len(list), err)
	}
	if err := os.Mkdir(filepath.Join(dir, "policies"), 0o755); err != nil {
		t.Fatal(err)
	}
	raw := "policy: always\nwhy: it reads each page first\nfs: ext4\n" + rounds("Policy/state=hot-64B", 30)
	file := filepath.Join(dir, "policies", "always.txt")
	if err := os.WriteFile(file, []byte(raw), 0o644); err != nil {
		t.Fatal(err)
	}
	list, err := pictures(res, dir)
	if err != nil || len(list) != len(charts)+2 {
		t.Fatalf("%d files with a policy, %v", len(list), err)
	}
	for _, want := range []string{"| state | mmapfile | always |\n", "| `hot-64B` | 0.25 | 0.30 |\n", "- always: it reads each page first (ext4, "} {
		if !strings.Contains(string(list[0].text), want) {
			t.Errorf("%q is missing in\n%s", want, list[0].text)
		}
	}
	if err := os.WriteFile(file, []byte(sample), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := pictures(res, dir); err == nil {
		t.Error("no error for results without a policy")
	}
}

func TestOtherFileSystemsHaveAPage(t *testing.T) {
	dir := t.TempDir()
	res := parse(t, "fs: ext4\n"+rounds("Policy/state=hot-64B", 25))
	if err := os.Mkdir(filepath.Join(dir, systemsDir), 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, systemsDir, "xfs.txt")
	huge := "fs: ext4\nhuge: 13 GiB\n" + rounds("Policy/state=huge-once-1MB", 40)
	if err := os.WriteFile(filepath.Join(dir, systemsDir, "huge.txt"), []byte(huge), 0o644); err != nil {
		t.Fatal(err)
	}
	raw := "fs: xfs\ncommit: 1234\nkernel: Linux 7\ndate: 2026-01-02T03:04:05Z\n" + rounds("Policy/state=hot-64B", 30) + rounds("Policy/state=once-4KB", 50)
	if err := os.WriteFile(file, []byte(raw), 0o644); err != nil {
		t.Fatal(err)
	}
	list, err := pictures(res, dir)
	if err != nil || len(list) != len(charts)+1 {
		t.Fatalf("%d files with a file system, %v", len(list), err)
	}
	for _, want := range []string{
		"| state | ext4 | ext4, a file of 13 GiB | xfs |\n", "| `hot-64B` | 0.25 (1.04) | – | 0.30 (1.04) |\n",
		"| `once-4KB` | – | – | 0.50 (1.04) |\n", "| `huge-once-1MB` | – | 0.40 (1.04) | – |\n",
		"; xfs: 1 rounds at commit 1234 on 2026-01-02, Linux 7.\n",
	} {
		if !strings.Contains(string(list[0].text), want) {
			t.Errorf("%q is missing in\n%s", want, list[0].text)
		}
	}
	if err := os.WriteFile(file, []byte(rounds("Policy/state=hot-64B", 30)), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := pictures(res, dir); err == nil {
		t.Error("no error for results without a file system")
	}
}

// Several policies in one run have a key for it; the rows of the peers in Rust have the same key,
// and are not meant.
func TestAPolicyStandsInForMmapfile(t *testing.T) {
	res := parse(t, "BenchmarkPolicy/policy=never/state=a/impl=mmapfile-2 1 50 ns/op\n"+
		"BenchmarkPolicy/policy=never/state=a/impl=os-2 1 100 ns/op\n"+
		"BenchmarkWritePolicy/policy=none/impl=mmapfile-2 1 7 ns/op\n")
	if r := res.ratio("Policy/state=a", "never", "os"); r != 0.5 {
		t.Errorf("ratio %v", r)
	}
	if got := res.policiesWithin(res.rows); len(got) != 1 || got[0] != "never" {
		t.Errorf("policies %q", got)
	}
	if res.median("WritePolicy/policy=none", "mmapfile") == 0 {
		t.Error("a row of the peers is lost")
	}
}
