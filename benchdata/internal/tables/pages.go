// Package tables makes tables of raw results: in Markdown for the pages, and in columns for a terminal.
package tables

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.dw1.io/mmapfile/benchdata/internal/results"
)

// Artifact is a file that is made from raw results.
type Artifact struct {
	Path string
	Text []byte
}

// Put writes the file, or with check fails if it is not there as it should be.
func (a Artifact) Put(check bool) error {
	old, err := os.ReadFile(a.Path)
	switch {
	case err == nil && bytes.Equal(old, a.Text):
		return nil
	case check:
		return fmt.Errorf("%s is stale: run make -C benchdata readme", a.Path)
	}
	if err := os.MkdirAll(filepath.Dir(a.Path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(a.Path, a.Text, 0o644)
}

// block is a part of a page that is made from raw results, between two lines that mark it.
type block struct {
	page   string // as seen from the directory of the pages
	name   string // in the marks
	render func(res *results.Set) (string, error)
}

var (
	firstBlock       = block{"../README.md", "bench", renderFirst}
	callsBlock       = block{"README.md", "calls", renderCalls}
	performanceBlock = block{"README.md", "performance", renderPerformance}
	peersBlock       = block{"peers.md", "peers", renderPeers}
	eventsBlock      = block{"events.md", "events", renderEvents}
	durableBlock     = block{"durable.md", "durable", renderDurable}
	raftBlock        = block{"../raftlog/compare/README.md", "table", renderRaft}
	regretBlock      = block{"../README.md", "regret", renderRegret}
)

func (b block) begin() string { return "<!-- " + b.name + ":begin -->\n" }
func (b block) end() string   { return "<!-- " + b.name + ":end -->\n" }

// shown is how a kind of results is shown.
type shown struct {
	sections func(res *results.Set) ([]section, error) // all that is printed
	blocks   []block
	// pages are those that are made as a whole. The raw results of the run are in dir/results.
	pages func(res *results.Set, dir string) ([]Artifact, error)
}

var kinds = map[results.Kind]shown{
	results.Calls:    {nil, []block{firstBlock, callsBlock, performanceBlock}, nil},
	results.Peers:    {peersSections, []block{peersBlock}, nil},
	results.Needle:   {needleSections, nil, needlePages},
	results.Events:   {eventSections, []block{eventsBlock}, nil},
	results.Durable:  {durableSections, []block{durableBlock}, nil},
	results.Raft:     {raftSections, []block{raftBlock}, nil},
	results.Programs: {programSections, []block{gainsBlock, littleBlock, nothingBlock}, programPages},
	results.Cold:     {coldSections, nil, coldPages},
	results.Regret:   {regretSections, []block{regretBlock}, regretPages},
	results.Reread:   {rereadSections, []block{rereadBlock, openFileBlock}, nil},
}

// ResultsDir is the directory of the raw results, below that of the pages.
const ResultsDir = "results"

// Report prints the tables of a run.
func Report(out io.Writer, res *results.Set) error {
	if res.Kind() == results.Calls {
		return report(out, res)
	}
	list, err := kinds[res.Kind()].sections(res)
	if err == nil {
		err = printSections(out, list...)
	}
	if err == nil {
		_, err = fmt.Fprintf(out, "\nMedians of %d rounds or more; %s, load %s.\n", res.Rounds(), res.Config["fs"], res.Config["load"])
	}
	return err
}

// Summary prints what a person wants to know after a run.
func Summary(out io.Writer, res *results.Set) error {
	if res.Kind() == results.Calls {
		return summarize(out, res)
	}
	return Report(out, res)
}

// Pages returns the pages in dir, and outside of it, as the results have them be.
func Pages(res *results.Set, dir string) ([]Artifact, error) {
	kind := kinds[res.Kind()]
	made, err := blockPages(res, dir, kind.blocks)
	if err == nil && kind.pages != nil {
		var more []Artifact
		more, err = kind.pages(res, dir)
		made = append(made, more...)
	}
	if err != nil {
		return nil, err
	}
	return fillReadme(made, dir)
}

// blockPages returns pages with the blocks in them.
func blockPages(res *results.Set, dir string, blocks []block) ([]Artifact, error) {
	var made []Artifact
	for _, b := range blocks {
		path := filepath.Join(dir, filepath.FromSlash(b.page))
		i := slices.IndexFunc(made, func(a Artifact) bool { return a.Path == path })
		if i < 0 {
			text, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			i, made = len(made), append(made, Artifact{path, text})
		}
		table, err := b.render(res)
		if err != nil {
			return nil, err
		}
		if made[i].Text, err = b.replace(made[i].Text, table); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	return made, nil
}

// origin says how, when and on what the results were measured, and with which versions. A line of the raw results with
// the key note says what else is to be known of the run.
func origin(res *results.Set, command string, versions ...string) string {
	c := func(key string) string { return cmp.Or(res.Config[key], "unknown") }
	date, _, _ := strings.Cut(c("date"), "T")
	each := ""
	if t := res.Config["benchtime"]; t != "" {
		each = ", " + t + " a row,"
	}
	text := fmt.Sprintf("`%s` on %s: medians of %d interleaved rounds%s at commit %s; %s, %s cores, %s, %s, %s",
		command, date, res.Rounds(), each, c("commit"), c("cpu"), c("cores"), c("kernel"), c("fs"), c("go"))
	for _, key := range versions {
		text += ", " + key + " " + c(key)
	}
	if note := res.Config["note"]; note != "" {
		text += "; " + note
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
