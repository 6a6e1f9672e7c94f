package docstest

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The table of rooms in docs/design.md has each package that a File is made of, and what it imports of
// the others: on all systems, and only such as come later in the table.
func TestDesign_Rooms(t *testing.T) {
	t.Chdir(root)
	var rooms []string
	knows := map[string][]string{}
	for _, line := range fileLines(t, filepath.Join("docs", "design.md")) {
		cells := strings.Split(line, " | ")
		if room, ok := strings.CutPrefix(cells[0], "| `"); ok && len(cells) == 4 && strings.HasSuffix(room, "`") {
			room = strings.TrimSuffix(room, "`")
			rooms = append(rooms, room)
			if list := strings.TrimSuffix(cells[3], " |"); list != "–" {
				knows[room] = strings.Split(list, ", ")
			}
		}
	}
	if len(rooms) < 10 {
		t.Fatalf("docs/design.md has %d rooms", len(rooms))
	}
	for i, room := range rooms {
		dir := "."
		if i > 0 {
			dir = filepath.Join("internal", room)
		}
		imports := importsOf(t, dir)
		want := slices.Sorted(slices.Values(knows[room]))
		if !slices.Equal(imports, want) {
			t.Errorf("%s imports %v, and the page says %v", room, imports, want)
		}
		for _, other := range imports {
			if at := slices.Index(rooms, other); at <= i {
				t.Errorf("%s imports %s, which is not below it", room, other)
			}
		}
	}
}

// importsOf returns the names of the packages of this module that the files in dir import, whatever
// system they are for: below internal, or whole.
func importsOf(t *testing.T, dir string) (list []string) {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !strings.HasSuffix(file.Name(), ".go") || strings.HasSuffix(file.Name(), "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, file.Name()), nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range f.Imports {
			if path := strings.Trim(i.Path.Value, `"`); strings.HasPrefix(path, "go.dw1.io/mmapfile") {
				list = append(list, strings.TrimPrefix(path, "go.dw1.io/mmapfile/internal/"))
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}
