package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// reported is the exit status of a run that reports something.
const reported = 3

// TestFix_Builds rewrites the packages that the analyzer is tested with, in a module that has
// the real package mmapfile. Before and after, it runs their functions and compares what they
// do. After, every File is mapped from the first call.
func TestFix_Builds(t *testing.T) {
	dir := module(t, filepath.FromSlash("analyzer/testdata/src"))
	copySource(t, filepath.FromSlash("testdata/golden"), dir)
	packages := []string{"./behaviour", "./callee", "./dot", "./exported", "./fields", "./funcs", "./gain", "./gainall",
		"./generated", "./imports", "./locals", "./notreturned", "./progress", "./returned", "./tags", "./types"}
	execute(t, dir, 0, "go", append([]string{"build"}, packages...)...)
	run := func(flags ...string) string {
		data, name := t.TempDir(), filepath.Join(t.TempDir(), "main.exe")
		write(t, filepath.Join(data, "x"), "a file that a variable of a package opens")
		execute(t, dir, 0, "go", append(append([]string{"build", "-ldflags=-w", "-o", name}, flags...), "./main")...)
		return execute(t, data, 0, name)
	}
	before := run()
	execute(t, dir, 0, toolPath(t), append([]string{"-fix", "-all"}, packages...)...)
	execute(t, dir, 0, "go", append([]string{"build"}, packages...)...)
	execute(t, dir, 0, "go", append([]string{"build", "-tags=never"}, packages...)...)
	execute(t, dir, 0, "go", append([]string{"vet"}, packages...)...)
	if out := execute(t, dir, 0, "gofmt", "-l", "fields", "gain", "imports", "locals"); out != "" {
		t.Errorf("not formatted: %s", out)
	}
	again := execute(t, dir, reported, toolPath(t), append([]string{"-all"}, packages...)...)
	for line := range strings.Lines(again) {
		if !strings.Contains(line, " stays: ") && !strings.Contains(line, "also in the way") && !strings.HasPrefix(line, "migrate: ") {
			t.Errorf("the second run: %s", line)
		}
	}
	overlay, r := mapFirst(t)
	sameOutput(t, before, run(overlay))
	r.check(t, dir, packages, map[string]string{
		"imports.alone":    "its first call panics, before and after",
		"gain.write":       "the file stays empty",
		"gain.buffered":    "the file stays empty",
		"gain.writeOnly":   "open for writing only",
		"gainall.copyFile": "the target is open for writing only",
		"locals.reused":    "the temporary file stays empty",
	})
}

func TestFix_SameOutput(t *testing.T) {
	dir := module(t, filepath.FromSlash("testdata/program"))
	run := func(flags ...string) string {
		data := t.TempDir()
		out := execute(t, dir, 0, "go", append(append([]string{"run"}, flags...), ".", data)...)
		return strings.ReplaceAll(out, data, "DIR")
	}
	before := run()
	if diff := execute(t, dir, 0, toolPath(t), "-diff", "./..."); strings.Count(diff, "\n+") < 8 {
		t.Errorf("-diff shows\n%s", diff)
	}
	if source := read(t, filepath.Join(dir, "main.go")); strings.Contains(source, "mmapfile") {
		t.Error("-diff has written")
	}
	execute(t, dir, 0, toolPath(t), "-fix", "-all", "./...")
	source := read(t, filepath.Join(dir, "main.go"))
	if n := strings.Count(source, "mmapfile."); n != 8 {
		t.Errorf("mmapfile is used %d times in\n%s", n, source)
	}
	execute(t, dir, 0, "go", "vet", "./...")
	sameOutput(t, before, run())

	copySource(t, filepath.FromSlash("testdata/golden/observe"), filepath.Join(dir, "observe"))
	write(t, filepath.Join(dir, "stats.go"), "package main\n\nimport \"test.example/observe\"\n\nfunc init() { done = observe.Probe }\n")
	overlay, r := mapFirst(t)
	sameOutput(t, before, run(overlay))
	r.check(t, dir, []string{"."}, map[string]string{
		"main.more": "a name outside is refused, and the kernel copies to the temporary file",
	})
}

const library = `package library

import "os"

func open(name string) (*os.File, error) {
	return os.Open(name)
}

func Read(name string, p []byte) error {
	f, err := open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	for i := range p {
		_, err = f.ReadAt(p[i:i+1], int64(i))
	}
	return err
}
`

