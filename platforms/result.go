package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// An event is a line of go test -json (go doc test2json).
type event struct {
	Action, Package, ImportPath, Test, Output string
}

// lastLines is the least number of lines that are shown of a crash.
const lastLines = 150

// A result has the outcome of the tests on one platform.
type result struct {
	passed, failed, skipped int
	output                  map[string]*strings.Builder // output of each running test
	failures                []string                    // output of each failed test
	why                     []string                    // the reason of each skip
	last                    []string                    // the last lines of output
	running                 map[string]bool             // the running tests
	took                    time.Duration
}

// test runs cmd, which is go test -json, and says what it is at.
func test(cmd *exec.Cmd, name string) (r result) {
	began := time.Now()
	say := func(what string) {
		fmt.Printf("%-14s %7s %s\n", name, time.Since(began).Round(time.Second), what)
	}
	say("building the tests")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err == nil {
		r.output, r.running = map[string]*strings.Builder{}, map[string]bool{}
		r.read(out, say)
		err = cmd.Wait()
	}
	// A program that ends early with status 0 is no success.
	switch {
	case r.failed > 0:
	case err != nil:
		r.fail(fmt.Sprintf("%v\n%s", err, stderr.Bytes()))
	case len(r.running) > 0:
		r.fail(fmt.Sprint("ended within ", slices.Sorted(maps.Keys(r.running))))
	case r.passed == 0:
		r.fail("no test has run")
	}
	r.took = time.Since(began).Round(time.Second)
	return r
}

func (r *result) fail(why string) {
	r.failed++
	r.failures = append(r.failures, why)
}

// print prints the platform's line and what failed, and reports whether nothing did.
func (r *result) print(name string) bool {
	fmt.Printf("%-14s %5d passed %3d failed %3d skipped %7s\n", name, r.passed, r.failed, r.skipped, r.took)
	for _, f := range r.failures {
		fmt.Println(f)
	}
	return r.failed == 0
}

func (r *result) read(out io.Reader, say func(what string)) {
	for d := json.NewDecoder(out); ; {
		var e event
		if err := d.Decode(&e); err == io.EOF {
			return
		} else if err != nil {
			rest, _ := io.ReadAll(io.MultiReader(d.Buffered(), out))
			r.fail(fmt.Sprintf("not what go test -json prints: %v\n%s", err, rest))
			return
		}
		r.add(e)
		if e.Action == "start" {
			say("testing " + e.Package)
		}
	}
}

func (r *result) add(e event) {
	key := e.Package + e.ImportPath + " " + e.Test
	b := r.output[key]
	if b == nil {
		b = new(strings.Builder)
		r.output[key] = b
	}
	switch e.Action {
	case "run":
		r.running[key] = true
		return
	case "output", "build-output":
		b.WriteString(e.Output)
		if r.last = append(r.last, e.Output); len(r.last) > 2*lastLines {
			r.last = slices.Clone(r.last[lastLines:])
		}
		return
	case "pass":
		if e.Test != "" {
			r.passed++
		}
	case "fail", "build-fail":
		// A package fails with its tests, or by itself: a crash, a timeout. That shows
		// in the output of whatever test was running.
		switch {
		case e.Test != "":
			r.fail(b.String())
		case r.failed == 0:
			r.fail(strings.Join(r.last, ""))
		}
	case "skip":
		if e.Test != "" {
			r.skipped++
			r.why = append(r.why, reason(b.String()))
		}
	default:
		return
	}
	delete(r.output, key)
	delete(r.running, key)
}

// reason is what a skipped test gave for its reason: the text after file and line.
func reason(output string) string {
	for line := range strings.Lines(output) {
		if strings.HasPrefix(line, "    ") && !strings.HasPrefix(line, "    ---") {
			if _, text, ok := strings.Cut(line, ".go:"); ok {
				_, text, _ = strings.Cut(text, ": ")
				return strings.TrimSpace(text)
			}
		}
	}
	return "no reason given"
}

// reasons has, for each reason of a skip, the platforms and how often.
type reasons map[string]map[string]int

func (r reasons) add(why, platform string) {
	if r[why] == nil {
		r[why] = map[string]int{}
	}
	r[why][platform]++
}

func (r reasons) print() {
	if len(r) == 0 {
		return
	}
	fmt.Println("\nTests skipped, and why:")
	for _, why := range slices.Sorted(maps.Keys(r)) {
		var where []string
		for _, t := range slices.Sorted(maps.Keys(r[why])) {
			where = append(where, fmt.Sprintf("%s %d", t, r[why][t]))
		}
		fmt.Printf("  %s (%s)\n", why, strings.Join(where, ", "))
	}
}
