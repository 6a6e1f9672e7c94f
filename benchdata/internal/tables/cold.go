package tables

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"go.dw1.io/mmapfile/benchdata/internal/cold"
	"go.dw1.io/mmapfile/benchdata/internal/results"
)

// figureNames are what the figures of a row are called.
var figureNames = map[string]string{"": "", "read": "", "p50": ", median", "p99": ", 99th percentile", "max": ", maximum"}

// coldLines are the lines of a row, one for each figure that was measured: what, the times with
// os.File, mmapfile and a bare mapping, the ratio of the first two, and the noise.
func coldLines(res *results.Set, r cold.Row) (lines [][]string) {
	figures := r.Figures
	if figures == nil {
		figures = []string{""}
	}
	for _, figure := range figures {
		row, base := results.ColdRow(r.Key, figure), results.ColdRow(r.Key, figure)
		if r.Base != "" {
			base = results.ColdRow(r.Base, figure)
		}
		own, os := res.Median(row, cold.Mmapfile), res.Median(base, cold.OS)
		if own == 0 || os == 0 {
			continue
		}
		ratio, noise := results.Number(own/os), results.Number(0)
		if len(res.Times[row][cold.OSAgain]) > 0 {
			run := res.Run(row)
			noise = results.Number(math.Exp(run.Noise(row)))
			if r.Base == "" {
				ratio = ratioInBold(run, row)
			}
		}
		lines = append(lines, []string{r.What + figureNames[figure], results.Duration(os), results.Duration(own),
			results.Duration(res.Median(row, cold.Mapping)), ratio, noise})
	}
	return lines
}

// coldOrigin says how the rows of a section were measured.
func coldOrigin(res *results.Set, s cold.Section) string {
	return strings.TrimSuffix(origin(res.Only(func(row string) bool {
		return slices.ContainsFunc(s.Rows, func(r cold.Row) bool {
			return row == results.ColdRow(r.Key, "") || strings.HasPrefix(row, results.ColdRow(r.Key, "")+"/figure=")
		})
	}), "make bench-cold"), "\n")
}

// coldSections are all tables. A line of how they were measured stands once for those that it holds for.
func coldSections(res *results.Set) (list []section, err error) {
	last := ""
	for _, part := range cold.Sections() {
		s := section{title: part.Title, text: part.Text, grid: grid{{"", "os.File", "mmapfile", "a bare mapping", "mmapfile / os.File", "noise"}}}
		for _, r := range part.Rows {
			s.grid = append(s.grid, coldLines(res, r)...)
		}
		if len(s.grid) == 1 {
			continue
		}
		if !slices.ContainsFunc(s.grid[1:], func(line []string) bool { return line[3] != results.Duration(0) }) {
			for i, line := range s.grid {
				s.grid[i] = slices.Concat(line[:3], line[4:])
			}
		}
		if s.notes = coldOrigin(res, part); s.notes == last && len(list) > 0 {
			list[len(list)-1].notes = ""
		}
		last = s.notes
		list = append(list, s)
	}
	return list, nil
}

// coldGaps says which rows were not measured, and why. It is an error if there is no reason.
func coldGaps(res *results.Set) (string, error) {
	var reasons []string
	for _, r := range cold.Rows() {
		if len(coldLines(res, r)) == max(len(r.Figures), 1) {
			continue
		}
		kind, _, _ := strings.Cut(r.Key, "/")
		why := res.Config["missing-"+kind]
		if why == "" {
			why = res.Config["missing-"+r.Place]
		}
		if why == "" && (r.Throttled || r.Memory != cold.NoGroup) {
			why = res.Config["missing-group"]
		}
		if why == "" {
			return "", fmt.Errorf("%s was not measured", r.Key)
		}
		if !slices.Contains(reasons, why) {
			reasons = append(reasons, why)
		}
	}
	if reasons == nil {
		return "", nil
	}
	return " Rows were not measured: " + strings.Join(reasons, "; ") + ".", nil
}

// coldPages is the page.
func coldPages(res *results.Set, dir string) ([]Artifact, error) {
	gaps, err := coldGaps(res)
	list, _ := coldSections(res)
	page := "# Files that are not in memory, or are read once\n\n" +
		"Each figure is measured in a process of its own. " +
		"If the file is dropped from the page cache, a first run fills the caches of the disk and of the host, and is not counted. " +
		"The kernel reads ahead " + res.Config["readahead"] + " unless a row says otherwise. " +
		"The noise is the difference of `os.File` from itself. Rows that are slower by more than that, and not by chance (p < 0.05), are in bold.\n\n" +
		"Made from [cold.txt](results/cold.txt) by `make -C benchdata readme`." + gaps + "\n\n" + markdown(list...)
	return []Artifact{{filepath.Join(dir, "cold.md"), []byte(strings.TrimSuffix(page, "\n"))}}, err
}
