// Command events keeps a log of lines: one terminal writes, others follow.
//
//	events write FILE     appends each line of the standard input
//	events follow FILE    prints them as they come, the old ones first
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"time"

	"go.dw1.io/mmapfile/eventlog"
)

func main() {
	flag.Usage = func() { fmt.Fprintln(flag.CommandLine.Output(), "usage: events write|follow FILE") }
	flag.Parse()
	do, name := flag.Arg(0), flag.Arg(1)
	if flag.NArg() != 2 || do != "write" && do != "follow" {
		flag.Usage()
		os.Exit(2)
	}
	var err error
	if do == "write" {
		err = write(name, os.Stdin) // an interrupt may end it at any time: what was appended is in the file
	} else {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		defer stop()
		go func() {
			waitUnread(os.Stdout)
			stop()
		}()
		err = follow(ctx, name, os.Stdout)
	}
	if errors.Is(err, errors.ErrUnsupported) {
		err = fmt.Errorf("%s is not a regular file", name)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "events:", err)
		os.Exit(1)
	}
}

// write appends the lines of in.
func write(name string, in io.Reader) (err error) {
	l, err := eventlog.Open(name, eventlog.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	if cut := l.Recovery().TruncatedBytes; cut > 0 {
		fmt.Fprintf(os.Stderr, "events: a crash has left %d bytes that were not whole\n", cut)
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, math.MaxInt) // a line may be longer than the scanner's 64 KiB
	for lines.Scan() {
		if _, err := l.Append(lines.Bytes()); err != nil {
			return err
		}
	}
	return lines.Err()
}

// follow prints events until ctx is done.
func follow(ctx context.Context, name string, out io.Writer) error {
	r, err := eventlog.OpenReader(name)
	if err != nil {
		return err
	}
	defer r.Close()
	for e, err := range r.Follow(ctx, 0) {
		if errors.Is(err, context.Canceled) {
			return nil
		}
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(out, "%s %s\n", e.Time.Format(time.RFC3339Nano), e.Data); err != nil {
			return err
		}
	}
	return nil
}
