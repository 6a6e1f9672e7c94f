package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// steps returns the commands and the report of README.md.
func steps(t *testing.T) (commands, report []string) {
	t.Helper()
	b, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range regexp.MustCompile("(?s)```(sh|report)\n(.*?)```").FindAllStringSubmatch(string(b), -1) {
		lines := strings.Split(strings.TrimSpace(block[2]), "\n")
		if block[1] == "sh" {
			commands = append(commands, lines...)
		} else {
			report = append(report, lines...)
		}
	}
	return commands, report
}

// copyHere copies the example, as README.md asks for, without its test.
func copyHere(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"archive.go", "catalogue.go", "data.go", "go.mod", "go.sum", "main.go"} {
		b, err := os.ReadFile(name)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), b, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// execute runs a command and returns what it prints. What go get adds to go.sum needs no network.
func execute(t *testing.T, dir, command string, fails bool, env ...string) string {
	t.Helper()
	cmd := exec.Command("sh", "-c", command)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOSUMDB=off", "GOWORK=off", "PWD="+dir)
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.CombinedOutput()
	if (err != nil) != fails {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
	return string(out)
}

// TestREADME_Steps executes the commands of README.md.
func TestREADME_Steps(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the commands are those of a Unix shell")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	commands, report := steps(t)
	if len(commands) != 10 || len(report) != 4 {
		t.Fatalf("README.md has %d commands and %d lines of a report", len(commands), len(report))
	}
	bin := t.TempDir()
	env := []string{"MMAPFILE=" + root, "GOBIN=" + bin, "PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH")}
	dir := copyHere(t)
	var reads []string
	for _, command := range commands {
		reports := command == "migrate ./..."
		out := execute(t, dir, command, reports, env...)
		switch {
		case reports:
			for _, line := range report {
				if !strings.Contains(out, line) {
					t.Errorf("the report has no line %q:\n%s", line, out)
				}
			}
			if n := len(regexp.MustCompile(`(?m)\.go:\d+:\d+: `).FindAllString(out, -1)); n != len(report) {
				t.Errorf("README.md shows %d lines of a report of %d:\n%s", len(report), n, out)
			}
		case strings.Contains(command, "-diff"):
			if n := strings.Count(out, "\n+\t") - strings.Count(out, "\n+\t\"go.dw1.io/mmapfile\""); n != 4 {
				t.Errorf("%d lines change:\n%s", n, out)
			}
		case command == "go run . data":
			line := out[strings.Index(out, "reads:"):]
			if !strings.Contains(line, "all as in the catalogue") {
				t.Errorf("it prints %s", out)
			}
			reads = append(reads, line)
		}
	}
	source, err := os.ReadFile(filepath.Join(dir, "archive.go"))
	if err != nil || !strings.Contains(string(source), "file    *mmapfile.File // stays open") {
		t.Errorf("%v in\n%s", err, source)
	}
	t.Logf("before and after:\n%s", strings.Join(reads, ""))
}
