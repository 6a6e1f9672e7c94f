package main

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// record is the name of the file in which a program built with mapFirst notes its Files.
type record string

// mapFirst returns a flag of the go command that adds testdata/hook/hook.go to package
// internal/file. Programs that are built with it, and run in this test, write the record.
func mapFirst(t *testing.T) (flag string, r record) {
	t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	replace := map[string]string{filepath.Join(root, "internal", "file", "hook.go"): filepath.Join(root, "migrate", "testdata", "hook", "hook.go")}
	for _, c := range []struct{ file, anchor, with string }{
		{"file.go", "\t\tf.cur.StayInKernel()\n\t}\n", "\t\tf.cur.StayInKernel()\n\t}\n\tmapFirst(f)\n"},
		{"track.go", "func (f *File) tracks() bool {\n", "func (f *File) tracks() bool {\n\tmapFirst(f)\n"},
		{"coherence.go", "func (f *File) refresh(b []byte, off int64) {\n", "func (f *File) refresh(b []byte, off int64) {\n\tmapFirst(f)\n"},
	} {
		source := read(t, filepath.Join(root, "internal", "file", c.file))
		if n := strings.Count(source, c.anchor); n != 1 {
			t.Fatalf("%s has %q %d times; the hook needs it once", c.file, c.anchor, n)
		}
		replace[filepath.Join(root, "internal", "file", c.file)] = filepath.Join(dir, c.file)
		write(t, filepath.Join(dir, c.file), strings.Replace(source, c.anchor, c.with, 1))
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "overlay.json")
	write(t, name, string(overlay))
	r = record(filepath.Join(dir, "record"))
	t.Setenv("MMAPFILE_RECORD", string(r))
	return "-overlay=" + name, r
}

var (
	opens    = regexp.MustCompile(`\b(mmapfile2?|mapped)\.(Open|Create|OpenFile|CreateTemp|OpenInRoot)\(`)
	function = regexp.MustCompile(`^func (?:\([^)]*\) )?(\w+)`)
)

// check fails for each place in the packages of dir that opens a File, unless the program
// has mapped one there. unmapped names the functions with other places, and the reasons. It
// also fails if system calls served the reads of observe.Probe.
func (r record) check(t *testing.T, dir string, packages []string, unmapped map[string]string) {
	t.Helper()
	text := read(t, string(r))
	if strings.Contains(text, "canMap false\n") {
		t.Skip("this build has no mappings")
	}
	// One call is the write that makes the created file longer.
	if !strings.Contains(text, "probe 1 2\n") {
		t.Errorf("system calls have served reads, or files are not mapped:\n%s", text)
	}
	missed := map[string]bool{}
	for _, p := range packages {
		names, err := filepath.Glob(filepath.Join(dir, p, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			base := filepath.Base(filepath.Dir(name)) + "/" + filepath.Base(name) + ":"
			pkg, in := "", ""
			for i, line := range strings.Split(read(t, name), "\n") {
				if after, ok := strings.CutPrefix(line, "package "); ok {
					pkg = after
				} else if m := function.FindStringSubmatch(line); m != nil {
					in = m[1]
				}
				if !opens.MatchString(line) {
					continue
				}
				place := base + strconv.Itoa(i+1)
				if strings.Contains(text, "mapped "+place+"\n") {
					continue
				}
				missed[pkg+"."+in] = true
				if unmapped[pkg+"."+in] == "" {
					t.Errorf("%s, in %s: opened %t, mapped never", place, in, strings.Contains(text, "opened "+place+"\n"))
				}
			}
		}
	}
	for name, reason := range unmapped {
		if !missed[name] {
			t.Errorf("all files of %s are mapped, so this is wrong: %s", name, reason)
		}
	}
}

// sameOutput reports the first line that differs.
func sameOutput(t *testing.T, before, after string) {
	t.Helper()
	b, a := strings.Split(before, "\n"), strings.Split(after, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			t.Errorf("line %d of the output:\n%s\nwas:\n%s", i+1, a[i], b[i])
			return
		}
	}
	if len(a) != len(b) {
		t.Errorf("the output has %d lines, and had %d", len(a), len(b))
	}
}