// TestFix_TestFiles has a function that the package's own tests call.
func TestFix_TestFiles(t *testing.T) {
	for _, c := range []struct{ name, test, want string }{
		{"Rewritten", "f, err := open(\"x\")\n\tif err == nil {\n\t\tf.Close()\n\t}", "mmapfile.Open"},
		{"Refused", "var f *os.File\n\tf, _ = open(\"x\")\n\tf.Fd()", "os.Open"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := module(t, "")
			write(t, filepath.Join(dir, "library.go"), library)
			source := "package library\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nvar _ = os.Args\n\nfunc TestOpen(t *testing.T) {\n\t" + c.test + "\n}\n"
			write(t, filepath.Join(dir, "library_test.go"), source)
			if c.name == "Rewritten" {
				// Without the test files, what they use is not known.
				if out := execute(t, dir, reported, toolPath(t), "-test=false", "."); !strings.Contains(out, "library_test.go, which this build leaves out") {
					t.Errorf("without tests: %s", out)
				}
			} else if out := execute(t, dir, reported, toolPath(t), "."); strings.Count(out, "library.go:6") != 1 {
				t.Errorf("reported more than once, or not: %s", out)
			}
			execute(t, dir, 0, toolPath(t), "-fix", ".")
			if got := read(t, filepath.Join(dir, "library.go")); !strings.Contains(got, c.want) {
				t.Errorf("no %s in\n%s", c.want, got)
			}
			execute(t, dir, 0, "go", "vet", ".")
		})
	}
}

func TestFix_Cgo(t *testing.T) {
	dir := module(t, "")
	if strings.TrimSpace(execute(t, dir, 0, "go", "env", "CGO_ENABLED")) != "1" {
		t.Skip("cgo is off")
	}
	write(t, filepath.Join(dir, "c.go"), strings.Replace(library, `import "os"`, "// int one(void) { return 1; }\nimport \"C\"\nimport \"os\"\n\nvar _ = C.one()", 1))
	out := execute(t, dir, reported, toolPath(t), ".")
	if !strings.Contains(out, "os.Open stays: the file is generated, or uses cgo") {
		t.Errorf("reported: %s", out)
	}
	execute(t, dir, 0, toolPath(t), "-fix", ".")
	execute(t, dir, 0, "go", "build", ".")
}

