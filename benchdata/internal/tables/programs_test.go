package tables

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.dw1.io/mmapfile/benchdata/internal/results"
	"go.dw1.io/mmapfile/benchdata/internal/results/resultstest"
)

// programsSample is a run of three programs: mmapfile takes half of os.File's time, as long, and
// twice as long.
func programsSample(scale string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "date: 2026-01-02T03:04:05Z\nfs: ext4\ncpu: EPYC\nscale: %s\nwhat-tar: `archive/tar`: list\n", scale)
	noise := rand.New(rand.NewPCG(1, 1))
	for range 7 {
		for _, program := range []struct { // in order, so that the noise is the same each time
			name   string
			factor float64
		}{{"slow", 2}, {"tar", 0.5}, {"equal", 1}} {
			for _, state := range results.ProgramStates {
				for _, impl := range []struct {
					name   string
					factor float64
				}{{"os", 1}, {"mmapfile", program.factor}, {"os-again", 1}} {
					fmt.Fprintf(&b, "BenchmarkPrograms/program=%s/state=%s/impl=%s-2\t1\t%.0f ns/op\n",
						program.name, state.Key, impl.name, 1e6*impl.factor*(0.98+0.04*noise.Float64()))
				}
			}
		}
	}
	return b.String()
}

func TestPrograms_Tables(t *testing.T) {
	res := resultstest.Parse(t, programsSample("1"))
	g := programGrid(res)
	if len(g) != 1+3*3 {
		t.Fatalf("%d lines, want 10", len(g))
	}
	if first, last := g[1], g[9]; first[0] != "`archive/tar`: list" || last[0] != "slow" || !strings.HasPrefix(last[3], "**") || strings.HasPrefix(first[3], "**") {
		t.Errorf("the best is %q, the worst %q", first, last)
	}
	text, err := renderPrograms(res)
	if err != nil {
		t.Fatal(err)
	}
	resultstest.Contains(t, text,
		"| program | os.File | one process | new processes | not in memory |",
		"| **geometric mean** |  | **1.00** | **1.00** | **1.00** |\n", "Of 9 rows, mmapfile is faster than `os.File` beyond the noise in 3, and slower in 3: ", "`slow` cold", "`make bench-programs` on 2026-01-02: medians of 7 interleaved rounds",
	)
	var out bytes.Buffer
	if err := Report(&out, res); err != nil || !strings.Contains(out.String(), "archive/tar: list") {
		t.Errorf("%v, printed\n%s", err, out.String())
	}
}

func TestPrograms_Incomplete(t *testing.T) {
	if _, err := renderPrograms(resultstest.Parse(t, programsSample("0.01"))); err == nil {
		t.Error("a small scale is published")
	}
	var cut strings.Builder
	for line := range strings.Lines(programsSample("1")) {
		if !strings.Contains(line, "program=tar/state=cold") {
			cut.WriteString(line)
		}
	}
	if _, err := renderPrograms(resultstest.Parse(t, cut.String())); err == nil {
		t.Error("a program without a state is published")
	}
	if _, err := renderPrograms(resultstest.Parse(t, "missing-cold: no fadvise\n"+cut.String())); err != nil {
		t.Error(err)
	}
}

func TestPrograms_Published(t *testing.T) {
	file, page := oldPages(t, programsSample("1"), programsBlock, gainsBlock, littleBlock, nothingBlock)
	if err := publish(file, true); err == nil {
		t.Error("nothing is published, and the check passes")
	}
	for _, check := range []bool{false, true} {
		if err := publish(file, check); err != nil {
			t.Fatal(err)
		}
	}
	if s := page(programsBlock); !strings.Contains(s, programsBlock.begin()+"| program |") {
		t.Errorf("unexpected text:\n%s", s)
	}
	text, err := os.ReadFile(filepath.Join(filepath.Dir(file), "..", "programs.md"))
	if err != nil || !bytes.HasPrefix(text, []byte("# Programs\n")) {
		t.Errorf("the page begins with %.20q (%v)", text, err)
	}
}

// Each program stands in one of the three tables, that of its time.
func TestPays_Tables(t *testing.T) {
	res := resultstest.Parse(t, programsSample("1"))
	for _, table := range []struct {
		b    block
		want []string
	}{{gainsBlock, []string{"`archive/tar`: list"}}, {littleBlock, nil}, {nothingBlock, []string{"equal", "slow"}}} {
		text, err := table.b.render(res)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for line := range strings.Lines(text) {
			if fields := strings.Split(line, "|"); len(fields) == 7 {
				got = append(got, strings.TrimSpace(fields[1]))
			}
		}
		if len(got) < 2 || got[0] != "program" || !slices.Equal(got[2:], table.want) {
			t.Errorf("%s has the lines %q, want %q", table.b.name, got, table.want)
		}
	}
	if text, _ := nothingBlock.render(res); !strings.Contains(text, "`make bench-programs` on 2026-01-02") {
		t.Errorf("no origin in\n%s", text)
	}
	if _, err := gainsBlock.render(resultstest.Parse(t, programsSample("0.01"))); err == nil {
		t.Error("a small scale is published")
	}
}

func TestPays_ReasonForEachProgram(t *testing.T) {
	res, err := results.Read("../../results/programs.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range programNames(res) {
		if programReasons[name] == "" {
			t.Errorf("%s has no reason", name)
		}
	}
}

func TestPays_Calls(t *testing.T) {
	text, err := paysBlock.render(resultstest.Parse(t, everything()))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text, "| `Seek` | 200 ns | 100 ns | 0.50 |\n") || !strings.Contains(text, "`make bench-full` on") {
		t.Errorf("unexpected table:\n%s", text)
	}
	if _, err := paysBlock.render(resultstest.Parse(t, resultstest.Sample)); err == nil {
		t.Error("no error for a selection of rows")
	}
}
