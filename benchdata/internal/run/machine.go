package run

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// writeMachine writes where and when the results were measured, as configuration lines of Go's
// benchmark format, and further versions. The lines goos, goarch, pkg and cpu come from the
// benchmark itself.
func writeMachine(w io.Writer, dir string, versions ...[2]string) {
	for _, line := range append([][2]string{
		{"date", time.Now().UTC().Format(time.RFC3339)},
		{"commit", output("git", "describe", "--always", "--dirty", "--abbrev=12")},
		{"kernel", cmp.Or(output("uname", "-sr"), runtime.GOOS)},
		{"fs", fileSystem(dir)},
		{"go", runtime.Version()},
		{"cores", fmt.Sprint(runtime.NumCPU())},
		{"affinity", procLine("/proc/self/status", "Cpus_allowed_list")},
		{"memory", procLine("/proc/meminfo", "MemTotal")},
		{"hugepages", firstLine("/sys/kernel/mm/transparent_hugepage/enabled")},
		{"load", firstLine("/proc/loadavg")},
	}, versions...) {
		fmt.Fprintf(w, "%s: %s\n", line[0], cmp.Or(line[1], "unknown"))
	}
}

// output is what a program prints, or nothing: none of these lines is worth failing for.
func output(name string, args ...string) string {
	out, _ := exec.Command(name, args...).Output()
	return strings.TrimSpace(string(out))
}

func firstLine(file string) string {
	text, _ := os.ReadFile(file)
	line, _, _ := strings.Cut(string(text), "\n")
	return line
}

// procLine is what a file of lines like "key: value" has under key.
func procLine(file, key string) string {
	text, _ := os.ReadFile(file)
	for line := range strings.Lines(string(text)) {
		if k, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == key {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// fileSystem is the type of the file system that dir is on, on Linux.
func fileSystem(dir string) string {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return ""
	}
	mounts, _ := os.ReadFile("/proc/self/mounts")
	longest, fs := "", ""
	for line := range strings.Lines(string(mounts)) {
		// A later mount on the same directory hides an earlier one.
		f := strings.Fields(line)
		if len(f) > 2 && len(f[1]) >= len(longest) && within(dir, f[1]) {
			longest, fs = f[1], f[2]
		}
	}
	return fs
}

func within(dir, parent string) bool {
	return dir == parent || strings.HasPrefix(dir, strings.TrimSuffix(parent, "/")+"/")
}

// processor is the name that Linux has for it.
func processor() string { return cmp.Or(procLine("/proc/cpuinfo", "model name"), runtime.GOARCH) }
