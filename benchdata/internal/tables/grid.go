package tables

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"go.dw1.io/mmapfile/benchdata/internal/results"
)

// grid is a table, the heading first.
type grid [][]string

// markdown writes the table.
func (g grid) markdown(b *strings.Builder) {
	for i, line := range g {
		fmt.Fprintf(b, "| %s |\n", strings.Join(line, " | "))
		if i == 0 {
			b.WriteString("|---|" + strings.Repeat("--:|", len(line)-1) + "\n")
		}
	}
	b.WriteString("\n")
}

// print writes the table in columns.
func (g grid) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w)
	for _, line := range g {
		fmt.Fprintln(w, strings.ReplaceAll(results.Plain(strings.Join(line, "\t")), "**", ""))
	}
	return w.Flush()
}

// againstOS is a table of these rows.
func againstOS(res *results.Set, rows []named) string {
	var s strings.Builder
	s.WriteString("| operation | os.File | mmapfile | mmapfile / os.File |\n|---|--:|--:|--:|\n")
	for _, r := range rows {
		fmt.Fprintf(&s, "| %s | %s | %s | %s |\n", r.what, results.Duration(res.Median(r.row, "os")),
			results.Duration(res.Median(r.row, "mmapfile")), results.Number(res.Ratio(r.row, "mmapfile", "os")))
	}
	return s.String()
}