// TestReport_Order has files that are parsed in any order.
func TestReport_Order(t *testing.T) {
	dir := module(t, "")
	var want []string
	for i := range 30 {
		name := fmt.Sprintf("f%02d.go", i)
		write(t, filepath.Join(dir, name), fmt.Sprintf("package many\n\nimport \"os\"\n\n%s\nfunc f%d() { _, _ = os.Open(%q) }\n", strings.Repeat("// A comment.\n", 1000*(i%3)), i, name))
		want = append(want, name)
	}
	var got []string
	for line := range strings.Lines(execute(t, dir, reported, toolPath(t), ".")) {
		if name, _, _ := strings.Cut(line, ":"); strings.HasSuffix(name, ".go") {
			got = append(got, filepath.Base(name))
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("reported in the order %q", got)
	}
}

// TestReport_Dependency imports modules that open files in another of their packages.
func TestReport_Dependency(t *testing.T) {
	dir := module(t, filepath.FromSlash("testdata/dependency"))
	requires := ""
	for _, path := range []string{"github.com/syndtr/goleveldb", "other.example/log", "other.example/append"} {
		name := filepath.Base(path)
		write(t, filepath.Join(dir, name, "go.mod"), "module "+path+"\n\ngo 1.26.0\n")
		requires += "require " + path + " v1.0.0\nreplace " + path + " => ./" + name + "\n"
	}
	write(t, filepath.Join(dir, "go.mod"), read(t, filepath.Join(dir, "go.mod"))+requires)
	write(t, filepath.Join(dir, "second", "second.go"), "package second\n\nimport _ \"other.example/log\"\n")
	if out := execute(t, dir, reported, toolPath(t), "./..."); strings.Count(out, "other.example/log opens files itself") != 1 {
		t.Errorf("two packages import a module that is reported in\n%s", out)
	}
	want := []string{
		"main.go:7:2: github.com/syndtr/goleveldb opens files itself, with 1 call, of which 0 may pay and 1 cannot be rewritten: go.dw1.io/mmapfile/adapters/leveldbstorage is the adapter for it",
		"main.go:8:2: other.example/append opens files itself, with 1 call, of which 0 may pay and 0 cannot be rewritten: leave it",
		"main.go:9:2: other.example/log opens files itself, with 3 calls, of which 2 may pay and 2 cannot be rewritten: it has no adapter",
	}
	for status, command := range map[int][]string{
		reported: {toolPath(t), "."},
		1:        {"go", "vet", "-vettool=" + toolPath(t), "."},
	} {
		var got []string
		for line := range strings.Lines(execute(t, dir, status, command[0], command[1:]...)) {
			if i := strings.Index(line, "main.go:"); i >= 0 {
				got = append(got, strings.TrimSpace(line[i:]))
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q reports\n%s", command, strings.Join(got, "\n"))
		}
	}
}

// TestReport_MissingSum has two packages whose imports have no line in go.sum.
func TestReport_MissingSum(t *testing.T) {
	dir := module(t, "")
	var sum strings.Builder
	for line := range strings.Lines(read(t, filepath.Join(dir, "go.sum"))) {
		if strings.Contains(line, "/go.mod h1:") {
			sum.WriteString(line)
		}
	}
	write(t, filepath.Join(dir, "go.sum"), sum.String())
	for _, name := range []string{"one", "two"} {
		write(t, filepath.Join(dir, name, name+".go"), "package "+name+"\n\nimport _ \"go.dw1.io/mmapfile\"\n")
	}
	cmd := exec.Command(toolPath(t), "./...")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=readonly", "GOWORK=off", "PWD="+dir)
	out, err := cmd.CombinedOutput()
	if err == nil || string(out) != "migrate: go.sum lacks lines for the imports: run go mod tidy\n" {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestVet_Tool has a fact about os/exec, which go vet passes on from its own run.
func TestVet_Tool(t *testing.T) {
	dir := module(t, filepath.FromSlash("testdata/program"))
	out := execute(t, dir, 1, "go", "vet", "-vettool="+toolPath(t), "./...")
	for _, want := range []string{"which may pay", "f goes to cmd.Stdin, and os/exec"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

// TestVet_IndirectMethod calls a method of a package that the caller does not import,
// and that no type of its imports names.
func TestVet_IndirectMethod(t *testing.T) {
	dir := module(t, filepath.FromSlash("testdata/indirect"))
	out := execute(t, dir, 1, "go", "vet", "-vettool="+toolPath(t), ".")
	if want := "f goes to a parameter of construct.New().Put, and test.example/sink (sink.go:13) asserts *os.File"; !strings.Contains(out, want) {
		t.Errorf("no %q in\n%s", want, out)
	}
	if plain := execute(t, dir, reported, toolPath(t), "."); strings.Count(plain, " stays: ") != 1 {
		t.Errorf("without go vet:\n%s", plain)
	}
}

func TestFix_Tool(t *testing.T) {
	dir := module(t, filepath.FromSlash("testdata/program"))
	diff := execute(t, dir, 1, "go", "fix", "-fixtool="+toolPath(t), "-diff", "./...")
	if !strings.Contains(diff, "+	\"go.dw1.io/mmapfile\"") {
		t.Errorf("-diff shows\n%s", diff)
	}
	execute(t, dir, 0, "go", "fix", "-fixtool="+toolPath(t), "./...")
	execute(t, dir, 0, "go", "build", "./...")
	if !strings.Contains(read(t, filepath.Join(dir, "main.go")), "mmapfile.Create") {
		t.Error("go fix has rewritten nothing")
	}
}

// A run ends with what came of it, also if nothing pays.
func TestSummary_EachWay(t *testing.T) {
	dir := module(t, "")
	write(t, filepath.Join(dir, "library.go"), library)
	for _, c := range []struct {
		flag   string
		status int
		want   string
	}{
		{"-all", reported, "migrate: calls that are likely to pay or may pay: 1, without a gain in sight: 0, that stay: 0; modules that open files themselves: 0\n"},
		{"-diff", 0, "migrate: nothing is written: -fix makes these changes\n"},
		{"-fix", 0, "migrate: 1 file changed\n"},
		{"-fix", 0, "migrate: nothing to change: "},
		{"-diff", 0, "migrate: nothing to change: "},
		{"-all", 0, "migrate: calls that are likely to pay or may pay: 0,"},
	} {
		if out := execute(t, dir, c.status, toolPath(t), c.flag, "."); !strings.Contains(out, c.want) || strings.Contains(out, "load ") {
			t.Errorf("%s prints\n%s", c.flag, out)
		}
	}
	if out := execute(t, dir, 0, toolPath(t), "-json", "."); strings.Contains(out, "migrate:") {
		t.Errorf("-json prints\n%s", out)
	}
}

func TestUsage_Flags(t *testing.T) {
	out := execute(t, t.TempDir(), 1, toolPath(t))
	for _, want := range []string{"rewrite calls without a gain", "show what -fix would change", "-json"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}
