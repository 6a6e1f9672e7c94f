package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

// summarized is in the environment of the process whose output is summarized.
const summarized = "MIGRATE_SUMMARIZED"

// summarize runs the command again, ends its output with a line that says what came of it, and returns its exit status.
// The driver ends the process, so it needs one of its own.
func summarize(args []string) (status int) {
	self, err := os.Executable()
	if err != nil {
		fmt.Fprintln(os.Stderr, "migrate:", err)
		return 1
	}
	fix := hasFlag(args, "fix")
	if fix {
		args = slices.Insert(slices.Clone(args), 0, "-debug=v") // it says how many files were updated
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), summarized+"=1")
	cmd.Stdin, cmd.Stdout = os.Stdin, os.Stdout
	stderr, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "migrate:", err)
		return 1
	}
	var c counts
	c.copy(os.Stderr, stderr)
	if err := cmd.Wait(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		fmt.Fprintln(os.Stderr, "migrate:", err)
		return 1
	}
	status = cmd.ProcessState.ExitCode()
	if fix && status == 0 {
		fmt.Fprintln(os.Stderr, "migrate:", c.fixed(hasFlag(args, "diff")))
	} else if !fix && !hasFlag(args, "json") && (status == 0 || status == reports) {
		fmt.Fprintln(os.Stderr, "migrate:", c.reported())
	}
	return status
}

// reports is the driver's exit status if it reports something.
const reports = 3

// counts are the lines of a report by what they say, and the files that were updated.
type counts struct {
	pays, noGain, stay, modules int
	fixes, files                string
}

var (
	clock   = regexp.MustCompile(`^\d\d:\d\d:\d\d\.\d+ `)
	updated = regexp.MustCompile(`^applied (\d+) fix.*, updated (\d+ files?)$`)
)

// copy copies the output, but for what -debug=v adds.
func (c *counts) copy(w io.Writer, r io.Reader) {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadString('\n')
		text := clock.ReplaceAllString(line, "")
		m := updated.FindStringSubmatch(strings.TrimSpace(text))
		switch {
		case m != nil:
			c.fixes, c.files = m[1], m[2]
			text = ""
		case len(text) < len(line) && (strings.HasPrefix(text, "load ") || strings.HasPrefix(text, "building graph ")):
			text = ""
		case strings.Contains(text, " opens files itself, with "):
			c.modules++
		case !strings.Contains(text, ": os."):
		case strings.Contains(text, " stays: "):
			c.stay++
		case strings.Contains(text, ", without a gain in sight"):
			c.noGain++
		case strings.Contains(text, " can be mmapfile"):
			c.pays++
		}
		io.WriteString(w, text)
		if err != nil {
			return
		}
	}
}

// reported says what a report has.
func (c *counts) reported() string {
	return fmt.Sprintf("calls that are likely to pay or may pay: %d, without a gain in sight: %d, that stay: %d; modules that open files themselves: %d",
		c.pays, c.noGain, c.stay, c.modules)
}

// fixed says what -fix has changed, or -diff shows.
func (c *counts) fixed(diff bool) string {
	switch {
	case c.fixes == "" || c.fixes == "0":
		return "nothing to change: no call that can be rewritten is likely to pay or may pay; without -fix and -diff each call is reported"
	case diff:
		return "nothing is written: -fix makes these changes"
	}
	return c.files + " changed"
}

// hasFlag reports whether the flag is among the arguments.
func hasFlag(args []string, name string) bool {
	return slices.ContainsFunc(args, func(arg string) bool {
		flag, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		return strings.HasPrefix(arg, "-") && flag == name
	})
}
