package tables

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.dw1.io/mmapfile/benchdata/internal/results"
)

// volume is how much a pass of the benchmark of events appends.
type volume struct {
	key            string // as it stands in the rows
	messages, size int64
}

func (v volume) row(name, rest string) string { return name + "/" + v.key + rest }

// String is the volume for people.
func (v volume) String() string {
	size := results.SizeName(results.FormatSize(v.size))
	if total := v.messages * v.size; total >= 1<<30 {
		return results.SizeName(results.FormatSize(total)) + " of " + size
	}
	return fmt.Sprintf("%d,%03d × %s", v.messages/1000, v.messages%1000, size)
}

// volumes are those that were measured.
func volumesOf(res *results.Set) (list []volume, err error) {
	for _, row := range res.Rows {
		key, ok := strings.CutPrefix(row, "Events/")
		key, isLater := strings.CutSuffix(key, "/pass=later")
		if !ok || !isLater {
			continue
		}
		v := volume{key: key}
		if _, err := fmt.Sscanf(key, "messages=%d/size=%d", &v.messages, &v.size); err != nil || v.messages <= 0 || v.size <= 0 {
			return nil, fmt.Errorf("%s: not a number of messages and their size", row)
		}
		list = append(list, v)
	}
	return list, nil
}

// eventWays are the lines of the tables, with what was published for them: messages a second, of
// 10,000 of 1 KiB, on another machine.
var eventWays = []struct {
	way, what string
	published float64
}{
	{"standard", "standard: a `Write` for each", 103_865},
	{"channel", "a channel to a goroutine with `bufio`", 726_526},
	{"bufio", "buffered: `bufio`", 1_041_608},
	{"bare", "the bare mapped loop", 3_984_986},
	{"", "the same in Zig", 5_649_347},
	{"eventlog", "**`eventlog`**", 0},
	{"eventlog-two", "`eventlog`, two goroutines", 0},
	{"limit", "the limit: copy, checksum and clock", 0},
}

// rates is the table of a pass in thousands of messages a second.
func rates(res *results.Set, volumes []volume, what, pass string) grid {
	g := grid{{"thousand messages a second, " + what}}
	for _, v := range volumes {
		g[0] = append(g[0], v.String())
	}
	g[0] = append(g[0], "published")
	for _, w := range eventWays {
		line, any := []string{w.what}, false
		for _, v := range volumes {
			rate := 0.0
			if t := res.Median(v.row("Events", "/pass="+pass), w.way); t > 0 {
				rate, any = float64(v.messages)/t/1000, true
			}
			if w.way == "" {
				line = append(line, "")
			} else {
				line = append(line, results.Digits(rate))
			}
		}
		switch {
		case w.published > 0:
			g = append(g, append(line, results.Digits(w.published/1000)))
		case any:
			g = append(g, append(line, ""))
		}
	}
	return g
}

// faster is how many times the rate of base way has.
func faster(pass, way, base string) func(res *results.Set, v volume) float64 {
	return func(res *results.Set, v volume) float64 { return res.Ratio(v.row("Events", "/pass="+pass), base, way) }
}

// readSpeed is in GB/s, 0 if it was not measured.
func readSpeed(way string) func(res *results.Set, v volume) float64 {
	return func(res *results.Set, v volume) float64 {
		if t := res.Median(v.row("EventsRead", ""), way); t > 0 {
			return float64(v.messages*v.size) / t / 1e9
		}
		return 0
	}
}

// eventLine is a line with a figure for each volume.
type eventLine struct {
	what  string
	value func(res *results.Set, v volume) float64
}

// eventSpeeds are the lines of the table of what is read back.
var eventSpeeds = []eventLine{{"`Events`, verified", readSpeed("eventlog")}, {"`crc32` of the same memory", readSpeed("crc32")}}

// eventRatios are the lines of the table that relates eventlog to other ways.
var eventRatios = []eventLine{
	{"first pass: rate / buffered", faster("fresh", "eventlog", "bufio")},
	{"first pass: rate / the bare mapped loop", faster("fresh", "eventlog", "bare")},
	{"later passes: rate / buffered", faster("later", "eventlog", "bufio")},
	{"later passes: rate / the bare mapped loop", faster("later", "eventlog", "bare")},
	{"later passes: time / the limit", faster("later", "limit", "eventlog")},
	{"later passes: two goroutines / one", faster("later", "eventlog-two", "eventlog")},
	{"reading back: speed / `crc32`", func(res *results.Set, v volume) float64 {
		return res.Ratio(v.row("EventsRead", ""), "crc32", "eventlog")
	}},
}

