package main

import (
	"fmt"
	"path/filepath"
	"strings"
)

// predecessorPage is the file of the comparison with v0.1.2, beside the raw results.
const predecessorPage = "predecessor.md"

// renderPredecessor is that page: the rows of the first table, with v0.1.2 in them.
func renderPredecessor(res *results) artifact {
	var s strings.Builder
	s.WriteString("# Beside v0.1.2\n\n" +
		"[v0.1.2](https://pkg.go.dev/go.dw1.io/mmapfile@v0.1.2) is the last release before the rewrite, with another API. " +
		"It copies without a guard, and keeps the length that the file had when it was opened. " +
		"So a file that another process truncates ends the process with a fault. " +
		"A file that grows is read to its old end, and a write past that is an error. " +
		"Made by `make -C benchdata readme`.\n\n" +
		"| operation | os.File | v0.1.2 | mmapfile | mmapfile / os.File | mmapfile / v0.1.2 |\n|---|--:|--:|--:|--:|--:|\n")
	for _, r := range callRows {
		fmt.Fprintf(&s, "| %s | %s |\n", r.what, strings.Join(goLine(res, r.row), " | "))
	}
	for _, m := range res.means() {
		fmt.Fprintf(&s, "| **geometric mean of %s** | | | | **%s** | **%s** |\n", m.what, number(m.os), number(m.before))
	}
	s.WriteString("\n" + origin(res, "make bench-full"))
	return artifact{predecessorPage, []byte(s.String())}
}

// beside is the artifact in the directory of file.
func (a artifact) beside(file string) artifact {
	return artifact{filepath.Join(filepath.Dir(file), a.path), a.text}
}
