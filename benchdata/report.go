package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// requirement is a limit on a ratio of two medians.
type requirement struct {
	what  string
	limit float64
	value func(res *results) float64 // 0: not measured
}

// requirements are the speeds that the package has to show, row by row.
func requirements() []requirement {
	list := []requirement{
		against("copy", "ReadAtRecord/size=64B", 4),
		against("copy", "ReadAtRecord/size=1KB", 1.8),
	}
	for _, name := range []string{"ReadAtOneCall", "WriteAt"} {
		for _, size := range []string{"10KB", "100KB", "1MB", "2MB", "10MB", "100MB", "500MB", "1GB"} {
			limit := 1.05
			if size == "1MB" || size == "2MB" {
				limit = 0.85 // a copy in pieces is faster there than one copy
			}
			list = append(list, against("copy", name+"/size="+size, limit))
		}
	}
	return append(list,
		requirement{"ReadAt of 1 KiB on two goroutines / on one", 1 / 1.7, func(res *results) float64 {
			one := res.median("ReadAtGoroutines/goroutines=1", "mmapfile")
			if one == 0 {
				return 0
			}
			return res.median("ReadAtGoroutines/goroutines=2", "mmapfile") / one
		}},
		against("os", "ReadRecord/size=1KB", 1.0/15),
		against("os", "WriteRecord/size=1KB", 1.0/15),
		against("os", "Policy/state=random-64B", 0.1),
		requirement{"geometric mean / os, published rows", 0.20, func(res *results) float64 {
			return res.fullGeomean(published(), "os")
		}},
		requirement{"geometric mean / os, rows of pages in memory", 0.23, func(res *results) float64 {
			return res.fullGeomean(res.calls(), "os")
		}},
		requirement{"geometric mean / v0.1.2, published rows", 0.85, func(res *results) float64 {
			return res.fullGeomean(published(), "v0.1.2")
		}},
	)
}

func against(base, row string, limit float64) requirement {
	return requirement{row + " / " + base, limit, func(res *results) float64 {
		return res.ratio(row, "mmapfile", base)
	}}
}

// report prints what the tables of benchstat do not show: the speeds that are required, the rows
// that are lost, and the summary.
func report(out io.Writer, res *results) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "\nrequired\tat most\tmeasured\t\n")
	for _, req := range requirements() {
		if v := req.value(res); v > 0 {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", req.what, number(req.limit), number(v), verdict(v <= req.limit))
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(out)
	for _, base := range []string{"exp", "edsrzf"} {
		fmt.Fprintln(out, plain(lostText(res, base, 0)))
	}
	return summarize(out, res)
}

func verdict(holds bool) string {
	if holds {
		return "holds"
	}
	return "FAILS"
}

// number prints a ratio, with a dash for none.
func number(v float64) string {
	switch {
	case v == 0:
		return "–"
	case v < 0.1:
		return fmt.Sprintf("%.3f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// duration prints a time to three digits, with a dash for none.
func duration(sec float64) string {
	switch {
	case sec == 0:
		return "–"
	case sec < 999.5e-9:
		return fmt.Sprintf("%.3g ns", sec*1e9)
	case sec < 999.5e-6:
		return fmt.Sprintf("%.3g µs", sec*1e6)
	case sec < 999.5e-3:
		return fmt.Sprintf("%.3g ms", sec*1e3)
	}
	return time.Duration(sec * 1e9).Round(10 * time.Millisecond).String()
}
