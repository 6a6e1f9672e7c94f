package main

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"
)

// block is a part of the README that is made from raw results, between two lines that mark it.
type block struct {
	begin, end string
	render     func(res *results) (string, error)
}

var (
	osBlock     = block{"<!-- bench:begin -->\n", "<!-- bench:end -->\n", render}
	peersBlock  = block{"<!-- peers:begin -->\n", "<!-- peers:end -->\n", renderPeers}
	needleBlock = block{"<!-- needle:begin -->\n", "<!-- needle:end -->\n", renderNeedle}
)

// readmeRows are the rows that the README shows: the good and the bad ones, a line each.
var readmeRows = []struct{ row, what string }{
	{"ReadAtRecord/size=64B", "`ReadAt` 64 B"},
	{"ReadAtRecord/size=1KB", "`ReadAt` 1 KiB"},
	{"ReadAtGoroutines/goroutines=2", "`ReadAt` 1 KiB, two goroutines"},
	{"ReadAtParallel/size=1GB", "`ReadAt` 4 KiB, anywhere in 1 GiB, in parallel"},
	{"ReadAtOneCall/size=1MB", "`ReadAt` 1 MiB"},
	{"ReadRecord/size=1KB", "`Read` 1 KiB"},
	{"Read/size=100MB", "`Read` through 100 MiB in 4 KiB calls"},
	{"WriteRecord/size=64B", "`Write` 64 B"},
	{"WriteRecord/size=1KB", "`Write` 1 KiB"},
	{"WriteAt/size=1MB", "`WriteAt` 1 MiB"},
	{"WriteAt/size=1GB", "`WriteAt` 1 GiB"},
	{"Seek", "`Seek`"},
	{"Stat", "`Stat`"},
	{"SyncAfter1KB", "`WriteAt` 1 KiB and `Sync`"},
	{"Append/size=100B", "`Write` 100 B with `O_APPEND`"},
	{"OpenRead4KBClose", "open, read 4 KiB, close"},
	{"FirstTouchFreshWrite/block=64KB", "create a file, write 16 MiB in 64 KiB calls, close"},
	{"WriteToBuffer/size=1MB", "`io.Copy` of 1 MiB to a `bytes.Buffer`"},
	{"CopyFileToFile/size=100MB", "`io.Copy` of 100 MiB to a file"},
	{"CopyFileToTCP/size=100MB", "`io.Copy` of 100 MiB to a TCP connection"},
}

// render is the table against os.File.
func render(res *results) (string, error) {
	var s strings.Builder
	s.WriteString("| operation | os.File | mmapfile | mmapfile / os.File |\n|---|--:|--:|--:|\n")
	for _, r := range readmeRows {
		ratio := res.ratio(r.row, "mmapfile", "os")
		if ratio == 0 {
			return "", fmt.Errorf("%s was not measured", r.row)
		}
		fmt.Fprintf(&s, "| %s | %s | %s | %s |\n", r.what,
			duration(res.median(r.row, "os")), duration(res.median(r.row, "mmapfile")), number(ratio))
	}
	for _, set := range []struct {
		what string
		rows []string
	}{{"published", published()}, {"", res.rows}} {
		mean, n := res.geomean(set.rows)
		if n < len(set.rows) {
			return "", fmt.Errorf("only %d of %d rows were measured", n, len(set.rows))
		}
		if set.what != "" {
			set.what = ", those " + set.what + " for the predecessor"
		}
		fmt.Fprintf(&s, "| **geometric mean of %d rows%s** | | | **%s** |\n", n, set.what, number(mean))
	}
	s.WriteString("\n" + origin(res, "make bench-full"))
	return s.String(), nil
}

// origin says how, when and on what the results were measured, and with which versions.
func origin(res *results, command string, versions ...string) string {
	c := func(key string) string { return cmp.Or(res.config[key], "unknown") }
	date, _, _ := strings.Cut(c("date"), "T")
	text := fmt.Sprintf("`%s` on %s: medians of %d interleaved rounds; %s, %s cores, %s, %s, %s",
		command, date, res.rounds(), c("cpu"), c("cores"), c("kernel"), c("fs"), c("go"))
	for _, key := range versions {
		text += ", " + key + " " + c(key)
	}
	return text + ".\n"
}

// replace puts the table between the marks in text.
func (b block) replace(text []byte, table string) ([]byte, error) {
	before, rest, ok := bytes.Cut(text, []byte(b.begin))
	if !ok {
		return nil, fmt.Errorf("no line %q", b.begin)
	}
	_, after, ok := bytes.Cut(rest, []byte(b.end))
	if !ok {
		return nil, fmt.Errorf("no line %q", b.end)
	}
	return bytes.Join([][]byte{before, []byte(b.begin), []byte(table), []byte(b.end), after}, nil), nil
}
