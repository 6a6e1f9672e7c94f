package tables

import (
	"fmt"
	"math"
	"strings"

	"go.dw1.io/mmapfile/benchdata/internal/results"
)

// renderFirst is the table of the README at the top.
func renderFirst(res *results.Set) (string, error) {
	s := section{grid: callGrid(res, firstRows), notes: verdict(res, "os", res.Rows, 0, nil)}
	return markdown(s) + origin(res, "make bench-full"), res.Complete(rowsOf(firstRows))
}

func callGrid(res *results.Set, rows []named) grid {
	g := grid{{"operation", "os.File", "mmapfile", "mmapfile / os.File"}}
	for _, r := range rows {
		g = append(g, []string{r.what, results.Duration(res.Median(r.row, "os")),
			results.Duration(res.Median(r.row, "mmapfile")), results.Number(res.Ratio(r.row, "mmapfile", "os"))})
	}
	return g
}

// renderCalls is the table of all kinds of calls against os.File.
func renderCalls(res *results.Set) (string, error) {
	g := callGrid(res, callRows)
	for _, m := range means(res) {
		g = append(g, []string{"**geometric mean of " + m.what + "**", "", "", "**" + results.Number(m.os) + "**"})
	}
	g = append(g, []string{"noise: `os.File` / itself, in the middle row", "", "", results.Number(math.Exp(res.TypicalNoise()))})
	return markdown(section{grid: g}) + origin(res, "make bench-full"), res.Complete(append(published(), rowsOf(callRows)...))
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
	for _, base := range []string{"exp", "edsrzf"} {
		fmt.Fprintf(&s, "- %s\n", lostText(res, base, 0))
	}
	s.WriteString("\n</details>\n\n" + verdict(res, "v0.1.2", res.Rows, 0, nil) + "\n\n")
	for _, ch := range results.Charts {
		fmt.Fprintf(&s, "![%s](charts/%s)\n\n", ch.What, ch.Key)
	}
	reasons := grid{{"reason to stay with `os.File`", "shown by", "os.File", "v0.1.2", "mmapfile", "mmapfile / os.File", "mmapfile / v0.1.2"}}
	for _, r := range reasonRows {
		for _, row := range r.rows {
			reasons = append(reasons, []string{r.reason, row.what,
				results.Duration(res.Median(row.row, "os")), results.Duration(res.Median(row.row, "v0.1.2")), results.Duration(res.Median(row.row, "mmapfile")),
				results.Number(res.Ratio(row.row, "mmapfile", "os")), results.Number(res.Ratio(row.row, "mmapfile", "v0.1.2"))})
		}
	}
	reasons.words(&s, 2)
	mappings := grid{{"beside other mappings", "the bare copy", "x/exp/mmap", "edsrzf/mmap-go", "v0.1.2", "mmapfile"}}
	for _, r := range mappingRows {
		line := []string{r.what}
		for _, impl := range []string{"copy", "exp", "edsrzf", "v0.1.2", "mmapfile"} {
			line = append(line, results.Duration(res.Median(r.row, impl)))
		}
		mappings = append(mappings, line)
	}
	mappings.markdown(&s)
	s.WriteString(origin(res, "make bench-full"))
	if text := warmText(res); text != "" {
		s.WriteString(text + "\n")
	}
	return s.String(), nil
}
