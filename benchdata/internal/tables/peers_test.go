package tables

import (
	"fmt"
	"strings"
	"testing"

	"go.dw1.io/mmapfile/benchdata/internal/results/resultstest"
)

// peersSample is a run in which mmapfile needs 200 ns in each row, mmap-io 400 and memmap2 100.
// Grow is not for memmap2, and RandomView for neither.
func peersSample() string {
	text := "date: 2026-01-02T03:04:05Z\nfs: ext4\nrustc: 1.95.0\nmmap-io: 1.1.0\nmemmap2: 0.9.12\n"
	for _, r := range peerRows {
		text += fmt.Sprintf("Benchmark%s/impl=mmapfile-2 1 200 ns/op\n", r.row)
		if !strings.HasPrefix(r.row, "RandomView/") {
			text += fmt.Sprintf("Benchmark%s/impl=mmap-io-2 1 400 ns/op\n", r.row)
			if r.row != "Grow" {
				text += fmt.Sprintf("Benchmark%s/impl=memmap2-2 1 100.0 ns/op\n", r.row)
			}
		}
	}
	return text
}

func TestReportPeers(t *testing.T) {
	res := resultstest.Parse(t, peersSample())
	text := printed(t, res)
	resultstest.Contains(t, text,
		"\tmmapfile / mmap-io\tmmapfile / memmap2\n",
		"walk through 16 MiB in windows of 4 KiB\t200 ns\t400 ns\t100 ns\t0.50\t2.00\n",
		"slice of 64 B, in View\t200 ns\t400 ns\t100 ns\t0.50\t2.00\n", // with RandomWindow
		"change the size from 1 MiB to 8 MiB and back\t200 ns\t400 ns\t–\t0.50\t–\n",
	)
}

func TestRenderPeers(t *testing.T) {
	text, err := renderPeers(resultstest.Parse(t, peersSample()))
	if err != nil {
		t.Fatal(err)
	}
	resultstest.Contains(t, text,
		"| slice of 64 B, in `View` | 200 ns | 400 ns | 100 ns | 0.50 | 2.00 |\n",
		"`make bench-peers` on 2026-01-02: medians of 1 interleaved rounds",
		", rustc 1.95.0, mmap-io 1.1.0, memmap2 0.9.12.\n",
	)
	for what, text := range map[string]string{
		"too few rows":      "BenchmarkGrow/impl=mmapfile 1 1 ns/op\nBenchmarkGrow/impl=mmap-io 1 1 ns/op\n",
		"a row without one": peersSample() + "BenchmarkShrink/impl=mmapfile 1 1 ns/op\n",
	} {
		if _, err := renderPeers(resultstest.Parse(t, text)); err == nil {
			t.Errorf("no error for %s", what)
		}
	}
}

// Each comparison has a block of its own.
func TestReadmePeers(t *testing.T) {
	file, page := oldPages(t, peersSample(), peersBlock, firstBlock)
	putBlocks(t, file)
	if s := page(peersBlock); !strings.HasPrefix(s, "before peers\n"+peersBlock.begin()+"| op") || !strings.HasSuffix(s, peersBlock.end()+"after peers\n") {
		t.Errorf("unexpected text:\n%s", s)
	}
	if s := page(firstBlock); !strings.Contains(s, "\nold\n") {
		t.Errorf("the block of another comparison was changed:\n%s", s)
	}
}
