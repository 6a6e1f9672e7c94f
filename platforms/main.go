// Platforms runs the tests of mmapfile on every platform that one Linux machine
// can execute: natively, under qemu, wine, Node.js and wazero. It prints a line for each, and
// why tests or whole platforms were skipped. See the file install for what it needs.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// A target is a platform and what runs its programs here.
type target struct {
	name string
	env  []string // GOOS and the like
	args []string // of go test
	tool string   // the program needed, in PATH or the bin folder; "" for none
	exec string   // go test's -exec; {tool}, {goroot} and {dir} are replaced
	from string
}

func linux(arch, qemu string) target {
	return target{
		name: "linux/" + arch, env: []string{"GOOS=linux", "GOARCH=" + arch, "CGO_ENABLED=0"},
		tool: "qemu-" + qemu + "-static", exec: "{tool}", from: "qemu-user-static",
	}
}

var targets = []target{
	{name: "linux/amd64", env: []string{"GOOS=linux", "GOARCH=amd64"}},
	{name: "linux/386", env: []string{"GOOS=linux", "GOARCH=386", "CGO_ENABLED=0"}},
	{name: "nommap", args: []string{"-tags=nommap"}},
	{name: "race-nommap", env: []string{"CGO_ENABLED=1"}, args: []string{"-race", "-tags=nommap"}, tool: "gcc", from: "gcc"},
	// One package after the other: the first of several to start keeps wine's server, and go test, waiting for all.
	{name: "windows/amd64", env: []string{"GOOS=windows", "GOARCH=amd64"}, args: []string{"-p", "1"}, tool: "wine64", exec: "{dir}/wine/run", from: "wine64"},
	{name: "js/wasm", env: []string{"GOOS=js", "GOARCH=wasm"}, tool: "node", exec: "{goroot}/lib/wasm/go_js_wasm_exec", from: "nodejs"},
	{
		name: "wasip1/wasm", env: []string{"GOOS=wasip1", "GOARCH=wasm", "GOWASIRUNTIME=wazero"},
		tool: "wazero", exec: "{goroot}/lib/wasm/go_wasip1_wasm_exec", from: "wazero",
	},
	linux("arm64", "aarch64"),
	linux("arm", "arm"),
	linux("s390x", "s390x"),
	linux("riscv64", "riscv64"),
	linux("ppc64le", "ppc64le"),
	linux("mips64le", "mips64el"),
	loong64(),
}

// loong64 has pages of 16 KiB, and qemu puts memory of its own behind the end of a
// file that is mapped, up to the next of those (target_mmap in linux-user/mmap.c of
// qemu 7.2): what a file grows by does not show in its last page. So nothing is mapped there.
func loong64() target {
	t := linux("loong64", "loongarch64")
	t.args = []string{"-tags=nommap"}
	return t
}

type options struct {
	short bool
	run   string
	jobs  int
}

func main() {
	var o options
	list := flag.Bool("list", false, "list the targets")
	flag.BoolVar(&o.short, "short", false, "run the tests with -short")
	flag.StringVar(&o.run, "run", "", "run the tests that match, as for go test")
	flag.IntVar(&o.jobs, "j", 1, "how many targets to run at a time")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: platforms [-short] [-run regexp] [-j n] [target...]")
		flag.PrintDefaults()
	}
	flag.Parse()
	o.jobs = max(o.jobs, 1)
	if *list {
		for _, t := range targets {
			fmt.Println(t.name)
		}
		return
	}
	if err := runAll(flag.Args(), o); err != nil {
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
func runAll(names []string, o options) error {
	chosen, err := choose(names)
	if err != nil {
		return err
	}
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
	var mu sync.Mutex // of the two above, and of what is printed
	var running sync.WaitGroup
	room := make(chan struct{}, o.jobs)
	for _, t := range chosen {
		room <- struct{}{}
		running.Go(func() {
			defer func() { <-room }()
			missing := t.missing(root)
			var r result
			if missing == "" {
				r = test(t.command(root, strings.TrimSpace(string(goroot)), o), o.progress(t.name))
			}
			mu.Lock()
			defer mu.Unlock()
			switch {
			case missing != "":
				fmt.Printf("%-14s skipped: %s\n", t.name, missing)
			case !r.print(t.name):
				failed = append(failed, t.name)
			}
			for _, why := range r.why {
				skips.add(why, t.name)
			}
		})
	}
	running.Wait()
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

func choose(names []string) ([]target, error) {
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
