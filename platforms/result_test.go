package main

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestRead_Progress(t *testing.T) {
	events := `{"Action":"start","Package":"a"}
{"Action":"run","Package":"a","Test":"TestA"}
{"Action":"output","Package":"a","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"pass","Package":"a","Test":"TestA"}
{"Action":"pass","Package":"a"}
{"Action":"start","Package":"b"}
`
	for terminal, want := range map[bool][]string{
		false: {"linux/386", "testing a\n", "testing b\n"},
		true:  {"\rlinux/386", "0 passed so far; TestA", "1 passed so far; TestA"},
	} {
		var shown bytes.Buffer
		r := result{output: map[string]*strings.Builder{}, running: map[string]bool{}}
		r.read(strings.NewReader(events), &progress{w: &shown, name: "linux/386", terminal: terminal, began: time.Now()})
		text := strings.ReplaceAll(shown.String(), "\033[K", "")
		if r.passed != 1 || r.failed != 0 {
			t.Errorf("%d passed, %d failed: %q", r.passed, r.failed, r.failures)
		}
		for _, part := range want {
			if !strings.Contains(text, part) {
				t.Errorf("terminal %v: %q lacks %q", terminal, text, part)
			}
		}
	}
}
