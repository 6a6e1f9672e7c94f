package main

import (
	"fmt"
	"slices"
	"strings"
)

// The page docs/where-it-pays.md has the programs in three tables, by what they gain in one process.
const paysPage = "../docs/where-it-pays.md"

const (
	gainsBelow  = 0.90 // of os.File's time
	littleBelow = 0.97 // from here on it is what os.File differs by from itself in many rows
)

var (
	gainsBlock   = block{paysPage, "gains", func(res *results) (string, error) { return renderPays(res, 0, gainsBelow) }}
	littleBlock  = block{paysPage, "little", func(res *results) (string, error) { return renderPays(res, gainsBelow, littleBelow) }}
	nothingBlock = block{paysPage, "nothing", renderNothing}
	paysBlock    = block{paysPage, "calls", renderPaysCalls}
)

// programReasons is what a program does that makes it gain or not.
var programReasons = map[string]string{
	"fscan":            "reads single bytes",
	"pages-100000":     "reads the same 4 KiB pages again",
	"sqlite-fs-scan":   "seeks to and reads each page of 4 KiB",
	"scanner":          "reads 4 KiB at a time, in order",
	"sfnt-glyphs":      "reads a few bytes at a time, many of them again",
	"sqlite-file-scan": "reads each page of 4 KiB, in order",
	"leveldb":          "reads blocks of 4 KiB, most of them again",
	"pebble":           "reads blocks of 4 KiB, most of them again",
	"csv":              "reads 4 KiB at a time; most of the time is parsing",
	"tar-extract":      "reads each file once, and writes it",
	"zip-extract":      "most of the time is inflating",
	"sqlite-fs-id":     "reads few pages twice",
	"pages-1000":       "reads few pages twice",
	"json":             "most of the time is decoding",
	"fs-walk":          "reads directories, and no file",
	"zip-list":         "reads the directory of the archive once",
	"tar-list":         "seeks over the contents, and reads each header once",
	"parquet-rows":     "reads large pieces once, and decodes them",
	"parquet-column":   "reads large pieces once, and decodes them",
	"git-log":          "reads each object in small calls, and inflates it",
	"http-large":       "the kernel copies the file to the socket",
	"http-small":       "reads each file once; most of the time is the protocol",
	"seek-read":        "reads hardly any page twice",
	"fs-read":          "reads each file once",
	"sfnt-open":        "opens, reads little, and closes",
	"sqlite-file-id":   "reads few pages twice",
}

// renderPays has the programs that take from low to high of os.File's time in one process, best first.
func renderPays(res *results, low, high float64) (string, error) {
	if err := programsComplete(res); err != nil {
		return "", err
	}
	row := func(name string) string { return programRow(name, programStates[0].row) }
	names := slices.DeleteFunc(res.programNames(), func(name string) bool {
		ratio := res.ratio(row(name), "mmapfile", "os")
		return ratio < low || ratio >= high
	})
	byRatio(res, names, row)
	var b strings.Builder
	b.WriteString("| program | what it does |")
	for _, state := range programStates {
		b.WriteString(" " + state.what + " |")
	}
	b.WriteString("\n|---|---|" + strings.Repeat("--:|", len(programStates)) + "\n")
	for _, name := range names {
		fmt.Fprintf(&b, "| %s | %s |", res.programName(name), programReasons[name])
		for _, state := range programStates {
			b.WriteString(" " + res.ratioInBold(programRow(name, state.row)) + " |")
		}
		b.WriteString("\n")
	}
	return b.String(), nil
}

// renderNothing is renderPays for the rest, with where the figures are from.
func renderNothing(res *results) (string, error) {
	text, err := renderPays(res, littleBelow, 1e9)
	return text + "\n" + programLosses(res) + "\n" + programsOrigin(res), err
}

// paysRows are calls that gain much, little and nothing.
var paysRows = []named{
	{"ReadAtRecord/size=64B", "`ReadAt` 64 B"},
	{"Seek", "`Seek`"},
	{"WriteRecord/size=1KB", "`Write` 1 KiB, the same pages again"},
	{"Policy/state=random-64B", "200,000 × `WriteAt` 64 B, anywhere in 64 MiB"},
	{"Read/size=100MB", "`Read` through 100 MiB in 4 KiB calls"},
	{"ReadAtOneCall/size=1MB", "`ReadAt` 1 MiB"},
	{"Policy/state=sync-1KB", "`WriteAt` 1 KiB and `Sync`"},
	{"Append/size=100B", "`Write` 100 B with `O_APPEND`"},
	{"OpenRead4KBClose", "open, read 4 KiB, close"},
	{"CopyFileToTCP/size=100MB", "`io.Copy` of 100 MiB to a TCP connection"},
	{"Pipe", "64 KiB through a pipe"},
}

func renderPaysCalls(res *results) (string, error) {
	if err := res.complete(rowsOf(paysRows)); err != nil {
		return "", err
	}
	return againstOS(res, paysRows) + "\n" + origin(res, "make bench-full"), nil
}
