package main

import (
	"slices"
	"strings"
	"testing"
)

func TestRead_Progress(t *testing.T) {
	events := `{"Action":"start","Package":"a"}
{"Action":"run","Package":"a","Test":"TestA"}
{"Action":"output","Package":"a","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"pass","Package":"a","Test":"TestA"}
{"Action":"pass","Package":"a"}
{"Action":"start","Package":"b"}
`
	var said []string
	r := result{output: map[string]*strings.Builder{}, running: map[string]bool{}}
	r.read(strings.NewReader(events), func(what string) { said = append(said, what) })
	if r.passed != 1 || r.failed != 0 {
		t.Errorf("%d passed, %d failed: %q", r.passed, r.failed, r.failures)
	}
	if want := []string{"testing a", "testing b"}; !slices.Equal(said, want) {
		t.Errorf("says %q, want %q", said, want)
	}
}
