package tables

import (
	"fmt"
	"math"
	"strings"

	"go.dw1.io/mmapfile/benchdata/internal/results"
)

// renderFirst is the table of the README at the top: a few rows, against os.File alone.
func renderFirst(res *results.Set) (string, error) {
	if err := res.Complete(rowsOf(firstRows)); err != nil {
		return "", err
	}
	return againstOS(res, firstRows) + "\n" + origin(res, "make bench-full"), nil
}

// renderCalls is the table of all kinds of calls against os.File.
func renderCalls(res *results.Set) (string, error) {
	if err := res.Complete(append(published(), rowsOf(callRows)...)); err != nil {
		return "", err
	}
	var s strings.Builder
	s.WriteString(againstOS(res, callRows))
	for _, m := range means(res) {
		fmt.Fprintf(&s, "| **geometric mean of %s** | | | **%s** |\n", m.what, results.Number(m.os))
	}
	fmt.Fprintf(&s, "| noise: `os.File` / itself, in the middle row | | | %s |\n", results.Number(math.Exp(res.TypicalNoise())))
	s.WriteString("\n" + origin(res, "make bench-full"))
	return s.String(), nil
}

// renderPerformance is what else the page says of calls: the rows that are lost, the pictures, the
// reasons to stay with os.File, and the other mappings.
func renderPerformance(res *results.Set) (string, error) {
	needed := rowsOf(mappingRows)
	for _, r := range reasonRows {
		needed = append(needed, rowsOf(r.rows)...)
	}
	if err := res.Complete(needed); err != nil {
		return "", err
	}
	var s strings.Builder
	s.WriteString(lostText(res, "os", 0) + "\n\n<details><summary>The rows that are slower than with other mappings, by name</summary>\n\n")
	for _, base := range []string{"v0.1.2", "exp", "edsrzf"} {
		fmt.Fprintf(&s, "- %s\n", lostText(res, base, 0))
	}
	s.WriteString("\n</details>\n\n")
	for _, ch := range results.Charts {
		fmt.Fprintf(&s, "![%s](charts/%s)\n\n", ch.What, ch.Key)
	}
	s.WriteString("| reason to stay with `os.File` | shown by | os.File | v0.1.2 | mmapfile | mmapfile / os.File | mmapfile / v0.1.2 |\n|---|---|--:|--:|--:|--:|--:|\n")
	for _, r := range reasonRows {
		for _, row := range r.rows {
			fmt.Fprintf(&s, "| %s | %s | %s |\n", r.reason, row.what, strings.Join(goLine(res, row.row), " | "))
		}
	}
	s.WriteString("\n| beside other mappings | the bare copy | x/exp/mmap | edsrzf/mmap-go | v0.1.2 | mmapfile |\n|---|--:|--:|--:|--:|--:|\n")
	for _, r := range mappingRows {
		fmt.Fprintf(&s, "| %s |", r.what)
		for _, impl := range []string{"copy", "exp", "edsrzf", "v0.1.2", "mmapfile"} {
			fmt.Fprintf(&s, " %s |", results.Duration(res.Median(r.row, impl)))
		}
		s.WriteString("\n")
	}
	s.WriteString("\n" + origin(res, "make bench-full"))
	if text := warmText(res); text != "" {
		s.WriteString(text + "\n")
	}
	return s.String(), nil
}

// goLine is a line of the tables: the medians, and mmapfile's relative to the others.
func goLine(res *results.Set, row string) []string {
	return []string{
		results.Duration(res.Median(row, "os")), results.Duration(res.Median(row, "v0.1.2")), results.Duration(res.Median(row, "mmapfile")),
		results.Number(res.Ratio(row, "mmapfile", "os")), results.Number(res.Ratio(row, "mmapfile", "v0.1.2")),
	}
}

func renderPaysCalls(res *results.Set) (string, error) {
	if err := res.Complete(rowsOf(paysRows)); err != nil {
		return "", err
	}
	return againstOS(res, paysRows) + "\n" + origin(res, "make bench-full"), nil
}
