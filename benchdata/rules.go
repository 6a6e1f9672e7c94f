package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strings"
)

// The write policy before the present one had many rules. Each was taken out in turn, and all of
// them were measured in one interleaved run, beside the present policy. Its
// raw results have a line for each rule, as "rule-ahead: text", and the results without it as
// Policy/state=S/policy=ahead/impl=mmapfile; policy=all has all rules, and policy=pages is the present policy.
const rulesFile = "policies/rules/rules.txt"

const (
	allRules = "all"
	noRules  = "pages"
)

// renderRules is a table of them: for each the rows that it changes most, by more than the noise.
func renderRules(dir string) (string, error) {
	res, err := readResults(filepath.Join(dir, rulesFile))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	var s strings.Builder
	fmt.Fprintf(&s, "\n## Rules of the policy before\n\nThe columns are mmapfile / `os.File`: with all rules of the policy before, without one of them, and with the present policy. The present policy keeps a short form of two rules: it ends mapped writes that are slow, and judges at each Sync. For each rule, the table has the three rows that differ most. They differ significantly (p < 0.05), and by more than `os.File` differs from itself. %d rounds, %s, %s.\n\n", res.rounds(), res.config["fs"], res.config["kernel"])
	s.WriteString("| rule | state | with | without | now |\n|---|---|--:|--:|--:|\n")
	for _, key := range slices.Sorted(keysWith(res.config, "rule-")) {
		rule, text := strings.TrimPrefix(key, "rule-"), res.config[key]
		rows := res.changed(rule)
		if len(rows) == 0 {
			fmt.Fprintf(&s, "| %s | none | | | |\n", text)
		}
		for _, row := range rows {
			fmt.Fprintf(&s, "| %s | `%s` | %s | %s | %s |\n", text, strings.TrimPrefix(row, writeStates),
				number(res.ratio(row, allRules, "os")), number(res.ratio(row, rule, "os")), number(res.ratio(row, noRules, "os")))
			text = ""
		}
	}
	mean := func(policy string) string {
		var ratios []float64
		for _, row := range res.rows {
			if r := res.ratio(row, policy, "os"); r > 0 {
				ratios = append(ratios, r)
			}
		}
		return number(geomean(ratios))
	}
	fmt.Fprintf(&s, "\nGeometric means over the %d states: %s with all rules, %s now.\n", len(res.rows), mean(allRules), mean(noRules))
	return s.String(), nil
}

// changed are the three rows that taking out a rule changes most.
func (res *results) changed(rule string) []string {
	by := func(row string) float64 { return math.Abs(math.Log(res.ratio(row, rule, allRules))) }
	rows := slices.DeleteFunc(slices.Clone(res.rows), func(row string) bool {
		return res.ratio(row, rule, allRules) == 0 || by(row) <= res.noise(row) || !res.differ(row, rule, allRules)
	})
	slices.SortFunc(rows, func(a, b string) int { return cmp.Compare(by(b), by(a)) })
	return rows[:min(len(rows), 3)]
}

// keysWith are the keys of m that begin with prefix.
func keysWith(m map[string]string, prefix string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for key := range m {
			if strings.HasPrefix(key, prefix) && !yield(key) {
				return
			}
		}
	}
}