// eventGrid is the table of these lines.
func eventGrid(res *results.Set, head string, volumes []volume, lines []eventLine) grid {
	g := grid{{head}}
	for _, v := range volumes {
		g[0] = append(g[0], v.String())
	}
	for _, l := range lines {
		line := []string{l.what}
		for _, v := range volumes {
			line = append(line, results.Digits(l.value(res, v)))
		}
		g = append(g, line)
	}
	return g
}

// recordWays are the lines of records of a size. Copies of a whole buffer into a mapping have two readings.
var recordWays = []struct{ what, way, reading string }{
	{"`WriteAt`", "writeat", ""},
	{"`Write`, with `bufio`", "bufio", ""},
	{"bare mapping, corrected", "map", "/reading=corrected"},
	{"bare mapping, as published", "map", "/reading=asPublished"},
}

// records is the table of records: nanoseconds for one, by the buffer that they are collected in.
func records(res *results.Set) (grid, error) {
	type key struct{ file, pass, record string }
	sizes := map[string]int64{"none": 0}
	var keys []key
	for _, row := range res.Rows {
		if !strings.HasPrefix(row, "Records/") {
			continue
		}
		var k key
		var buffer string
		if _, err := fmt.Sscanf(strings.ReplaceAll(row, "/", " "), "Records file=%s pass=%s record=%s buffer=%s", &k.file, &k.pass, &k.record, &buffer); err != nil {
			return nil, fmt.Errorf("%s: %w", row, err)
		}
		for _, size := range []string{k.file, k.record, buffer} {
			n, err := results.KeyedSize(size)
			if err != nil || n == 0 && size != buffer {
				return nil, fmt.Errorf("%s: %q is no size", row, size)
			}
			sizes[size] = n
		}
		if !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	buffers := slices.DeleteFunc(slices.Collect(maps.Keys(sizes)), func(size string) bool {
		return !slices.ContainsFunc(res.Rows, func(row string) bool { return strings.Contains(row+"/", "/buffer="+size+"/") })
	})
	slices.SortFunc(buffers, func(a, b string) int { return cmp.Compare(sizes[a], sizes[b]) })
	g := grid{{"nanoseconds for a record, by the buffer"}}
	for _, buffer := range buffers {
		g[0] = append(g[0], results.KeyedName(buffer))
	}
	for _, k := range keys {
		what := results.KeyedName(k.record) + ", fresh file of " + results.KeyedName(k.file)
		if k.pass == "later" {
			what = results.KeyedName(k.record) + ", later pass over " + results.KeyedName(k.file)
		}
		for _, w := range recordWays {
			line, measured := []string{what + ": " + w.what}, false
			for _, buffer := range buffers {
				row := fmt.Sprintf("Records/file=%s/pass=%s/record=%s/buffer=%s", k.file, k.pass, k.record, buffer)
				if buffer != "none" {
					row += w.reading
				}
				t := res.Median(row, w.way) * 1e9 / float64(sizes[k.file]/sizes[k.record])
				measured = measured || t > 0
				line = append(line, results.Digits(t))
			}
			if !measured {
				return nil, fmt.Errorf("%s was not measured", line[0])
			}
			g = append(g, line)
		}
	}
	return g, nil
}

// eventSections are the tables of what was measured.
func eventSections(res *results.Set) (list []section, err error) {
	volumes, err := volumesOf(res)
	if err != nil {
		return nil, err
	}
	if len(volumes) > 0 {
		list = []section{
			{grid: rates(res, volumes, "first pass over a fresh file", "fresh")},
			{grid: rates(res, volumes, "later passes", "later")},
			{grid: eventGrid(res, "GB/s, reading back", volumes, eventSpeeds)},
			{grid: eventGrid(res, "`eventlog`", volumes, eventRatios)},
		}
	}
	g, err := records(res)
	if len(g) > 1 {
		list = append(list, section{grid: g})
	}
	return list, err
}

// renderEvents is the block of the page about events. It leaves no row out.
func renderEvents(res *results.Set) (string, error) {
	list, err := eventSections(res)
	if err == nil && len(list) < 5 {
		err = errors.New("events or records were not measured")
	}
	if err != nil {
		return "", err
	}
	for _, s := range list[:len(list)-1] {
		for _, line := range s.grid[1:] {
			if slices.ContainsFunc(line[1:], func(cell string) bool { return strings.HasPrefix(cell, results.Digits(0)) }) {
				return "", fmt.Errorf("%s was not measured", line[0])
			}
		}
	}
	return markdown(list...) + origin(res, "make events"), nil
}
