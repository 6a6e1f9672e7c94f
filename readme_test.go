package mmapfile_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// README.md is held to what it talks about: snippets to the examples, commands to the scripts.

// fileLines returns a file of the repository, line by line, whatever its line ends.
func fileLines(t *testing.T, name string) []string {
	t.Helper()
	b, err := os.ReadFile(filepath.FromSlash(name))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.ReplaceAll(string(b), "\r\n", "\n"), "\n")
}

// codeBlock is one fenced block of a Markdown file.
type codeBlock struct {
	lang  string
	line  int // of its fence
	lines []string
}

func codeBlocks(t *testing.T, lines []string) (blocks []codeBlock) {
	t.Helper()
	var b *codeBlock
	for i, line := range lines {
		lang, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && b == nil:
			b = &codeBlock{lang: lang, line: i + 1}
		case fence:
			blocks = append(blocks, *b)
			b = nil
		case b != nil:
			b.lines = append(b.lines, line)
		}
	}
	if b != nil {
		t.Fatalf("README.md:%d: a code block that does not end", b.line)
	}
	return blocks
}

// standsIn says whether want is a run of lines in file, all indented by the same amount.
func standsIn(file, want []string) bool {
	for at := 0; len(want) > 0 && at+len(want) <= len(file); at++ {
		indent, ok := strings.CutSuffix(file[at], want[0])
		if !ok || strings.Trim(indent, "\t") != "" {
			continue
		}
		if slices.EqualFunc(file[at:at+len(want)], want, func(line, want string) bool {
			return line == want && want == "" || line == indent+want
		}) {
			return true
		}
	}
	return false
}

func TestReadmeSnippets(t *testing.T) {
	var examples []string
	for _, name := range []string{"example_test.go", "example_memory_test.go", "example_processes_test.go", "scan/example_test.go", "eventlog/example_test.go"} {
		examples = append(examples, fileLines(t, name)...)
	}
	n := 0
	for _, b := range codeBlocks(t, fileLines(t, "README.md")) {
		if b.lang != "go" {
			continue
		}
		n++
		if !standsIn(examples, b.lines) {
			t.Errorf("README.md:%d: this snippet stands nowhere in example_test.go:\n%s", b.line, strings.Join(b.lines, "\n"))
		}
	}
	if n == 0 {
		t.Error("README.md shows no Go code")
	}
}

func TestReadmeTestCommand(t *testing.T) {
	ci := fileLines(t, ".ci/run")
	n := 0
	for _, b := range codeBlocks(t, fileLines(t, "README.md")) {
		for _, line := range b.lines {
			if !strings.HasPrefix(line, "go test") {
				continue
			}
			n++
			if command, _, _ := strings.Cut(line, "#"); !slices.Contains(ci, strings.TrimSpace(command)) {
				t.Errorf("README.md:%d: .ci/run does not call %q", b.line, command)
			}
		}
	}
	if n == 0 {
		t.Error("README.md names no test command")
	}
}

func TestReadmeMakeTargets(t *testing.T) {
	var (
		inline = regexp.MustCompile("`[^`\n]+`")
		call   = regexp.MustCompile(`\bmake(?: -C ([\w./-]+))?((?: [a-z][\w/-]*)*)`)
		rule   = regexp.MustCompile(`^([A-Za-z][\w .-]*):(?:[^=]|$)`)
	)
	lines := fileLines(t, "README.md")
	code := inline.FindAllString(strings.Join(lines, "\n"), -1)
	for _, b := range codeBlocks(t, lines) {
		if b.lang == "sh" {
			for _, line := range b.lines {
				command, _, _ := strings.Cut(line, "#")
				code = append(code, command)
			}
		}
	}
	n := 0
	for _, c := range code {
		for _, m := range call.FindAllStringSubmatch(c, -1) {
			makefile := filepath.Join(m[1], "Makefile")
			var targets []string
			for _, line := range fileLines(t, makefile) {
				if list, ok := strings.CutPrefix(line, "PLATFORMS := "); ok || strings.HasPrefix(line, "\tlinux/") {
					targets = append(targets, strings.Fields(list+line)...)
				}
				if r := rule.FindStringSubmatch(line); r != nil {
					targets = append(targets, strings.Fields(r[1])...)
				}
			}
			for _, target := range strings.Fields(m[2]) {
				n++
				if !slices.Contains(targets, target) {
					t.Errorf("README.md says %q, but %s has no target %s", m[0], makefile, target)
				}
			}
		}
	}
	if n == 0 {
		t.Error("README.md names no make target")
	}
}

// What the README says of a feature, a test shows.
func TestReadmeFeatures(t *testing.T) {
	names, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var source strings.Builder
	for _, name := range names {
		for _, line := range fileLines(t, name) {
			source.WriteString(line + "\n")
		}
	}
	test := regexp.MustCompile("`(Test[A-Za-z0-9]+)`")
	n := 0
	for i, line := range fileLines(t, "README.md") {
		for _, m := range test.FindAllStringSubmatch(line, -1) {
			n++
			if !strings.Contains(source.String(), "\nfunc "+m[1]+"(") {
				t.Errorf("README.md:%d: there is no %s", i+1, m[1])
			}
		}
	}
	if n == 0 {
		t.Error("README.md names no test")
	}
}

// The figures stand between two lines that their generator looks for.
func TestReadmeFigures(t *testing.T) {
	lines := fileLines(t, "README.md")
	for _, what := range []string{"bench", "performance", "peers", "needle", "events"} {
		begin := slices.Index(lines, "<!-- "+what+":begin -->")
		end := slices.Index(lines, "<!-- "+what+":end -->")
		if begin < 0 || end < begin {
			t.Errorf("README.md: markers of the figures of %s at lines %d and %d", what, begin+1, end+1)
		}
	}
}

func TestReadmeLinks(t *testing.T) {
	link, inline, fenced := regexp.MustCompile(`\]\(([^)#:]+)\)`), regexp.MustCompile("`[^`]*`"), false
	for i, line := range fileLines(t, "README.md") {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		if fenced {
			continue
		}
		line = inline.ReplaceAllString(line, "") // At[T](f, 0) is no link
		for _, m := range link.FindAllStringSubmatch(line, -1) {
			if _, err := os.Stat(filepath.FromSlash(m[1])); err != nil {
				t.Errorf("README.md:%d: %v", i+1, err)
			}
		}
	}
}
