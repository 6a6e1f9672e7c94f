package tables

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// mark stands around a figure in a sentence, or in a table that a person has written. It names a cell of a generated
// table, by the first cell of its row and the heading of its column:
//
//	<!-- figure: open and close; mmapfile -->1.97 µs<!-- end -->
var mark = regexp.MustCompile(`<!-- figure: (.+?); (.+?) -->(.*?)<!-- end -->`)

// cells are those of generated tables, by row and column.
type cells map[[2]string]string

// read adds the tables of a page.
func (c cells) read(page string) {
	var head []string
	for line := range strings.Lines(page) {
		row := strings.Split(strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(line), "|"), "|"), " | ")
		for i, cell := range row { // that of the heading of words may be empty
			row[i] = strings.TrimSpace(cell)
		}
		switch {
		case line[0] != '|':
			head = nil
		case head == nil:
			head = row
		default:
			for i := range min(len(row), len(head)) {
				c[[2]string{row[0], head[i]}] = strings.Trim(row[i], "*")
			}
		}
	}
}

// fill puts the cells between their marks.
func (c cells) fill(page string) string {
	return mark.ReplaceAllStringFunc(page, func(text string) string {
		m := mark.FindStringSubmatch(text)
		if value := c[[2]string{m[1], m[2]}]; value != "" {
			return strings.TrimSuffix(text, m[3]+"<!-- end -->") + value + "<!-- end -->"
		}
		return text // it is of other results
	})
}

// fillReadme puts the figures of pages that were made into the README above dir, if there is one.
func fillReadme(made []Artifact, dir string) ([]Artifact, error) {
	c := cells{}
	for _, a := range made {
		c.read(string(a.Text))
	}
	path := filepath.Join(dir, filepath.FromSlash(firstBlock.page))
	i := slices.IndexFunc(made, func(a Artifact) bool { return a.Path == path })
	if i < 0 {
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return made, nil
		} else if err != nil {
			return nil, err
		}
		i, made = len(made), append(made, Artifact{path, text})
	}
	made[i].Text = []byte(c.fill(string(made[i].Text)))
	return made, nil
}
