package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// signals are those after which the program removes what it made.
var signals = []os.Signal{os.Interrupt, syscall.SIGTERM}

func main() {
	flag.Usage = func() { fmt.Fprintln(flag.CommandLine.Output(), "usage: first [FILE]") }
	flag.Parse()
	if flag.NArg() > 1 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	defer stop() // not before the end: a second signal would leave the file
	report, err := run(ctx, flag.Args(), 1500*time.Millisecond)
	fmt.Fprintln(os.Stderr) // ends the line of dots
	if err == nil {
		_, err = fmt.Print(report)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "first:", err)
		os.Exit(1)
	}
}

// run compares with the file that args names, or with one that it makes and removes.
func run(ctx context.Context, args []string, d time.Duration) (report string, err error) {
	if len(args) > 0 {
		return compare(ctx, args[0], d)
	}
	name, err := makeFile(ctx)
	if err != nil {
		return "", err
	}
	defer os.Remove(name)
	return compare(ctx, name, d)
}
