package docstest

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// workflows returns the lines of each workflow.
func workflows(t *testing.T) map[string][]string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(".github", "workflows", "*.yml"))
	if err != nil || len(names) == 0 {
		t.Fatal(len(names), err)
	}
	all := map[string][]string{}
	for _, name := range names {
		all[name] = fileLines(t, name)
	}
	return all
}

// A tag can be moved to other code, a commit cannot.
func TestWorkflows_Pinned(t *testing.T) {
	t.Chdir(root)
	pinned := regexp.MustCompile(`@([0-9a-f]{40}) # (v\d+\.\d+\.\d+)$`)
	commits := map[string]string{}
	for name, lines := range workflows(t) {
		for i, line := range lines {
			_, action, ok := strings.Cut(line, "uses: ")
			if !ok {
				continue
			}
			m := pinned.FindStringSubmatch(action)
			if m == nil {
				t.Errorf("%s:%d: no commit, or no version after it: %s", name, i+1, action)
				continue
			}
			action, _, _ = strings.Cut(action, "@")
			if was := commits[action]; was != "" && was != m[1]+" "+m[2] {
				t.Errorf("%s:%d: %s is pinned to two versions", name, i+1, action)
			}
			commits[action] = m[1] + " " + m[2]
		}
	}
	if len(commits) == 0 {
		t.Error("no workflow uses an action")
	}
}

// What a workflow calls exists, and each step of .ci/run is in one: ci.yml runs what -list names, and
// nightly.yml the others.
func TestWorkflows_Calls(t *testing.T) {
	t.Chdir(root)
	call := regexp.MustCompile(`\bmake((?: -s)?(?: [a-z][\w/-]*)+)`)
	targets := makeTargets(t, "Makefile")
	n := 0
	for name, lines := range workflows(t) {
		for i, line := range lines {
			if strings.HasPrefix(strings.TrimSpace(line), "#") {
				continue
			}
			for _, m := range call.FindAllStringSubmatch(line, -1) {
				for _, target := range strings.Fields(strings.TrimPrefix(m[1], " -s")) {
					n++
					if !slices.Contains(targets, target) {
						t.Errorf("%s:%d: there is no target %s", name, i+1, target)
					}
				}
			}
		}
	}
	if n == 0 {
		t.Error("no workflow calls make")
	}
	ci := strings.Join(fileLines(t, ".ci/run"), "\n")
	if !strings.Contains(strings.Join(fileLines(t, ".github/workflows/ci.yml"), "\n"), ".ci/run -list") {
		t.Error("ci.yml does not ask for the steps")
	}
	lists := regexp.MustCompile(`(?m)^(?:steps|nightly)=\((.*)\)$`).FindAllStringSubmatch(ci, -1)
	if len(lists) != 2 {
		t.Fatal("no two lists of steps in .ci/run")
	}
	steps, nightly := strings.Fields(lists[0][1]), strings.Fields(lists[1][1])
	for _, step := range nightly {
		if !strings.Contains(strings.Join(fileLines(t, ".github/workflows/nightly.yml"), "\n"), ".ci/run "+step) {
			t.Errorf("nightly.yml does not run the step %s", step)
		}
	}
	steps = append(steps, nightly...)
	for _, m := range regexp.MustCompile(`(?m)^run_(\w+)\(\)`).FindAllStringSubmatch(ci, -1) {
		if m[1] != "tools" && !slices.Contains(steps, m[1]) {
			t.Errorf("no list has the step %s of .ci/run", m[1])
		}
	}
	for _, step := range steps {
		if !strings.Contains(ci, "\nrun_"+step+"() {") {
			t.Errorf(".ci/run has no step %s", step)
		}
	}
}
