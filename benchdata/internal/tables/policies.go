package tables

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"go.dw1.io/mmapfile/benchdata/internal/results"
)

// Ways to choose between a store and a system call that were tried have their raw results in
// results/policies/*.txt, and in them the name, and why it is not the one that is used:
//
//	benchdata run -rounds 10 -bench Policy -impl '^(os|mmapfile)$' \
//		-policy always -why 'it reads each page before it is written' -out results/policies/always.txt

// renderPolicies is a page about them.
func renderPolicies(res *results.Set, policies []*results.Set) string {
	names := []string{"mmapfile"}
	for _, p := range policies {
		names = append(names, p.Config["policy"])
	}
	var s strings.Builder
	s.WriteString("# Ways to write that were tried\n\nmmapfile / `os.File`, by the state of the file. Made by `make -C benchdata readme`.\n\n")
	fmt.Fprintf(&s, "| state | %s |\n|---|%s\n", strings.Join(names, " | "), strings.Repeat("--:|", len(names)))
	all := append([]*results.Set{res}, policies...)
	for _, row := range results.StateRows(all) {
		fmt.Fprintf(&s, "| `%s` |", strings.TrimPrefix(row, results.WriteStates))
		for _, r := range all {
			fmt.Fprintf(&s, " %s |", results.Number(r.Ratio(row, "mmapfile", "os")))
		}
		s.WriteString("\n")
	}
	s.WriteString("\n")
	for _, p := range policies {
		fmt.Fprintf(&s, "- %s: %s (%s, %s, %d rounds)\n", p.Config["policy"], p.Config["why"], p.Config["fs"], p.Config["kernel"], p.Rounds())
	}
	return s.String()
}

// The write policy before the present one had many rules. Each was taken out in turn, and all of
// them were measured in one interleaved run, beside the present policy. Its
// raw results have a line for each rule, as "rule-ahead: text", and the results without it as
// Policy/state=S/policy=ahead/impl=mmapfile; policy=all has all rules, and policy=pages is the present policy.
const rulesFile = "results/policies/rules/rules.txt"

const (
	allRules = "all"
	noRules  = "pages"
)

// renderRules is a table of them: for each the rows that it changes most, by more than the noise.
func renderRules(dir string) (string, error) {
	res, err := results.Read(filepath.Join(dir, rulesFile))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	var s strings.Builder
	fmt.Fprintf(&s, "\n## Rules of the policy before\n\nThe columns are mmapfile / `os.File`: with all rules of the policy before, without one of them, and with the present policy. The present policy keeps a short form of two rules: it ends mapped writes that are slow, and judges at each Sync. For each rule, the table has the three rows that differ most. They differ significantly (p < 0.05), and by more than `os.File` differs from itself. %d rounds, %s, %s.\n\n", res.Rounds(), res.Config["fs"], res.Config["kernel"])
	s.WriteString("| rule | state | with | without | now |\n|---|---|--:|--:|--:|\n")
	for _, key := range slices.Sorted(keysWith(res.Config, "rule-")) {
		rule, text := strings.TrimPrefix(key, "rule-"), res.Config[key]
		rows := changed(res, rule)
		if len(rows) == 0 {
			fmt.Fprintf(&s, "| %s | none | | | |\n", text)
		}
		for _, row := range rows {
			fmt.Fprintf(&s, "| %s | `%s` | %s | %s | %s |\n", text, strings.TrimPrefix(row, results.WriteStates),
				results.Number(res.Ratio(row, allRules, "os")), results.Number(res.Ratio(row, rule, "os")), results.Number(res.Ratio(row, noRules, "os")))
			text = ""
		}
	}
	mean := func(policy string) string {
		var ratios []float64
		for _, row := range res.Rows {
			if r := res.Ratio(row, policy, "os"); r > 0 {
				ratios = append(ratios, r)
			}
		}
		return results.Number(results.Geomean(ratios))
	}
	fmt.Fprintf(&s, "\nGeometric means over the %d states: %s with all rules, %s now.\n", len(res.Rows), mean(allRules), mean(noRules))
	return s.String(), nil
}

// changed are the three rows that taking out a rule changes most.
func changed(res *results.Set, rule string) []string {
	by := func(row string) float64 { return math.Abs(math.Log(res.Ratio(row, rule, allRules))) }
	rows := slices.DeleteFunc(slices.Clone(res.Rows), func(row string) bool {
		return res.Ratio(row, rule, allRules) == 0 || by(row) <= res.Noise(row) || !res.Differ(row, rule, allRules)
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

// The states of a file that is written have their raw results on other file systems in
// results/filesystems/*.txt, each from a run of its own:
//
//	BENCH_DIR=/mnt/xfs benchdata run -rounds 5 -bench Policy -impl '^(os|os-again|mmapfile)$' -out results/filesystems/xfs.txt
//
// and so have those of a file that is larger than half of memory:
//
//	benchdata run -rounds 5 -bench Policy/state=huge -huge 13 -impl '^(os|mmapfile)$' -out results/filesystems/huge.txt

// renderSystems is a page about them, with res, from the file system of all other figures, first.
func renderSystems(res *results.Set, systems []*results.Set) string {
	all := append([]*results.Set{res}, systems...)
	var names, runs []string
	for _, r := range all {
		name := r.Config["fs"]
		if size := r.Config[results.HugeKey]; size != "" {
			name += ", a file of " + size
		}
		names = append(names, name)
		runs = append(runs, fmt.Sprintf("%s: %d rounds at commit %s on %.10s, %s", name, r.Rounds(), r.Config["commit"], r.Config["date"], r.Config["kernel"]))
	}
	var s strings.Builder
	s.WriteString("# Writes on other file systems\n\nmmapfile / `os.File`, by the state of the file. In parentheses `os.File` against itself, which is the noise. Made by `make -C benchdata readme`.\n\n")
	fmt.Fprintf(&s, "| state | %s |\n|---|%s\n", strings.Join(names, " | "), strings.Repeat("--:|", len(names)))
	for _, row := range results.StateRows(all) {
		fmt.Fprintf(&s, "| `%s` |", strings.TrimPrefix(row, results.WriteStates))
		for _, r := range all {
			ratio, noise := r.Ratio(row, "mmapfile", "os"), r.Ratio(row, "os-again", "os")
			switch {
			case ratio == 0:
				s.WriteString(" – |")
			case noise == 0:
				fmt.Fprintf(&s, " %s |", results.Number(ratio))
			default:
				fmt.Fprintf(&s, " %s (%s) |", results.Number(ratio), results.Number(noise))
			}
		}
		s.WriteString("\n")
	}
	fmt.Fprintf(&s, "\n%s.\n", strings.Join(runs, "; "))
	return s.String()
}
