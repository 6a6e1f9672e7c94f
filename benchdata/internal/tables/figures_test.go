package tables

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

func TestCells_Fill(t *testing.T) {
	c := cells{}
	c.read("|  | os.File | mmapfile |\n|---|--:|--:|\n| no heading | 7 ns | 8 ns |\n")
	c.read("| operation | os.File | mmapfile |\n|---|--:|--:|\n| `Seek` | 181 ns | **13.8 ns** |\n\n| what | mmapfile |\n|---|--:|\n| other | 1 |\n")
	page := "A <!-- figure: `Seek`; mmapfile -->5 ns<!-- end -->, <!-- figure: `Seek`; os.File --><!-- end -->, <!-- figure: `Seek`; what -->x<!-- end -->, <!-- figure: other; mmapfile -->2<!-- end -->, <!-- figure: no heading; mmapfile -->7 ns<!-- end -->."
	want := "A <!-- figure: `Seek`; mmapfile -->13.8 ns<!-- end -->, <!-- figure: `Seek`; os.File -->181 ns<!-- end -->, <!-- figure: `Seek`; what -->x<!-- end -->, <!-- figure: other; mmapfile -->1<!-- end -->, <!-- figure: no heading; mmapfile -->8 ns<!-- end -->."
	if got := c.fill(page); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// Each figure in the README's own words is that of a cell on some page.
func TestReadme_MarkedFigures(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	c := cells{}
	for _, pattern := range []string{"README.md", "docs/*.md", "benchdata/*.md"} {
		names, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			c.read(string(text))
		}
	}
	marks := mark.FindAllStringSubmatch(string(readme), -1)
	for _, m := range marks {
		if got := c[[2]string{m[1], m[2]}]; got != m[3] {
			t.Errorf("%s: the figure of %q is %q on the pages", m[0], m[2], got)
		}
	}
	if len(marks) < 10 {
		t.Errorf("README.md has %d marked figures", len(marks))
	}
}

// The README's first paragraph says from how many reads on a page gains, as the figures further down do.
func TestReadme_Rereads(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join("..", "..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	said := regexp.MustCompile(`side by side, (\d+) reads of each were enough to gain; for pages in different blocks of 64 KiB, (\d+) were`).FindSubmatch(readme)
	measured := regexp.MustCompile(`(?m)^Pages .*no gain; read (\d+)`).FindAllSubmatch(readme, -1)
	if said == nil || len(measured) != 2 {
		t.Fatalf("README.md says %q, and measured are %q", said, measured)
	}
	for i, m := range measured {
		if string(said[i+1]) != string(m[1]) {
			t.Errorf("README.md says %s reads, and measured are %s", said[i+1], m[1])
		}
	}
}
