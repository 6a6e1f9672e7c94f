package main

import (
	"fmt"
	"io"
	"time"
)

// printTimes prints the times of one of n operations, for os.Open and for how.
func printTimes(w io.Writer, times [2]time.Duration, n int, how string) {
	before, after := digits(times[0]/time.Duration(n)), digits(times[1]/time.Duration(n))
	ratio := float64(times[0]) / float64(max(times[1], 1)) // a coarse clock may show 0
	fmt.Fprintf(w, "  %-24s %8v\n", "os.Open", before)
	fmt.Fprintf(w, "  %-24s %8v   %.2f times as fast\n", how, after, ratio)
}

// digits rounds d to three digits, or four.
func digits(d time.Duration) time.Duration {
	unit := time.Nanosecond
	for unit < d/1000 {
		unit *= 10
	}
	return d.Round(unit)
}

func sizeText(n int64) string {
	if n < 1<<20 {
		return fmt.Sprint(n, " bytes")
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}
