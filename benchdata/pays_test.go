package main

import (
	"slices"
	"strings"
	"testing"
)

// Each program stands in one of the three tables, that of its time.
func TestPays_Tables(t *testing.T) {
	res := parse(t, programsSample("1"))
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
	if _, err := gainsBlock.render(parse(t, programsSample("0.01"))); err == nil {
		t.Error("a small scale is published")
	}
}

func TestPays_ReasonForEachProgram(t *testing.T) {
	res, err := readResults("programs.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range res.programNames() {
		if programReasons[name] == "" {
			t.Errorf("%s has no reason", name)
		}
	}
}

func TestPays_Calls(t *testing.T) {
	text, err := paysBlock.render(parse(t, everything()))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text, "| `Seek` | 200 ns | 100 ns | 0.50 |\n") || !strings.Contains(text, "`make bench-full` on") {
		t.Errorf("unexpected table:\n%s", text)
	}
	if _, err := paysBlock.render(parse(t, sample)); err == nil {
		t.Error("no error for a selection of rows")
	}
}
