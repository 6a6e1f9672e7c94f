package docstest

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The documentation must be true: snippets stand in examples, commands in scripts, and names and
// links exist.

// root is where each test changes to, itself: the go command does not see what TestMain does, and
// would keep results of other files.
const root = "../.."

// fileLines returns the lines of a file of the repository.
func fileLines(t *testing.T, name string) []string {
	t.Helper()
	b, err := os.ReadFile(filepath.FromSlash(name))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.ReplaceAll(string(b), "\r\n", "\n"), "\n")
}

// mdPage is a Markdown file of the repository.
type mdPage struct {
	name  string // with slashes, from the root
	lines []string
}

// mdPages returns all of them.
func mdPages(t *testing.T) (all []mdPage) {
	t.Helper()
	for _, name := range files(t, ".md") {
		all = append(all, mdPage{name, fileLines(t, name)})
	}
	return all
}

// files returns the names of the files of the repository with that extension, with slashes.
func files(t *testing.T, ext string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "bin" || len(name) > 1 && name[0] == '.'):
			return filepath.SkipDir
		case !d.IsDir() && filepath.Ext(name) == ext:
			all = append(all, filepath.ToSlash(name))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// codeBlock is one fenced block of a page.
type codeBlock struct {
	lang  string
	line  int // of its fence
	lines []string
}

func (p mdPage) codeBlocks(t *testing.T) (blocks []codeBlock) {
	t.Helper()
	var b *codeBlock
	for i, line := range p.lines {
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
		t.Fatalf("%s:%d: a code block that does not end", p.name, b.line)
	}
	return blocks
}

var inlineCode = regexp.MustCompile("`[^`\n]+`")

// text returns the lines of the page without its code blocks, which become empty lines.
func (p mdPage) text() []string {
	lines, fenced := slices.Clone(p.lines), false
	for i, line := range lines {
		fence := strings.HasPrefix(line, "```")
		if fence {
			fenced = !fenced
		}
		if fence || fenced {
			lines[i] = ""
		}
	}
	return lines
}

// standsIn reports whether file has the lines want in sequence, all indented by the same amount.
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

// sourceLines returns the lines of all files of the library's packages that match, one after the other.
func sourceLines(t *testing.T, pattern string) (lines []string) {
	t.Helper()
	for _, dir := range []string{".", "scan", "eventlog", "live", "raftlog", "internal/docstest", "internal/file", "internal/ostest"} {
		names, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			lines = append(lines, fileLines(t, name)...)
		}
	}
	return lines
}

// Go code in a page is part of an example or of a program in examples, all of which are tested.
func TestReadme_Snippets(t *testing.T) {
	t.Chdir(root)
	examples := sourceLines(t, "example*_test.go")
	programs, err := filepath.Glob(filepath.Join("examples", "*", "main.go"))
	if err != nil || len(programs) == 0 {
		t.Fatal(len(programs), err)
	}
	for _, name := range programs {
		examples = append(examples, fileLines(t, name)...)
	}
	first := 0
	for _, p := range mdPages(t) {
		for _, b := range p.codeBlocks(t) {
			if b.lang != "go" {
				continue
			}
			if !standsIn(examples, b.lines) {
				t.Errorf("%s:%d: this snippet stands in no example:\n%s", p.name, b.line, strings.Join(b.lines, "\n"))
			}
			// The change that the README shows is the one in the program that it tells to run.
			if p.name == "README.md" && standsIn(fileLines(t, "examples/first/main.go"), b.lines[:1]) {
				first++
			}
		}
	}
	if first == 0 {
		t.Error("README.md does not show the change of examples/first")
	}
}

// The README is short. It names one command for tests, which CI calls.
func TestReadme_Minute(t *testing.T) {
	t.Chdir(root)
	ci := fileLines(t, ".ci/run")
	for i, line := range ci {
		ci[i] = strings.TrimSpace(line)
	}
	var tests int
	for _, p := range mdPages(t) {
		if n := len(p.lines) - 1; p.name == "README.md" && n > 150 {
			t.Errorf("README.md has %d lines", n)
		}
		for _, b := range p.codeBlocks(t) {
			for _, line := range b.lines {
				command, _, _ := strings.Cut(line, "#")
				command = strings.TrimSpace(command)
				if strings.HasPrefix(command, "go test") && !slices.Contains(ci, command) {
					t.Errorf("%s:%d: .ci/run does not call %q", p.name, b.line, command)
				}
				if p.name == "README.md" && strings.HasPrefix(command, "go test") {
					tests++
				}
			}
		}
	}
	if tests != 1 {
		t.Errorf("README.md names %d commands to test", tests)
	}
}

// makeTargets returns the targets of a Makefile.
func makeTargets(t *testing.T, makefile string) (list []string) {
	t.Helper()
	rule := regexp.MustCompile(`^([A-Za-z][\w .-]*):(?:[^=]|$)`)
	for _, line := range fileLines(t, makefile) {
		if r := rule.FindStringSubmatch(line); r != nil {
			list = append(list, strings.Fields(r[1])...)
		}
	}
	if makefile == "Makefile" { // it asks for the platforms
		for _, line := range fileLines(t, "platforms/targets") {
			if f := strings.Fields(line); len(f) > 0 && f[0] != "#" {
				list = append(list, f[0])
			}
		}
	}
	return list
}

