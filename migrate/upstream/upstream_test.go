package main

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// moduleRoot returns the directory of the module mmapfile.
func moduleRoot(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return root
}

func writeFile(t *testing.T, name, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// program writes to a file, and then reads it as often as its second argument says.
const program = `package main

import (
	"log"
	"os"
	"strconv"

	"go.dw1.io/mmapfile"
)

func main() {
	f, err := mmapfile.OpenFile(os.Args[1], os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := f.Write(make([]byte, 64<<10)); err != nil {
		log.Fatal(err)
	}
	n, err := strconv.Atoi(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	for range n {
		if _, err := f.ReadAt(make([]byte, 16), 512); err != nil {
			log.Fatal(err)
		}
	}
}
`

// Mappings are counted. With the eager policy a file is mapped after fewer reads.
func TestOverlay_Counts(t *testing.T) {
	root, dir := moduleRoot(t), t.TempDir()
	writeFile(t, filepath.Join(dir, "program", "main.go"), program)
	writeFile(t, filepath.Join(dir, "program", "go.mod"), "module test.example\n\ngo 1.26.0\n")
	if _, err := require(filepath.Join(dir, "program"), root); err != nil {
		t.Fatal(err)
	}
	file, err := overlay(root, filepath.Join(dir, "counted"))
	if err != nil {
		t.Fatal(err)
	}
	build := func(name string, flags ...string) (mappings func(reads string) int64) {
		program, count := filepath.Join(dir, name+".exe"), filepath.Join(dir, name+".count")
		if _, err := runIn(filepath.Join(dir, "program"), "go", append([]string{"build", "-overlay=" + file, "-o", program}, flags...)...); err != nil {
			t.Fatal(err)
		}
		return func(reads string) int64 {
			t.Helper()
			writeFile(t, count, "")
			cmd := exec.Command(program, filepath.Join(dir, "data"), reads)
			cmd.Env = append(os.Environ(), countVar+"="+count)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			fi, err := os.Stat(count)
			if err != nil {
				t.Fatal(err)
			}
			return fi.Size()
		}
	}
	standard, soon := build("default"), build("eager", eagerTag)
	if n := standard("10000"); n == 0 {
		t.Skip("no file is mapped here, as in a tmpfs")
	} else if n != 1 {
		t.Errorf("10000 reads: %d mappings", n)
	}
	if n := standard("4"); n != 0 {
		t.Errorf("4 reads: %d mappings", n)
	}
	if n := soon("4"); n != 1 {
		t.Errorf("4 reads with the eager policy: %d mappings", n)
	}
}

func TestOverlay_Missing(t *testing.T) {
	root := t.TempDir()
	if _, err := overlay(root, t.TempDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	writeFile(t, filepath.Join(root, "internal", "file", "mapping.go"), "package a\n")
	if _, err := overlay(root, t.TempDir()); err == nil || !strings.Contains(err.Error(), "counted") {
		t.Error(err)
	}
}

func TestApply_Imports(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "a", "a.go")
	writeFile(t, name, "package a\n\nimport (\n\t\"os\"\n\t\"strings\"\n)\n\n"+
		`func open() (*os.File, error) { return os.Open(strings.TrimSpace(" x")) }`)
	err := apply(dir, []edit{
		{file: "a/a.go", old: "*os.File", new: "*mmapfile.File"},
		{file: "a/a.go", old: `os.Open(strings.TrimSpace(" x"))`, new: `mmapfile.Open("x")`},
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(name)
	want := `package a import "go.dw1.io/mmapfile" func open() (*mmapfile.File, error) { return mmapfile.Open("x") }`
	if err != nil || strings.Join(strings.Fields(string(got)), " ") != want {
		t.Errorf("%s, %v", got, err)
	}
	if err := apply(dir, []edit{{file: "a/a.go", old: "mmapfile.", new: "os."}}); err == nil {
		t.Error("an edit of text that is there three times is no error")
	}
}

func TestParseEvents_Outcome(t *testing.T) {
	events := `{"Action":"start","Package":"p"}
{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"run","Package":"p","Test":"TestA/b.c"}
{"Action":"output","Package":"p","Test":"TestA/b.c","Output":"why\n"}
{"Action":"fail","Package":"p","Test":"TestA/b.c"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"run","Package":"p","Test":"TestB"}
{"Action":"output","Package":"p","Test":"TestB","Output":"fine\n"}
{"Action":"pass","Package":"p","Test":"TestB"}
{"Action":"run","Package":"p","Test":"TestC"}
{"Action":"skip","Package":"p","Test":"TestC"}
not from a test
{"Action":"run","Package":"p","Test":"TestHangs"}
{"Action":"fail","Package":"p"}
`
	var log bytes.Buffer
	got, err := parseEvents(strings.NewReader(events), &log)
	if err != nil || got.count("pass") != 1 || got.count("fail") != 3 || got.count("skip") != 1 {
		t.Errorf("%v, %v", got, err)
	}
	if text := log.String(); !strings.Contains(text, "why") || !strings.Contains(text, "not from a test") || strings.Contains(text, "fine") {
		t.Errorf("the log has %q", text)
	}
	other := outcome{{"p", ""}: "fail", {"p", "TestA"}: "fail", {"p", "TestA/b.c"}: "fail", {"p", "TestB"}: "fail", {"p", "TestC"}: "skip", {"q", "TestD"}: "pass"}
	differ := got.differences(other)
	if want := []testName{{"p", "TestB"}, {"p", "TestHangs"}, {"q", "TestD"}}; !slices.Equal(differ, want) {
		t.Errorf("%v differ, want %v", differ, want)
	}
	if got, want := packagesOf(differ), []string{"p", "q"}; !slices.Equal(got, want) {
		t.Errorf("in %v, want %v", got, want)
	}
}

func TestParseBenchmarks_Lines(t *testing.T) {
	got, err := parseBenchmarks([]byte("goos: linux\nBenchmarkA/x=1-2 \t 100\t 12.5 ns/op\t 3 MB/s\nBenchmarkB\n    b.go:1: hello\nBenchmarkB-2 \t 1\t 2000 ns/op\nPASS\n"))
	if err != nil || len(got) != 2 || got["BenchmarkA/x=1"] != 12.5 || got["BenchmarkB"] != 2000 {
		t.Errorf("%v, %v", got, err)
	}
}

func TestBenchmark_Ratios(t *testing.T) {
	b := benchmark{OS: []float64{10, 10, 20, 10}, File: []float64{5, 9, 12, 1}}
	if median, low, high := b.ratios(); median != 0.55 || low != 0.5 || high != 0.6 {
		t.Errorf("%v, %v to %v", median, low, high)
	}
	if got, want := b.gain(), "0.55 (0.50 to 0.60)"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	b.File[2] = 40
	if got, want := b.gain(), "0.70 (0.50 to 0.90)"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	b.File[0] = 12
	if got, want := b.gain(), "no difference (0.90 to 1.20)"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestVerdict_Reasons(t *testing.T) {
	good := &record{Suites: []suiteRecord{{Variant: onOS, Failed: 1}, {Variant: migrated, Failed: 1}, {Variant: eagerly, Failed: 1, Mappings: 1}}}
	if err := good.verdict(); err != nil {
		t.Error(err)
	}
	for _, bad := range []suiteRecord{{Variant: eagerly}, {Variant: edited, Mappings: 1, Differ: []string{"p TestA"}}} {
		if (&record{Suites: []suiteRecord{bad}}).verdict() == nil {
			t.Errorf("%+v is no error", bad)
		}
	}
}

func TestShortName_Version(t *testing.T) {
	for module, want := range map[string]string{"go.etcd.io/bbolt": "bbolt", "github.com/go-git/go-git/v6": "go-git"} {
		if got := shortName(module); got != want {
			t.Errorf("%s: %s, want %s", module, got, want)
		}
	}
}

// The page has what was measured, of each project, in the version of the list.
func TestPage_Current(t *testing.T) {
	root := moduleRoot(t)
	list, err := readResults(filepath.Join(root, resultsFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range projects {
		i := slices.IndexFunc(list, func(r *record) bool { return r.Path == p.path })
		if i < 0 || list[i].Version != p.version {
			t.Errorf("%s has no result of %s %s", resultsFile, p.path, p.version)
		} else if err := list[i].verdict(); err != nil {
			t.Errorf("%s: %v", p.path, err)
		}
	}
	if len(list) != len(projects) {
		t.Errorf("%s has %d projects, and the list %d", resultsFile, len(list), len(projects))
	}
	page, err := os.ReadFile(filepath.Join(root, pageFile))
	if err != nil {
		t.Fatal(err)
	}
	page = bytes.ReplaceAll(page, []byte("\r\n"), []byte("\n"))
	want, err := render(page, list)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(page, want) {
		t.Errorf("%s has other figures than %s: run go -C migrate run ./upstream -page", pageFile, resultsFile)
	}
}
