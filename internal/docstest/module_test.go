package docstest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The README's snippet builds in a module of one's own by its commands, from an empty folder on. The last two leave
// nothing of them.
func TestReadme_OwnModule(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip(err)
	}
	t.Chdir(root)
	clone, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	var commands []string
	snippet := ""
	for _, b := range (mdPage{"README.md", fileLines(t, "README.md")}).codeBlocks(t) {
		if b.lang == "go" {
			snippet = strings.Join(b.lines, "\n")
		}
		for _, line := range b.lines {
			if strings.HasPrefix(line, "go mod ") || strings.HasPrefix(line, "go get ") {
				command, _, _ := strings.Cut(line, " #")
				commands = append(commands, command)
			}
		}
	}
	if len(commands) != 5 || !strings.Contains(commands[3], "-drop") {
		t.Fatalf("README.md has these commands for a module: %q", commands)
	}
	for i := range commands {
		commands[i] = strings.ReplaceAll(commands[i], "../mmapfile", clone)
	}
	dir := t.TempDir()
	run := func(command string) {
		t.Helper()
		args := strings.Fields(command)
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir = dir
		// What the module needs was there to build this test.
		cmd.Env = append(os.Environ(), "PWD="+dir, "GOPROXY=off", "GOSUMDB=off", "GOWORK=off", "GOFLAGS=")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
	}
	goMod := func() string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	run(commands[0])
	before := goMod()
	for _, command := range commands[1:3] {
		run(command)
	}
	write := func(body, imports string) {
		t.Helper()
		text := fmt.Sprintf("package main\n\nimport (\n\t\"log\"\n\t\"math/rand/v2\"\n\t%s\n)\n\nfunc main() {\n\tname := \"file\"\n%s\n}\n", imports, body)
		if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(snippet, `"go.dw1.io/mmapfile"`)
	run("go build -o program.exe .")
	run("go mod tidy")
	run("go build -o program.exe .")
	write(strings.ReplaceAll(snippet, "mmapfile.Open", "os.Open"), `"os"`)
	run(commands[3])
	run(commands[4])
	run("go build -o program.exe .")
	if after := goMod(); after != before {
		t.Errorf("go.mod was\n%s and is\n%s", before, after)
	}
}

// The two newest releases of Go are the same everywhere.
func TestGo_Versions(t *testing.T) {
	t.Chdir(root)
	text := func(name string) string { return strings.Join(fileLines(t, name), "\n") }
	const older, newer = "1.26", "1.27"
	n := 0
	for _, pattern := range []string{"go.mod", "*/go.mod", "*/*/go.mod"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			n++
			if !strings.Contains(text(name), "\ngo "+older+".0\n") {
				t.Errorf("%s does not have go %s.0", name, older)
			}
		}
	}
	if n < 9 {
		t.Errorf("only %d modules", n)
	}
	for name, want := range map[string]string{
		".ci/run":                    "\nreleases=(go" + older + ".",
		".github/workflows/test.yml": "go: ['" + older + ".x', '" + newer + ".x']",
		"README.md":                  "Go " + older + " or " + newer,
		"CONTRIBUTING.md":            "Go " + older + " or " + newer,
	} {
		if !strings.Contains(text(name), want) {
			t.Errorf("%s does not have %q", name, want)
		}
	}
	release, setups := regexp.MustCompile(`\b1\.\d+\.x`), 0
	for name, lines := range workflows(t) {
		for i, line := range lines {
			key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
			if key == "go-version" {
				setups++
				if value != "'"+older+".x'" && value != "${{ matrix.go }}" {
					t.Errorf("%s:%d: neither '%s.x' nor the matrix: %s", name, i+1, older, value)
				}
			}
			for _, v := range release.FindAllString(line, -1) {
				if v != older+".x" && v != newer+".x" {
					t.Errorf("%s:%d: %s is not one of the two newest Go", name, i+1, v)
				}
			}
		}
	}
	if setups < 9 {
		t.Errorf("only %d workflow jobs set up Go", setups)
	}
	if !strings.Contains(text(".ci/run"), " go"+newer+".") {
		t.Errorf(".ci/run does not have Go %s", newer)
	}
}
