// Platforms runs the tests of mmapfile on every platform that one Linux machine
// can execute: natively, under qemu, wine, Node.js and wazero. It prints a line for each, and
// why tests or whole platforms were skipped. The file targets lists them; see the file install
// for what they need.
package main

import (
	"cmp"
	_ "embed"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// A target is a platform and what runs its programs here.
type target struct {
	name string
	env  []string // GOOS and the like
	args []string // arguments of go test
	tool string   // the program needed, in PATH or the bin folder; "" for none
	exec string   // go test's -exec; {tool}, {goroot} and {dir} are replaced
	from string   // the package that has the tool
}

//go:embed targets
var targetList string

// runners are the programs that run those of another platform, and how.
var runners = map[string]string{
	"gcc":    "", // it builds them
	"wine64": "{dir}/wine/run",
	"node":   "{goroot}/lib/wasm/go_js_wasm_exec",
	"wazero": "{goroot}/lib/wasm/go_wasip1_wasm_exec",
}

// parseTargets reads the lines of the file targets, which says what their fields are.
func parseTargets(list string) ([]target, error) {
	var all []target
	for line := range strings.Lines(list) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		f := strings.Fields(line)
		if len(f) != 5 {
			return nil, fmt.Errorf("targets: %d fields, not 5: %s", len(f), line)
		}
		for i := range f {
			if f[i] == "-" {
				f[i] = ""
			}
		}
		t := target{name: f[0], tool: f[3], from: cmp.Or(f[4], f[3])}
		if goos, goarch, ok := strings.Cut(t.name, "/"); ok {
			t.env = []string{"GOOS=" + goos, "GOARCH=" + goarch}
		}
		if f[1] != "" {
			t.env = append(t.env, strings.Split(f[1], ",")...)
		}
		if f[2] != "" {
			t.args = strings.Split(f[2], ",")
		}
		run, ok := runners[t.tool]
		switch {
		case strings.HasPrefix(t.tool, "qemu-"):
			run = "{tool}"
		case t.tool != "" && !ok:
			return nil, fmt.Errorf("targets: nothing says how %s runs programs", t.tool)
		}
		t.exec = run
		all = append(all, t)
	}
	return all, nil
}

type options struct {
	short bool
	run   string
}

func main() {
	var o options
	list := flag.Bool("list", false, "list the targets")
	flag.BoolVar(&o.short, "short", false, "run the tests with -short")
	flag.StringVar(&o.run, "run", "", "run the tests that match, as for go test")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: platforms [-short] [-run regexp] [target...]")
		flag.PrintDefaults()
	}
	flag.Parse()
	targets, err := parseTargets(targetList)
	switch {
	case err != nil:
	case *list:
		for _, t := range targets {
			fmt.Println(t.name)
		}
	default:
		if targets, err = choose(targets, flag.Args()); err == nil {
			err = runAll(targets, o)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "platforms:", err)
		os.Exit(1)
	}
}

// command is go test for the target.
func (t *target) command(root, goroot string, o options) *exec.Cmd {
	args := append([]string{"test", "-json", "-vet=off", "-timeout=30m"}, t.args...)
	if o.short {
		args = append(args, "-short")
	}
	if o.run != "" {
		args = append(args, "-run", o.run)
	}
	if t.exec != "" {
		tool, _ := exec.LookPath(t.tool)
		args = append(args, "-exec", "'"+strings.NewReplacer(
			"{tool}", tool, "{goroot}", goroot, "{dir}", filepath.Join(root, "platforms")).Replace(t.exec)+"'")
	}
	cmd := exec.Command("go", append(args, "./...")...)
	cmd.Dir, cmd.Env = root, append(os.Environ(), t.env...)
	if strings.HasPrefix(t.tool, "qemu-") { // tests that start themselves go through it, too
		cmd.Env = append(cmd.Env, "MMAPFILE_EMULATOR="+t.tool)
	}
	return cmd
}

// runAll runs the targets, and prints a line as each ends.
func runAll(chosen []target, o options) error {
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	root := filepath.Dir(dir)
	os.Setenv("PATH", filepath.Join(root, "bin")+string(os.PathListSeparator)+os.Getenv("PATH"))
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return fmt.Errorf("go env GOROOT: %w", err)
	}
	skips := reasons{}
	var failed []string
	for _, t := range chosen {
		if why := t.missing(root); why != "" {
			fmt.Printf("%-14s skipped: %s\n", t.name, why)
			continue
		}
		r := test(t.command(root, strings.TrimSpace(string(goroot)), o), t.name)
		if !r.print(t.name) {
			failed = append(failed, t.name)
		}
		for _, why := range r.why {
			skips.add(why, t.name)
		}
	}
	skips.print()
	if failed != nil {
		return fmt.Errorf("failed on %s", strings.Join(failed, ", "))
	}
	return nil
}

// missing says what there is no tool for, or "".
func (t *target) missing(root string) string {
	if t.tool == "" {
		return ""
	}
	tool := t.tool
	if _, err := exec.LookPath(tool); err != nil && tool == "wine64" {
		tool = "/usr/lib/wine/wine64" // where Debian has it
	}
	if _, err := exec.LookPath(tool); err != nil {
		return fmt.Sprintf("no %s here; platforms/install gets it (%s)", t.tool, t.from)
	}
	if t.tool == "wine64" {
		fi, err := os.Stat(filepath.Join(root, "bin", "wine", "ready"))
		if err != nil {
			return "wine has not been set up; platforms/install does it"
		}
		if st, ok := fi.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Geteuid() {
			return "wine has been set up by another user; remove bin/wine and run platforms/install again, as this one"
		}
	}
	return ""
}

// choose returns the targets with these names; without names, all of them.
func choose(targets []target, names []string) ([]target, error) {
	if len(names) == 0 {
		return targets, nil
	}
	var chosen []target
	for _, name := range names {
		i := slices.IndexFunc(targets, func(t target) bool { return t.name == name })
		if i < 0 {
			return nil, fmt.Errorf("no target %q; -list lists them", name)
		}
		chosen = append(chosen, targets[i])
	}
	return chosen, nil
}
