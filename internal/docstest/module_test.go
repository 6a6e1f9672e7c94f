package docstest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A module of one's own builds by the commands of the README, from an empty folder on.
func TestReadme_OwnModule(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip(err)
	}
	t.Chdir(root)
	clone, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	commands := []string{"go mod init example"}
	if !strings.Contains(strings.Join(fileLines(t, "README.md"), "\n"), "`"+commands[0]+"`") {
		t.Errorf("README.md does not name %s", commands[0])
	}
	for _, b := range (mdPage{"README.md", fileLines(t, "README.md")}).codeBlocks(t) {
		for _, line := range b.lines {
			if strings.HasPrefix(line, "go mod ") || strings.HasPrefix(line, "go get ") {
				command, _, _ := strings.Cut(line, " #")
				commands = append(commands, command)
			}
		}
	}
	if len(commands) != 4 {
		t.Fatalf("README.md has these commands for a module: %q", commands)
	}
	dir := t.TempDir()
	program := "package main\n\nimport \"go.dw1.io/mmapfile\"\n\nfunc main() {\n\tf, err := mmapfile.Open(\"go.mod\") // was: os.Open\n\tprintln(f, err)\n}\n"
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, command := range append(commands, "go build -o program.exe .") {
		args := strings.Fields(command)
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], "../mmapfile", clone)
		}
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir = dir
		// What the module needs was there to build this test.
		cmd.Env = append(os.Environ(), "PWD="+dir, "GOPROXY=off", "GOSUMDB=off", "GOWORK=off", "GOFLAGS=")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
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
