package tables

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"go.dw1.io/mmapfile/benchdata/internal/results/resultstest"
)

// durableSample is a run in which each way takes its own time for an event, 16 goroutines a sixth
// of it, and a batch an eighth. The bare loop is faster than eventlog, and more so in each next line.
func durableSample(rounds int) string {
	var b strings.Builder
	b.WriteString("date: 2026-01-02T03:04:05Z\nfs: ext4\ncpu: EPYC\nbenchtime: 200ms\n")
	ways := map[string]float64{"bare": 80_000, "bufio": 200_000, "raft-wal": 100_000, "tidwall": 160_000, "eventlog": 96_000}
	for round := range rounds {
		for i, load := range durableLoads {
			for _, w := range durableWays {
				ns := ways[w.row] / []float64{1, 6, 8}[i] * (1 + 0.001*float64(round-rounds/2))
				if w.row == "bare" {
					ns *= 1 - 0.1*float64(i)
				}
				fmt.Fprintf(&b, "Benchmark%s/way=%s-2 \t 1\t %.0f ns/op\n", load.row, w.row, ns)
			}
		}
	}
	return b.String()
}

func TestReportDurable_Tables(t *testing.T) {
	text := printed(t, resultstest.Parse(t, durableSample(5)))
	resultstest.Contains(t, text,
		"µs for an event\tbare loop\tbufio and Sync\traft-wal\ttidwall/wal\teventlog\n",
		"one goroutine\t80.0\t200\t100\t160\t96.0\n",
		"16 goroutines\t12.0\t33.3\t16.7\t26.7\t16.0\n",
		"one goroutine, batches of 16\t8.00\t25.0\t12.5\t20.0\t12.0\n",
		"time of eventlog /\tbare loop\tbufio and Sync\traft-wal\ttidwall/wal\none goroutine\t1.20\t0.48\t0.96\t0.60\n",
		"Medians of 5 rounds or more; ext4",
	)
}

// A difference that may be an accident is not in bold.
func TestDurable_Significant(t *testing.T) {
	for rounds, want := range map[int]string{5: "| one goroutine | **1.20** | 0.48 | 0.96 | 0.60 |\n", 3: "| one goroutine | 1.20 | 0.48 | 0.96 | 0.60 |\n"} {
		list, err := durableSections(resultstest.Parse(t, durableSample(rounds)))
		if err != nil {
			t.Fatal(err)
		}
		resultstest.Contains(t, markdown(list...), want)
	}
}

func TestReadmeDurable_Block(t *testing.T) {
	file, page := oldPages(t, durableSample(5), durableBlock, eventsBlock)
	putBlocks(t, file)
	if err := publish(file, true); err != nil {
		t.Error("check of the file:", err)
	}
	text := page(durableBlock)
	resultstest.Contains(t, text,
		"before durable\n"+durableBlock.begin()+"| µs for an event | bare loop |",
		"|---|--:|--:|--:|--:|--:|\n| one goroutine | **80.0** | 200 | 100 | 160 | 96.0 |\n",
		"\n\nAll figures have the same durability: ",
		"| one goroutine | **1.20** | 0.48 | 0.96 | 0.60 |\n",
		"\n\n`make durable` on 2026-01-02: medians of 5 interleaved rounds, 200ms a row, at commit unknown; EPYC",
		durableBlock.end()+"after durable\n",
	)
	if text := page(eventsBlock); !strings.Contains(text, "\nold\n") {
		t.Errorf("the block of other results was changed:\n%s", text)
	}
}

func TestRenderDurable_Incomplete(t *testing.T) {
	for what, text := range map[string]string{
		"lacks a way":      regexp.MustCompile(`(?m)^.*goroutines=16.*/way=tidwall.*\n`).ReplaceAllString(durableSample(5), ""),
		"lacks a row":      regexp.MustCompile(`(?m)^.*batch=16.*\n`).ReplaceAllString(durableSample(5), ""),
		"has an extra row": durableSample(5) + "BenchmarkDurable/goroutines=2/batch=2/size=1024/way=bare-2 1 5 ns/op\n",
	} {
		if _, err := renderDurable(resultstest.Parse(t, text)); err == nil {
			t.Errorf("no error for a run that %s", what)
		}
	}
}
