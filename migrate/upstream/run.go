package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"go.dw1.io/mmapfile/migrate/analyzer"
)

// prepare builds migrate and the overlay.
func (u *upstream) prepare(ctx context.Context) (err error) {
	if u.tool, err = buildMigrate(u.root, u.dir); err != nil {
		return err
	}
	if u.counted, err = overlay(u.root, filepath.Join(u.dir, "counted")); err != nil {
		return err
	}
	commit, err := runIn(u.root, "git", "rev-parse", "--short=12", "HEAD")
	if err != nil {
		commit = []byte("unknown")
	}
	// What a run writes does not change what it measures.
	if changes, err := runIn(u.root, "git", "status", "--porcelain", ".", ":(exclude)migrate/upstream", ":(exclude)docs"); err != nil || len(changes) > 0 {
		commit = append(bytes.TrimSpace(commit), " with changes"...)
	}
	u.line = fmt.Sprintf("%s at commit %s; %s, %d cores, %s/%s, %s", time.Now().UTC().Format(time.DateOnly), bytes.TrimSpace(commit),
		cpu(), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version())
	return nil
}

// cpu returns the name of the processor, as Linux has it.
func cpu() string {
	b, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(b)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown processor"
}

// name returns the file or directory of a side of p.
func (u *upstream) name(p *project, side string) string {
	return filepath.Join(u.dir, strings.ReplaceAll(p.path, "/", "_")+"."+side)
}

// copy makes a copy of p with the same go.mod for all sides, and with the edits if there is
// to be any. It returns the directory and the version of Go.
func (u *upstream) copy(p *project, side string, edits bool) (dir, version string, err error) {
	m, err := download(p.path + "@" + p.version)
	if err != nil {
		return "", "", err
	}
	dir = u.name(p, side)
	if err := removeAll(dir); err != nil {
		return "", "", err
	}
	if err := os.CopyFS(dir, os.DirFS(m.Dir)); err != nil {
		return "", "", err
	}
	if p.with != nil {
		with, _, err := u.copy(p.with, side, edits)
		if err != nil {
			return "", "", err
		}
		if _, err := runIn(dir, "go", "mod", "edit", "-replace="+p.with.path+"="+with); err != nil {
			return "", "", err
		}
	}
	if version, err = require(dir, u.root); err != nil || !edits {
		return dir, version, err
	}
	return dir, version, apply(dir, p.edits)
}

