package main

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"strings"
)

// block is a part of a page that is made from raw results, between two lines that mark it.
type block struct {
	page   string // as seen from the directory of the raw results
	name   string // in the marks
	render func(res *results) (string, error)
}

var (
	firstBlock       = block{"../README.md", "bench", renderFirst}
	callsBlock       = block{"README.md", "calls", renderCalls}
	performanceBlock = block{"README.md", "performance", renderPerformance}
	programsBlock    = block{"README.md", "programs", renderPrograms}
	peersBlock       = block{"peers.md", "peers", renderPeers}
	eventsBlock      = block{"events.md", "events", renderEvents}
)

func (b block) begin() string { return "<!-- " + b.name + ":begin -->\n" }
func (b block) end() string   { return "<!-- " + b.name + ":end -->\n" }

// blocks are those that are made from these results.
func (res *results) blocks() []block {
	switch {
	case res.ofNeedle(), res.ofCold(): // they have whole pages
		return nil
	case res.ofEvents():
		return []block{eventsBlock}
	case res.ofPrograms():
		return []block{programsBlock, gainsBlock, littleBlock, nothingBlock}
	case res.ofPeers():
		return []block{peersBlock}
	}
	return []block{firstBlock, callsBlock, performanceBlock, paysBlock}
}

// renderFirst is the table of the README at the top: a few rows, against os.File alone.
func renderFirst(res *results) (string, error) {
	if err := res.complete(rowsOf(firstRows)); err != nil {
		return "", err
	}
	return againstOS(res, firstRows) + "\n" + origin(res, "make bench-full"), nil
}

// renderCalls is the table of all kinds of calls against os.File.
func renderCalls(res *results) (string, error) {
	if err := res.complete(append(published(), rowsOf(callRows)...)); err != nil {
		return "", err
	}
	var s strings.Builder
	s.WriteString(againstOS(res, callRows))
	for _, m := range res.means() {
		fmt.Fprintf(&s, "| **geometric mean of %s** | | | **%s** |\n", m.what, number(m.os))
	}
	fmt.Fprintf(&s, "| noise: `os.File` / itself, in the middle row | | | %s |\n", number(math.Exp(res.typicalNoise())))
	s.WriteString("\n" + origin(res, "make bench-full"))
	return s.String(), nil
}

// againstOS is a table of these rows.
func againstOS(res *results, rows []named) string {
	var s strings.Builder
	s.WriteString("| operation | os.File | mmapfile | mmapfile / os.File |\n|---|--:|--:|--:|\n")
	for _, r := range rows {
		fmt.Fprintf(&s, "| %s | %s | %s | %s |\n", r.what, duration(res.median(r.row, "os")),
			duration(res.median(r.row, "mmapfile")), number(res.ratio(r.row, "mmapfile", "os")))
	}
	return s.String()
}

// renderPerformance is what else the page says of calls: the rows that are lost, the pictures, the
// reasons to stay with os.File, and the other mappings.
func renderPerformance(res *results) (string, error) {
	needed := rowsOf(mappingRows)
	for _, r := range reasonRows {
		needed = append(needed, rowsOf(r.rows)...)
	}
	if err := res.complete(needed); err != nil {
		return "", err
	}
	var s strings.Builder
	s.WriteString(lostText(res, "os", 0) + "\n\n<details><summary>The rows that are slower than with other mappings, by name</summary>\n\n")
	for _, base := range []string{"v0.1.2", "exp", "edsrzf"} {
		fmt.Fprintf(&s, "- %s\n", lostText(res, base, 0))
	}
	s.WriteString("\n</details>\n\n")
	for _, ch := range charts {
		fmt.Fprintf(&s, "![%s](charts/%s)\n\n", ch.alt, ch.file)
	}
	s.WriteString("| reason to stay with `os.File` | shown by | os.File | v0.1.2 | mmapfile | mmapfile / os.File | mmapfile / v0.1.2 |\n|---|---|--:|--:|--:|--:|--:|\n")
	for _, r := range reasonRows {
		for _, row := range r.rows {
			fmt.Fprintf(&s, "| %s | %s | %s |\n", r.reason, row.what, strings.Join(goLine(res, row.row), " | "))
		}
	}
	s.WriteString("\n| beside other mappings | the bare copy | x/exp/mmap | edsrzf/mmap-go | v0.1.2 | mmapfile |\n|---|--:|--:|--:|--:|--:|\n")
	for _, r := range mappingRows {
		fmt.Fprintf(&s, "| %s |", r.what)
		for _, impl := range []string{"copy", "exp", "edsrzf", "v0.1.2", "mmapfile"} {
			fmt.Fprintf(&s, " %s |", duration(res.median(r.row, impl)))
		}
		s.WriteString("\n")
	}
	s.WriteString("\n" + origin(res, "make bench-full"))
	if text := warmText(res); text != "" {
		s.WriteString(text + "\n")
	}
	return s.String(), nil
}

// complete is an error unless all of these rows were measured.
func (res *results) complete(rows []string) error {
	for _, row := range rows {
		if res.median(row, "mmapfile") == 0 {
			return fmt.Errorf("%s was not measured", row)
		}
	}
	return nil
}

func rowsOf(list []named) []string {
	var rows []string
	for _, r := range list {
		rows = append(rows, r.row)
	}
	return rows
}

// goLine is a line of the tables: the medians, and mmapfile's relative to the others.
func goLine(res *results, row string) []string {
	return []string{
		duration(res.median(row, "os")), duration(res.median(row, "v0.1.2")), duration(res.median(row, "mmapfile")),
		number(res.ratio(row, "mmapfile", "os")), number(res.ratio(row, "mmapfile", "v0.1.2")),
	}
}

// origin says how, when and on what the results were measured, and with which versions.
func origin(res *results, command string, versions ...string) string {
	c := func(key string) string { return cmp.Or(res.config[key], "unknown") }
	date, _, _ := strings.Cut(c("date"), "T")
	each := ""
	if t := res.config["benchtime"]; t != "" {
		each = ", " + t + " a row,"
	}
	text := fmt.Sprintf("`%s` on %s: medians of %d interleaved rounds%s at commit %s; %s, %s cores, %s, %s, %s",
		command, date, res.rounds(), each, c("commit"), c("cpu"), c("cores"), c("kernel"), c("fs"), c("go"))
	for _, key := range versions {
		text += ", " + key + " " + c(key)
	}
	return text + ".\n"
}

// replace puts the table between the marks in text.
func (b block) replace(text []byte, table string) ([]byte, error) {
	before, rest, ok := bytes.Cut(text, []byte(b.begin()))
	if !ok {
		return nil, fmt.Errorf("no line %q", b.begin())
	}
	_, after, ok := bytes.Cut(rest, []byte(b.end()))
	if !ok {
		return nil, fmt.Errorf("no line %q", b.end())
	}
	return bytes.Join([][]byte{before, []byte(b.begin()), []byte(table), []byte(b.end()), after}, nil), nil
}
