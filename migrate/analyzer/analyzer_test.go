package analyzer_test

import (
	"fmt"
	"strings"
	"testing"

	"go.dw1.io/mmapfile/migrate/analyzer"
	"golang.org/x/tools/go/analysis/analysistest"
)

// goldenTest accepts the facts about methods. Each package has those of package os, which
// differ from system to system; TestVet_IndirectMethod tests them.
type goldenTest struct{ *testing.T }

func (t goldenTest) Errorf(format string, args ...any) {
	t.Helper()
	if s := fmt.Sprintf(format, args...); !strings.Contains(s, "unexpected fact: {package ") {
		t.Error(s)
	}
}

// TestAnalyzer_Packages loads all packages at once: each needs package os from source.
func TestAnalyzer_Packages(t *testing.T) {
	analysistest.RunWithSuggestedFixes(goldenTest{t}, analysistest.TestData(), analyzer.Analyzer,
		"locals", "fields", "funcs", "imports", "grouped", "taken", "gain", "ends", "copies", // what is rewritten
		"exported", "types", "generated", "tags", "dot", // what would not compile
		"behaviour", "callee", "containers", "inside", "returned", "notreturned", // what would do something else
		"panics", "recovers", "values", "pulls", "filled", "receivers", "iterators", "callbacks", "generics", "ranges", "switches", "shared", // the same, each alone
		"pools", "fresh", "dynamic", "apart", "handed", // what another package may hand out
		"go.dw1.io/mmapfile", // what cannot import itself
	)
}

func TestAnalyzer_All(t *testing.T) {
	old := analyzer.Settings
	defer func() { analyzer.Settings = old }()
	analyzer.Settings = func() analyzer.Options { return analyzer.Options{All: true} }
	analysistest.RunWithSuggestedFixes(goldenTest{t}, analysistest.TestData(), analyzer.Analyzer, "gainall")
}
