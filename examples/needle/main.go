// Command needle looks for a text in a file, or for the first byte that is not
// zero, and says where it is and how fast that was found.
//
//	needle FILE [TEXT]
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"time"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/scan"
)

func main() {
	if len(os.Args) < 2 || len(os.Args) > 3 {
		fmt.Fprintln(os.Stderr, "usage: needle FILE [TEXT]")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	context.AfterFunc(ctx, stop) // so that a second interrupt ends what does not look at ctx
	if err := search(ctx, os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "needle:", err)
		os.Exit(1)
	}
}

func search(ctx context.Context, name string, text []string) error {
	f, err := mmapfile.Open(name)
	if err != nil {
		return err
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
	if err != nil {
		return err
	}
	searched := off // all that had to be, at least
	if off < 0 {
		searched = int64(f.Len())
		fmt.Print("not found")
	} else {
		fmt.Printf("found at %d", off)
	}
	fmt.Printf(": %.1f GB/s (%v)\n", float64(searched)/1e9/took.Seconds(), took.Round(time.Microsecond))
	return nil
}

// bar draws how far the search is.
func bar(done, total int64) {
	const width = 40
	n := int(done * width / max(total, 1))
	fmt.Fprintf(os.Stderr, "\r[%s%s] %3d%%", strings.Repeat("#", n), strings.Repeat(".", width-n), done*100/max(total, 1))
}
