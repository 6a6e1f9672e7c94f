// Command needle looks for a text in a file, or for the first byte that is not
// zero, and says where it is and how fast that was found.
//
//	needle FILE [TEXT]
//
// The exit status is that of grep: 0 if it was found, 1 if not, 2 for an error.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/scan"
)

func main() {
	flag.Usage = func() { fmt.Fprintln(flag.CommandLine.Output(), "usage: needle FILE [TEXT]") }
	flag.Parse()
	if flag.NArg() < 1 || flag.NArg() > 2 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	context.AfterFunc(ctx, stop) // so that a second interrupt ends what does not look at ctx
	switch found, err := search(ctx, os.Stdout, flag.Arg(0), flag.Args()[1:]); {
	case err != nil:
		fmt.Fprintln(os.Stderr, "needle:", err)
		os.Exit(2)
	case !found:
		os.Exit(1)
	}
}

func search(ctx context.Context, out io.Writer, name string, text []string) (found bool, err error) {
	f, err := mmapfile.Open(name)
	if err != nil {
		return false, err
	}
	defer f.Close()

	var s scan.Scanner
	if fi, err := os.Stderr.Stat(); err == nil && fi.Mode()&os.ModeCharDevice != 0 {
		s.Progress = bar
	}
	began := time.Now()
	var off int64
	if len(text) > 0 {
		off, err = s.Index(ctx, f, []byte(text[0]))
	} else {
		off, err = s.IndexNot(ctx, f, 0)
	}
	took := time.Since(began)
	if s.Progress != nil {
		fmt.Fprint(os.Stderr, "\r\x1b[K")
	}
	if fi, serr := f.Stat(); errors.Is(err, errors.ErrUnsupported) && serr == nil && !fi.Mode().IsRegular() {
		return false, fmt.Errorf("%s is not a regular file", name) // a directory, for one
	}
	if err != nil {
		return false, err
	}
	searched := off // all that had to be, at least
	if off < 0 {
		searched = f.Len()
		fmt.Fprint(out, "not found")
	} else {
		fmt.Fprintf(out, "found at %d", off)
	}
	fmt.Fprintf(out, ": %.1f GB/s (%v)\n", float64(searched)/1e9/took.Seconds(), took.Round(time.Microsecond))
	return off >= 0, nil
}

// bar draws how far the search is.
func bar(done, total int64) {
	const width = 40
	n := int(done * width / max(total, 1))
	fmt.Fprintf(os.Stderr, "\r[%s%s] %3d%%", strings.Repeat("#", n), strings.Repeat(".", width-n), done*100/max(total, 1))
}
