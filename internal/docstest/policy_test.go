package docstest

import (
	"regexp"
	"strings"
	"testing"
)

// The pages say the numbers that the policy has.
func TestPolicy_Numbers(t *testing.T) {
	t.Chdir(root)
	text := func(name string) string {
		lines := fileLines(t, name)
		for i, line := range lines {
			lines[i] = strings.TrimPrefix(line, "// ")
		}
		return strings.Join(lines, "\n")
	}
	numbers := map[string]string{}
	for _, name := range []string{"internal/pages/policy.go", "internal/pages/writes.go"} {
		for _, m := range regexp.MustCompile(`(?m)^(?:const)?\s+(\w+)\s+= (\d+)( |$)`).FindAllStringSubmatch(text(name), -1) {
			numbers[m[1]] = m[2]
		}
	}
	check := func(name, constant, says string) {
		if want, ok := numbers[constant]; !ok || says != want {
			t.Errorf("%s says %q for %s, which is %q", name, says, constant, want)
		}
	}
	const design = "internal/pages/DESIGN.md"
	for constant := range numbers {
		m := regexp.MustCompile("`" + constant + "` (\\d+)[ ,]").FindStringSubmatch(text(design))
		if m == nil {
			t.Errorf("%s has no number of %s", design, constant)
			continue
		}
		check(design, constant, m[1])
	}
	for _, phrase := range []struct{ name, before, constant string }{
		{"doc.go", "Its first ", "LookEvery"},
		{"doc.go", "After ", "mapFrom"},
		{"doc.go", "From ", "readyFrom"},
		{"memory.go", "a File that is mapped after ", "mapFrom"},
		{"memory.go", "in 64 KiB with fewer than ", "readyFrom"},
		{"docs/design.md", "The file is mapped once ", "mapFrom"},
		{"docs/where-it-pays.md", "a file is mapped after ", "mapFrom"},
		{"docs/where-it-pays.md", "| the first ", "LookEvery"},
	} {
		m := regexp.MustCompile(regexp.QuoteMeta(phrase.before) + `(\d+)\s`).FindStringSubmatch(text(phrase.name))
		if m == nil {
			t.Errorf("%s does not say %q and a number", phrase.name, phrase.before)
			continue
		}
		check(phrase.name, phrase.constant, m[1])
	}
}
