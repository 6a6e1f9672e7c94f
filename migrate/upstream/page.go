package main

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// pageFile has a table of the results between two marks.
var pageFile = filepath.Join("docs", "proven.md")

const pageBegin, pageEnd = "<!-- proven:begin -->\n", "<!-- proven:end -->\n"

// table returns the results as the lines of a Markdown table.
func table(list []*record) []string {
	lines := []string{
		"| project | what runs over `File` | calls | by `migrate` | edits | tests | result over `File` | eager | mappings | eager |",
		"|---|---|--:|--:|--:|--:|---|---|--:|--:|",
	}
	for _, r := range list {
		base, changed, eager := r.suite(onOS), r.suite(edited), r.suite(eagerly)
		if changed == nil {
			changed = r.suite(migrated)
		}
		if base == nil || changed == nil || eager == nil {
			continue
		}
		uses := ""
		for _, p := range projects {
			if p.path == r.Path {
				uses = p.uses
			}
		}
		lines = append(lines, fmt.Sprintf("| %s %s | %s | %d | %d | %d | %d | %s | %s | %d | %d |", r.Path, r.Version, uses,
			r.Calls, r.Migrated, r.Edits, base.Passed+base.Failed, changed.result(), eager.result(), changed.Mappings, eager.Mappings))
	}
	return lines
}

// result says how the suite ended.
func (s *suiteRecord) result() string {
	text := "the same"
	if len(s.Differ) > 0 {
		text = fmt.Sprintf("%d differ", len(s.Differ))
	}
	if len(s.Flaky) > 0 {
		text += fmt.Sprintf(", %d flaky", len(s.Flaky))
	}
	if s.Failed > 0 {
		text += fmt.Sprintf(", %d fail on both sides", s.Failed)
	}
	return text
}

// figures returns what stands between the marks of the page.
func figures(list []*record) string {
	lines := table(list)
	var suites, benchmarks []string
	for _, r := range list {
		suites = append(suites, "`make upstream` on "+r.Run+".")
	}
	lines = append(append(lines, ""), unique(suites)...)
	lines = append(lines, "", "| benchmark | os.File | File | File / os.File |", "|---|--:|--:|--:|")
	for _, r := range list {
		for _, b := range r.Benchmarks {
			lines = append(lines, fmt.Sprintf("| %s `%s` | %s | %s | %s |", shortName(r.Path), b.Name,
				duration(middle(b.OS)), duration(middle(b.File)), b.gain()))
			benchmarks = append(benchmarks, fmt.Sprintf("%d rounds on %s.", len(b.OS), cmp.Or(r.BenchmarkRun, r.Run)))
		}
	}
	lines = append(append(lines, ""), unique(benchmarks)...)
	lines = append(lines, "", "Left out:", "")
	for _, p := range projects {
		for _, l := range p.leftOut {
			lines = append(lines, fmt.Sprintf("- `%s` of %s: %s.", l.name, shortName(p.path), l.reason))
		}
	}
	for _, l := range unavailable {
		lines = append(lines, fmt.Sprintf("- %s: %s.", l.name, l.reason))
	}
	return strings.Join(lines, "\n") + "\n"
}

// gain prints the ratio, if its range is on one side of 1.
func (b benchmark) gain() string {
	median, low, high := b.ratios()
	if low <= 1 && 1 <= high {
		return fmt.Sprintf("no difference (%.2f to %.2f)", low, high)
	}
	return fmt.Sprintf("%.2f (%.2f to %.2f)", median, low, high)
}

// unique returns each line once.
func unique(lines []string) []string { return slices.Compact(slices.Sorted(slices.Values(lines))) }

// shortName returns the last part of a module's path that is no version.
func shortName(module string) string {
	dir, name := path.Split(module)
	if version.MatchString(name) {
		name = path.Base(dir)
	}
	return name
}

var version = regexp.MustCompile(`^v\d+$`)

// middle returns the median.
func middle(list []float64) float64 {
	list = slices.Sorted(slices.Values(list))
	n := len(list)
	return (list[(n-1)/2] + list[n/2]) / 2
}

// duration prints nanoseconds with three digits.
func duration(ns float64) string {
	unit := "ns"
	for _, next := range []string{"µs", "ms", "s"} {
		if ns < 1000 {
			break
		}
		ns, unit = ns/1000, next
	}
	return fmt.Sprintf("%.3g %s", ns, unit)
}

// render returns the page with the results between its marks.
func render(page []byte, list []*record) ([]byte, error) {
	before, rest, ok := bytes.Cut(page, []byte(pageBegin))
	_, after, end := bytes.Cut(rest, []byte(pageEnd))
	if !ok || !end {
		return nil, fmt.Errorf("%s lacks the marks of the table", pageFile)
	}
	return slices.Concat(before, []byte(pageBegin+figures(list)+pageEnd), after), nil
}

// writePage puts the results into the page.
func writePage(root string) error {
	list, err := readResults(filepath.Join(root, resultsFile))
	if err != nil {
		return err
	}
	name := filepath.Join(root, pageFile)
	page, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if page, err = render(page, list); err != nil {
		return err
	}
	return os.WriteFile(name, page, 0o644)
}
