package main

import (
	"flag"
	"fmt"
	"time"

	"go.dw1.io/mmapfile/eventlog"
)

const copyHelp = `Copies the stream in the directory SRC to the new directory DST, with all events that are
visible when it begins, which it makes durable first. Its writer may go on. No event is
verified: see verify. DST has its name once it is complete and durable.
`

func copyStream(*flag.FlagSet) func(*env) error {
	return func(e *env) error {
		src, dst := e.args[0], e.args[1]
		if stream, err := isStream(src); err != nil {
			return err
		} else if !stream {
			return fmt.Errorf("%s is a log, not the directory of a stream", src)
		}
		r, err := eventlog.OpenStreamReader(src)
		if err != nil {
			return err
		}
		defer r.Close()
		began, bytes := time.Now(), int64(0)
		p := e.progress("copy", 0, 0)
		err = r.Copy(e.ctx, dst, func(done, total int64) {
			bytes, p.end = done, total
			p.report(done)
		})
		if err != nil {
			return err
		}
		if e.json {
			return e.printJSON(struct {
				Path  string `json:"path"`
				Bytes int64  `json:"bytes"`
			}{dst, bytes})
		}
		_, err = fmt.Fprintf(e.out, "%s: %d bytes in %v\n", dst, bytes, time.Since(began).Round(time.Millisecond))
		return err
	}
}
