package results

import (
	"fmt"
	"strings"
	"testing"
)

func TestRandomPrograms_Lost(t *testing.T) {
	t.Parallel()
	var raw strings.Builder
	add := func(program int, figure, impl string, ns ...float64) {
		for _, v := range ns {
			fmt.Fprintf(&raw, "BenchmarkRegret/program=%d/figure=%s/impl=%s\t1\t%g ns/op\n", program, figure, impl, v)
		}
	}
	near := func(v float64) []float64 { return []float64{v, v + 1, v + 2, v + 3, v - 1, v - 2, v - 3} }
	for i, c := range []struct {
		how, program string
		own          float64
	}{{"drawn", "life=90", 1200}, {"mutated", "life=80", 1030}, {"drawn", "life=400,cold=1", 500}} {
		fmt.Fprintf(&raw, "program-%d: %s %s\n", i, c.how, c.program)
		for _, figure := range []string{"wall", "cpu"} {
			add(i, figure, "os", near(1000)...)
			add(i, figure, "os-again", near(1010)...)
			add(i, figure, "mmapfile", near(c.own)...)
		}
	}
	res, err := Parse(strings.NewReader(raw.String()), "raw")
	if err != nil {
		t.Fatal(err)
	}
	list, err := res.RandomPrograms()
	if err != nil || len(list) != 3 || res.Kind() != Regret {
		t.Fatalf("%v, %d programs, of kind %s", err, len(list), res.Kind())
	}
	if p := list[0]; !p.Lost || !p.Drawn || p.Figure() != "cpu" || p.Ratio("cpu", "mmapfile") != 1.2 || p.Rounds != 7 {
		t.Errorf("%+v", p)
	}
	if p := list[1]; p.Lost || p.Drawn {
		t.Errorf("3%% slower, made of a loser: %+v", p)
	}
	if p := list[2]; p.Lost || p.Figure() != "wall" {
		t.Errorf("twice as fast, cold: %+v", p)
	}
}

func TestPercentile_Shares(t *testing.T) {
	t.Parallel()
	values := []float64{3, 1, 2, 4, 5, 6, 7, 8, 10, 9}
	for share, want := range map[float64]float64{0.5: 5, 0.9: 9, 0.97: 10, 1: 10} {
		if got := Percentile(values, share); got != want {
			t.Errorf("%v: %v, want %v", share, got, want)
		}
	}
}
