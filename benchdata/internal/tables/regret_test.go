package tables

import (
	"fmt"
	"strings"
	"testing"

	"go.dw1.io/mmapfile/benchdata/internal/results/resultstest"
)

// regretSample has two programs that were drawn, one of which loses, and a worse one made of it.
func regretSample() string {
	var raw strings.Builder
	raw.WriteString("seed: 7\nprograms: 3\n")
	for i, p := range []struct {
		how, text string
		own       int
	}{{"drawn", "life=400", 400}, {"drawn", "life=90", 1200}, {"mutated", "life=96", 1300}} {
		fmt.Fprintf(&raw, "program-%d: %s %s\n", i, p.how, p.text)
		for round := range 7 {
			for impl, ns := range map[string]int{"os": 1000, "os-again": 1010, "mmapfile": p.own} {
				for _, figure := range []string{"wall", "cpu"} {
					fmt.Fprintf(&raw, "BenchmarkRegret/program=%d/figure=%s/impl=%s\t1\t%d ns/op\n", i, figure, impl, ns+round)
				}
			}
		}
	}
	return raw.String()
}

func TestRenderRegret_Percentiles(t *testing.T) {
	text, err := renderRegret(resultstest.Parse(t, regretSample()))
	if want := "half took at most 0.40, 97 of 100 at most 1.20, and the worst 1.20.\n"; err != nil || !strings.Contains(text, want) {
		t.Errorf("%s %v", text, err)
	}
}

func TestRegretPages_PercentilesAndWorst(t *testing.T) {
	made, err := regretPages(resultstest.Parse(t, regretSample()), t.TempDir())
	if err != nil || len(made) != 1 {
		t.Fatal(made, err)
	}
	page := string(made[0].Text)
	for _, want := range []string{
		"Of 3 programs of seed 7,",
		"| CPU time, mmapfile | 0.69 | 0.40 | 1.20 | 1.20 | 1.20 |", // the mutated one does not count
		"slower by more than 5%: 1 of 2 programs that were drawn, and 1 of 1 that were made of losers.",
		"| `life=96` | cpu | 1.30 | 1.01 | 7 |\n| `life=90` | cpu | 1.20 | 1.01 | 7 |\n\n",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
}
