package tables

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"go.dw1.io/mmapfile/benchdata/internal/cold"
	"go.dw1.io/mmapfile/benchdata/internal/results"
)

var worstBlock = block{page: "README.md", name: "worst"}

// Worst returns the pages in dir that say where mmapfile loses most against os.File, over all raw results.
func Worst(all []*results.Set, dir string) ([]Artifact, error) {
	g, err := worstOfAll(all)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	g.words(&b, 1)
	worst := worstBlock
	worst.render = func(*results.Set) (string, error) { return strings.TrimSuffix(b.String(), "\n"), nil }
	made, err := blockPages(nil, dir, []block{worst})
	if err != nil {
		return nil, err
	}
	return fillReadme(made, dir)
}

// worstOfAll has a line for each of the raw results that compare mmapfile with os.File, and one for the worst of all.
func worstOfAll(all []*results.Set) (grid, error) {
	g := grid{{"raw results", "rows", "slower", "mmapfile / os.File", "the slowest"}}
	var total, slower int
	var worst results.Loss
	for _, res := range all {
		rows, lost, err := losses(res)
		if err != nil {
			return nil, err
		}
		if rows == 0 {
			continue
		}
		total, slower = total+rows, slower+len(lost)
		file := filepath.Base(res.File)
		line := []string{fmt.Sprintf("[%s](%s/%s)", file, ResultsDir, file), fmt.Sprint(rows), fmt.Sprint(len(lost)), results.Number(0), ""}
		if len(lost) > 0 {
			line[3], line[4] = results.Number(lost[0].Ratio), lost[0].Row
			if lost[0].Ratio > worst.Ratio {
				worst = lost[0]
			}
		}
		g = append(g, line)
	}
	return append(g, []string{"all of them", fmt.Sprint(total), fmt.Sprint(slower), results.Number(worst.Ratio), worst.Row}), nil
}

// losses returns the number of rows that compare mmapfile with os.File, and those that are slower beyond the noise, named
// for a reader, the slowest first.
func losses(res *results.Set) (rows int, lost []results.Loss, err error) {
	if res.Kind() == results.Regret {
		list, err := res.RandomPrograms()
		for _, p := range list {
			if p.Lost {
				lost = append(lost, results.Loss{Row: "`" + p.Text + "`", Ratio: p.Ratio(p.Figure(), "mmapfile")})
			}
		}
		slices.SortStableFunc(lost, func(a, b results.Loss) int { return cmp.Compare(b.Ratio, a.Ratio) })
		return len(list), lost, err
	}
	for _, row := range res.Rows {
		if res.Ratio(row, "mmapfile", "os") == 0 {
			continue
		}
		rows++
		for _, l := range res.Run(row).LostTo("os", []string{row}) {
			lost = append(lost, results.Loss{Row: rowName(res, row), Ratio: l.Ratio})
		}
	}
	slices.SortStableFunc(lost, func(a, b results.Loss) int { return cmp.Compare(b.Ratio, a.Ratio) })
	return rows, lost, nil
}

// rowName returns what a page calls a row: its words if it is of cold files, its program, or its own name.
func rowName(res *results.Set, row string) string {
	for _, s := range cold.Sections() {
		for _, r := range s.Rows {
			if row == results.ColdRow(r.Key, "") {
				return r.What
			}
		}
	}
	if rest, ok := strings.CutPrefix(row, results.ProgramRows+"program="); ok {
		name, _, _ := strings.Cut(rest, "/")
		return programName(res, name)
	}
	return "`" + row + "`"
}
