// Command eventlog reads, verifies, repairs and copies the logs of package eventlog: a
// single file, or the directory of a stream.
//
//	go run ./eventlog/cmd/eventlog help
//
// Reading takes no lock, and changes no file.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

func main() {
	ignorePipe()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second interrupt ends the process
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// Exit codes.
const (
	exitOK = iota
	exitFailure
	exitUsage
)

// env is what a command gets.
type env struct {
	ctx  context.Context
	out  *bufio.Writer
	err  io.Writer
	json bool
	args []string
	wait time.Duration // after which progress is reported

	terminal bool // out is one
}

// command is one of the commands. Its setup defines flags, and returns what runs after they
// were parsed.
type command struct {
	name, args, about, help string
	setup                   func(f *flag.FlagSet) func(*env) error
}

var commands = []command{
	{"dump", "[flags] PATH", "print events", dumpHelp, dump},
	{"tail", "[flags] PATH", "print the last events; with -f also those that will come", tailHelp, tail},
	{"verify", "[flags] PATH", "verify all events, and report all damage", verifyHelp, verify},
	{"repair", "[flags] PATH", "truncate at damage that keeps a writer from opening PATH", repairHelp, repair},
	{"copy", "[flags] SRC DST", "copy a stream, which may be written meanwhile, to a new directory", copyHelp, copyStream},
}

var (
	errDamage = errors.New("damaged") // the command has reported it
	errUsage  = errors.New("usage")
)

// run is the program. It returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return runAfter(ctx, args, stdout, stderr, 2*time.Second)
}

// runAfter is run, with the time after which progress is reported.
func runAfter(ctx context.Context, args []string, stdout, stderr io.Writer, wait time.Duration) int {
	e := &env{ctx: ctx, out: bufio.NewWriter(stdout), err: stderr, wait: wait, terminal: isTerminal(stdout)}
	err := e.run(args)
	if ferr := e.out.Flush(); err == nil {
		err = ferr
	}
	switch {
	case err == nil || brokenPipe(err):
		return exitOK
	case errors.Is(err, errUsage):
		return exitUsage
	case !errors.Is(err, errDamage):
		fmt.Fprintln(stderr, "eventlog:", err)
	}
	return exitFailure
}

func (e *env) run(args []string) error {
	for len(args) > 0 && (args[0] == "-json" || args[0] == "--json") { // as after the command
		e.json, args = true, args[1:]
	}
	if len(args) == 0 {
		usage(e.err)
		return errUsage
	}
	name, args := args[0], args[1:]
	switch name {
	case "help", "-h", "-help", "--help":
		if len(args) == 0 {
			usage(e.out)
			return nil
		}
		name, args = args[0], []string{"-h"}
	}
	for _, c := range commands {
		if c.name == name {
			return e.command(c, args)
		}
	}
	return e.misused("unknown command %q", name)
}

// misused reports a wrong use of the command line.
func (e *env) misused(format string, args ...any) error {
	fmt.Fprintf(e.err, "eventlog: "+format+"; see eventlog help\n", args...)
	return errUsage
}

func (e *env) command(c command, args []string) error {
	f := flag.NewFlagSet(c.name, flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.BoolVar(&e.json, "json", e.json, "print JSON, one value a line")
	do := c.setup(f)
	for { // flags may follow PATH
		if err := f.Parse(args); errors.Is(err, flag.ErrHelp) {
			c.usage(e.out, f)
			return nil
		} else if err != nil {
			return e.misused("%s: %v", c.name, err)
		}
		if f.NArg() == 0 {
			break
		}
		e.args, args = append(e.args, f.Arg(0)), f.Args()[1:]
	}
	if names := strings.Fields(c.args)[1:]; len(e.args) != len(names) {
		return e.misused("%s: %s needed", c.name, strings.Join(names, " and ")+map[bool]string{true: " is", false: " are"}[len(names) == 1])
	}
	return do(e)
}

func usage(w io.Writer) {
	fmt.Fprintln(w, "usage: eventlog COMMAND [flags] PATH")
	fmt.Fprintln(w, "\nPATH is a log, or the directory of a stream. The commands are:")
	fmt.Fprintln(w)
	for _, c := range commands {
		fmt.Fprintf(w, "  %-8s%s\n", c.name, c.about)
	}
	fmt.Fprint(w, `
"eventlog help COMMAND" shows its flags, which may also follow PATH. With -json all commands print JSON lines. The
data of an event are "data", a string, if they are valid UTF-8, and "base64" otherwise.

Only repair changes a log, and only repair needs the lock of its writer.
Exit code: 0 for success, 1 for damage or failure, 2 for wrong usage.
`)
}

func (c command) usage(w io.Writer, f *flag.FlagSet) {
	fmt.Fprintf(w, "usage: eventlog %s %s\n\n%s\n", c.name, c.args, c.help)
	f.SetOutput(w)
	f.PrintDefaults()
}