func TestReadme_MakeTargets(t *testing.T) {
	t.Chdir(root)
	call := regexp.MustCompile(`\bmake(?: -C ([\w./-]+))?((?: [a-z][\w/-]*)*)`)
	n := 0
	for _, p := range mdPages(t) {
		code := inlineCode.FindAllString(strings.Join(p.text(), "\n"), -1)
		for _, b := range p.codeBlocks(t) {
			if b.lang == "sh" {
				for _, line := range b.lines {
					command, _, _ := strings.Cut(line, "#")
					if !strings.HasPrefix(command, "go run . ") { // whose arguments are no targets
						code = append(code, command)
					}
				}
			}
		}
		for _, c := range code {
			for _, m := range call.FindAllStringSubmatch(c, -1) {
				makefile := path.Join(m[1], "Makefile")
				for _, target := range strings.Fields(m[2]) {
					n++
					if !slices.Contains(makeTargets(t, makefile), target) {
						t.Errorf("%s says %q, but %s has no target %s", p.name, m[0], makefile, target)
					}
				}
			}
		}
	}
	if n == 0 {
		t.Error("no page names a make target")
	}
}

// Each test that a page names for a feature exists.
func TestReadme_Features(t *testing.T) {
	t.Chdir(root)
	source := strings.Join(sourceLines(t, "*_test.go"), "\n")
	test := regexp.MustCompile("`(Test[A-Za-z0-9_]+)`")
	n := 0
	for _, p := range mdPages(t) {
		for i, line := range p.lines {
			for _, m := range test.FindAllStringSubmatch(line, -1) {
				n++
				if !strings.Contains(source, "\nfunc "+m[1]+"(") {
					t.Errorf("%s:%d: there is no %s", p.name, i+1, m[1])
				}
			}
		}
	}
	if n == 0 {
		t.Error("no page names a test")
	}
}

// The figures stand between two lines that their generator looks for.
func TestReadme_Figures(t *testing.T) {
	t.Chdir(root)
	for name, blocks := range map[string][]string{
		"README.md":            {"bench"},
		"benchdata/README.md":  {"worst", "calls", "performance"},
		"benchdata/peers.md":   {"peers"},
		"benchdata/events.md":  {"events"},
		"benchdata/durable.md": {"durable"},
		"docs/proven.md":       {"proven"},
	} {
		lines := fileLines(t, name)
		for _, block := range blocks {
			begin := slices.Index(lines, "<!-- "+block+":begin -->")
			end := slices.Index(lines, "<!-- "+block+":end -->")
			if begin < 0 || end < begin+2 {
				t.Errorf("%s: marks of the figures of %s at lines %d and %d", name, block, begin+1, end+1)
			}
		}
	}
}

// anchors returns the names that GitHub gives to the headings of a page.
func (p mdPage) anchors() (names []string) {
	gone := regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	for _, line := range p.text() {
		if title := strings.TrimLeft(line, "#"); title != line {
			title = strings.ToLower(strings.TrimSpace(title))
			names = append(names, strings.ReplaceAll(gone.ReplaceAllString(title, ""), " ", "-"))
		}
	}
	return names
}

func TestReadme_Links(t *testing.T) {
	t.Chdir(root)
	link := regexp.MustCompile(`\]\(([^):]+)\)`) // what has a colon leads elsewhere
	n := 0
	all := mdPages(t)
	for _, p := range all {
		for i, line := range p.text() {
			line = inlineCode.ReplaceAllString(line, "") // At[T](f, 0) is no link
			for _, m := range link.FindAllStringSubmatch(line, -1) {
				n++
				file, anchor, _ := strings.Cut(m[1], "#")
				name := p.name
				if file != "" {
					name = path.Join(path.Dir(p.name), file)
				}
				if _, err := os.Stat(filepath.FromSlash(name)); err != nil {
					t.Errorf("%s:%d: %v", p.name, i+1, err)
				} else if at := slices.IndexFunc(all, func(p mdPage) bool { return p.name == name }); anchor != "" &&
					(at < 0 || !slices.Contains(all[at].anchors(), anchor)) {
					t.Errorf("%s:%d: %s has no heading for #%s", p.name, i+1, name, anchor)
				}
			}
		}
	}
	if n == 0 {
		t.Error("no page has a link")
	}
}

// paragraphs returns the text of a page without tables, figures and code; a code span is one word.
func (p mdPage) paragraphs() (list []string) {
	var now []string
	end := func() {
		if len(now) > 0 {
			list = append(list, strings.Join(now, " "))
		}
		now = nil
	}
	item := regexp.MustCompile(`^\s*(?:[-*]|\d+\.)\s+`)
	link := regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	mark := regexp.MustCompile(`<!-- (figure: .*?|end) -->`)
	figures := false
	for _, line := range p.text() {
		if strings.HasPrefix(line, "<!-- ") {
			figures = strings.HasSuffix(line, ":begin -->")
		}
		line = link.ReplaceAllString(inlineCode.ReplaceAllString(mark.ReplaceAllString(line, ""), "code"), "$1")
		switch {
		case figures || line == "" || strings.ContainsAny(line[:1], "|#<!["):
			end()
		case item.MatchString(line):
			end()
			now = []string{item.ReplaceAllString(line, "")}
		default:
			now = append(now, strings.TrimSpace(line))
		}
	}
	end()
	return list
}

// private are words for which the field has others.
var private = regexp.MustCompile(`(?i)\b(somebody|nobody|whoever|behind|as far as|cut off|lends|lent)\b`)

// Pages use no private language. Generated text is exempt.
func TestReadme_Language(t *testing.T) {
	t.Chdir(root)
	written := []string{"README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "benchdata/README.md", "benchdata/events.md", "benchdata/durable.md",
		"benchdata/peers.md"}
	for _, p := range mdPages(t) {
		if !slices.Contains(written, p.name) && !strings.HasPrefix(p.name, "docs/") {
			continue
		}
		for _, paragraph := range p.paragraphs() {
			if word := private.FindString(paragraph); word != "" {
				t.Errorf("%s: %q in: %s", p.name, word, paragraph)
			}
		}
	}
}