// log opens the log of a side of p, to be appended to.
func (u *upstream) log(p *project, side string) (*os.File, error) {
	return os.OpenFile(u.name(p, side+".log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
}

// fix rewrites what migrate rewrites in the copy of p, and of the module with it.
func (u *upstream) fix(p *project, side string) error {
	for ; p != nil; p = p.with {
		log, err := u.log(p, side)
		if err != nil {
			return err
		}
		rewrite(log, u.name(p, side), u.tool, p.packages...)
		if err := log.Close(); err != nil {
			return err
		}
	}
	return nil
}

// count counts the calls that open a file in p and in the module with it, and the edits.
func (u *upstream) count(p *project, r *record) error {
	for ; p != nil; p = p.with {
		log, err := u.log(p, "os")
		if err != nil {
			return err
		}
		calls, err := reportOf(log, u.name(p, "os"), u.tool, p.packages...)
		if err := errors.Join(err, log.Close()); err != nil {
			return err
		}
		for _, d := range calls {
			if d.Category == analyzer.Dependency {
				continue
			}
			if r.Calls++; d.Category == analyzer.Rewrite || d.Category == analyzer.NoGain {
				r.Migrated++
			}
		}
		r.Edits += len(p.edits)
	}
	return nil
}

// project runs one of them. With old, it runs the benchmarks alone, and keeps the rest of that.
func (u *upstream) project(ctx context.Context, p *project, old *record) (*record, error) {
	u.progress(p, "copying %s", p.version)
	r := &record{Path: p.path, Version: p.version, Run: u.line}
	base, version, err := u.copy(p, "os", false)
	if err != nil {
		return nil, err
	}
	r.Go = version
	if err := u.count(p, r); err != nil {
		return nil, err
	}
	var variants []string
	if r.Migrated > 0 {
		variants = append(variants, migrated)
	}
	if r.Edits > 0 {
		variants = append(variants, edited)
	}
	last := ""
	for _, variant := range variants {
		if last, _, err = u.copy(p, variant, variant == edited); err != nil {
			return nil, err
		}
		if err := u.fix(p, variant); err != nil {
			return nil, err
		}
	}
	if old != nil {
		*r = *old
	} else if err := u.suites(ctx, p, r, variants); err != nil {
		return nil, err
	}
	if p.bench != "" && u.rounds > 0 {
		r.BenchmarkRun = u.line
		r.Benchmarks, err = u.benchmarks(ctx, p, base, last)
	}
	return r, err
}

// suites runs the suite of p in all variants.
func (u *upstream) suites(ctx context.Context, p *project, r *record, variants []string) error {
	last := u.name(p, variants[len(variants)-1])
	packages, err := u.packages(p, last)
	if err != nil {
		return err
	}
	want, err := u.suite(ctx, p, r, u.name(p, "os"), onOS, packages, nil)
	if err != nil {
		return err
	}
	for _, variant := range variants {
		if _, err := u.suite(ctx, p, r, u.name(p, variant), variant, packages, want); err != nil {
			return err
		}
	}
	_, err = u.suite(ctx, p, r, last, eagerly, packages, want)
	return err
}

// suite runs a variant of the suite, and records how it differs from want.
func (u *upstream) suite(ctx context.Context, p *project, r *record, dir, variant string, packages []string, want outcome) (outcome, error) {
	s, err := u.test(ctx, p, dir, variant, packages)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", variant, err)
	}
	var differ, flaky []string
	if want != nil {
		names := want.differences(s.outcome)
		steady, err := u.steady(ctx, p, dir, variant, want, slices.Clone(names))
		if err != nil {
			return nil, fmt.Errorf("%s, again: %w", variant, err)
		}
		for _, n := range names {
			if slices.Contains(steady, n) {
				differ = append(differ, n.String())
			} else {
				flaky = append(flaky, n.String())
			}
		}
	}
	r.Suites = append(r.Suites, suiteRecord{
		Variant: variant, Passed: s.count("pass"), Failed: s.count("fail"), Skip: s.count("skip"),
		Packages: len(packages), Mappings: s.mappings, Seconds: int(s.took.Seconds()), Differ: differ, Flaky: flaky,
	})
	u.progress(p, "%s: %d tests passed, %d failed, %d skipped; %d mappings; %v", variant,
		s.count("pass"), s.count("fail"), s.count("skip"), s.mappings, s.took.Round(time.Second))
	for _, name := range differ[:min(len(differ), 10)] {
		u.progress(p, "%s: another result than over os.File: %s", variant, name)
	}
	return s.outcome, nil
}

// steady runs tests that differ again, twice in dir and then on os.File. It returns those that
// never end as on the other side: the rest are flaky.
func (u *upstream) steady(ctx context.Context, p *project, dir, variant string, want outcome, names []testName) ([]testName, error) {
	got := outcome{}
	for try := 0; try < 3 && len(names) > 0; try++ {
		side := dir
		if try == 2 {
			side, variant = u.name(p, "os"), onOS
		}
		again, err := u.test(ctx, p, side, variant, packagesOf(names))
		if err != nil {
			return nil, err
		}
		if try == 2 {
			want = again.outcome
		} else {
			got = again.outcome
		}
		still := want.differences(got)
		names = slices.DeleteFunc(names, func(n testName) bool { return !slices.Contains(still, n) })
	}
	return names, nil
}

// packages lists those whose tests run: their programs have package mmapfile in the changed copy.
func (u *upstream) packages(p *project, dir string) (list []string, err error) {
	format := `{{if .ForTest}}{{else if .Deps}}{{.ImportPath}} {{join .Deps " "}}{{end}}`
	out, err := runIn(dir, "go", append([]string{"list", "-e", "-test", "-f", format}, p.packages...)...)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(out)) {
		deps := strings.Fields(line)
		name, ok := strings.CutSuffix(deps[0], ".test")
		if ok && slices.Contains(deps, mmapfilePath) &&
			!slices.ContainsFunc(p.leftOut, func(l leftOut) bool { return name == p.path+"/"+l.name }) {
			list = append(list, name)
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("no package of %v has tests and opens a File", p.packages)
	}
	return list, nil
}

// progress prints a line.
func (u *upstream) progress(p *project, format string, args ...any) {
	fmt.Printf("%s %s: %s\n", time.Now().Format(time.TimeOnly), p.path, fmt.Sprintf(format, args...))
}
