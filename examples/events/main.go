// Command events keeps a log of lines: one terminal writes, others follow.
//
//	events write FILE     appends each line of the standard input
//	events follow FILE    prints them as they come, the old ones first
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"go.dw1.io/mmapfile/eventlog"
)

func main() {
	if len(os.Args) != 3 || os.Args[1] != "write" && os.Args[1] != "follow" {
		fmt.Fprintln(os.Stderr, "usage: events write|follow FILE")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	if os.Args[1] == "write" {
		stop() // an interrupt may end it at any time: what was appended is in the file
		err = write(os.Args[2], os.Stdin)
	} else {
		err = follow(ctx, os.Args[2], os.Stdout)
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
	if cut := l.Recovery().Cut; cut > 0 {
		fmt.Fprintf(os.Stderr, "events: a crash has left %d bytes that were not whole\n", cut)
	}
	lines := bufio.NewScanner(in)
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
