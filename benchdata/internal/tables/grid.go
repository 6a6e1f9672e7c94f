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

// markdown writes the table. The first column is of words, and the others of figures.
func (g grid) markdown(b *strings.Builder) { g.words(b, 1) }

// words is markdown with so many columns of words.
func (g grid) words(b *strings.Builder, n int) {
	for i, line := range g {
		fmt.Fprintf(b, "| %s |\n", strings.Join(line, " | "))
		if i == 0 {
			b.WriteString("|" + strings.Repeat("---|", n) + strings.Repeat("--:|", len(line)-n) + "\n")
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

// section is a part of a page, or of what is printed: a table, with what is said before and after it.
type section struct {
	title, text string
	grid        grid
	notes       string
}

// markdown writes sections for a page.
func markdown(list ...section) string {
	var b strings.Builder
	for _, s := range list {
		if s.title != "" {
			b.WriteString("## " + s.title + "\n\n")
		}
		if s.text != "" {
			b.WriteString(s.text + "\n\n")
		}
		if s.grid != nil {
			s.grid.markdown(&b)
		}
		if s.notes != "" {
			b.WriteString(s.notes + "\n\n")
		}
	}
	return b.String()
}

// printSections writes sections in columns.
func printSections(out io.Writer, list ...section) error {
	for _, s := range list {
		if s.title != "" {
			fmt.Fprintf(out, "\n%s\n", s.title)
		}
		if s.grid != nil {
			if err := s.grid.print(out); err != nil {
				return err
			}
		}
		if s.notes != "" {
			fmt.Fprintf(out, "\n%s\n", results.Plain(s.notes))
		}
	}
	return nil
}

// significant is the time of own relative to that of base, in bold if own is slower and that is no accident.
func significant(res *results.Set, row, own, base string) string {
	ratio := res.Ratio(row, own, base)
	if ratio > 1 && res.Differ(row, own, base) {
		return "**" + results.Number(ratio) + "**"
	}
	return results.Number(ratio)
}
