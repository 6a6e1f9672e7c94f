package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// testName names a test, or with an empty test the package itself.
type testName struct{ pkg, test string }

func (n testName) String() string { return strings.TrimSuffix(n.pkg+" "+n.test, " ") }

// outcome is how each test ended: pass, fail or skip.
type outcome map[testName]string

// count returns the number of tests that ended so.
func (o outcome) count(how string) (n int) {
	for name, action := range o {
		if action == how && name.test != "" {
			n++
		}
	}
	return n
}

// differences returns the tests that ended in another way in p, or that only one of both has.
func (o outcome) differences(p outcome) (names []testName) {
	for name := range o {
		if o[name] != p[name] {
			names = append(names, name)
		}
	}
	for name := range p {
		if _, ok := o[name]; !ok {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b testName) int { return cmp.Compare(a.String(), b.String()) })
	return names
}

// event is one of go test -json.
type event struct{ Action, Package, Test, Output string }

// parseEvents reads the output of go test -json. A test that did not end has failed. The
// output of packages that do not build, and of tests that fail, goes to log.
func parseEvents(r io.Reader, log io.Writer) (outcome, error) {
	result := outcome{}
	output := map[testName][]byte{}
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		var e event
		name := testName{}
		switch {
		case len(line) == 0:
		case json.Unmarshal(line, &e) != nil:
			log.Write(line) // a message of the go command itself
		default:
			name = testName{e.Package, e.Test}
		}
		switch e.Action {
		case "start", "run":
			result[name] = "fail"
		case "build-output":
			io.WriteString(log, e.Output)
		case "output":
			output[name] = append(output[name], e.Output...)
		case "pass", "skip":
			result[name] = e.Action
			delete(output, name)
		case "fail":
			result[name] = e.Action
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return result, err
		}
	}
	for _, name := range result.differences(outcome{}) {
		if result[name] == "fail" {
			fmt.Fprintf(log, "=== %v\n%s", name, output[name])
		}
	}
	return result, nil
}

// suite is one run of a project's tests.
type suite struct {
	outcome
	mappings int64
	took     time.Duration
}

// test runs the tests of the packages in dir, without vet: the go line of the module is not what its
// authors have vetted.
func (u *upstream) test(ctx context.Context, p *project, dir, variant string, packages []string) (*suite, error) {
	tmp, count := filepath.Join(u.dir, "tmp"), filepath.Join(u.dir, "count")
	if err := os.MkdirAll(tmp, 0o755); err != nil {
		return nil, err
	}
	defer removeAll(tmp)
	if err := os.WriteFile(count, nil, 0o644); err != nil {
		return nil, err
	}
	log, err := u.log(p, variant)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	ctx, cancel := context.WithTimeout(ctx, u.limit)
	defer cancel()
	args := slices.Concat([]string{"test", "-json", "-count=1", "-vet=off", "-timeout=" + u.timeout.String(), "-overlay=" + u.counted}, p.flags)
	if variant == eagerly {
		args = append(args, eagerTag)
	}
	args = append(args, packages...)
	cmd := command(ctx, dir, "go", args...)
	cmd.Env = append(append(cmd.Env, "TMPDIR="+tmp, countVar+"="+count), p.env...)
	cmd.Stderr = log
	killAll(cmd)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	result, err := parseEvents(out, log)
	failed := cmd.Wait() // a test that failed is no error here
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("stopped after %v: %w", time.Since(began).Round(time.Second), ctx.Err())
	case err != nil:
		return nil, err
	case len(result) == 0:
		return nil, fmt.Errorf("no test ran: %v; see %s", failed, log.Name())
	}
	s := &suite{outcome: result, took: time.Since(began)}
	fi, err := os.Stat(count)
	if err == nil {
		s.mappings = fi.Size()
	}
	return s, err
}

// removeAll removes a directory in which a program may have left some that are read-only.
func removeAll(dir string) error {
	filepath.WalkDir(dir, func(name string, e os.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			os.Chmod(name, 0o755)
		}
		return nil
	})
	return os.RemoveAll(dir)
}

// packagesOf returns the packages of the tests, each once.
func packagesOf(tests []testName) (list []string) {
	for _, name := range tests {
		if !slices.Contains(list, name.pkg) {
			list = append(list, name.pkg)
		}
	}
	return list
}
