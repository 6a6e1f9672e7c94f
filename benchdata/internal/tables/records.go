package tables

import (
	"fmt"
	"slices"
	"strings"

	"go.dw1.io/mmapfile/benchdata/internal/results"
)

// recordCell is a row of the benchmark of records: how much, and where to.
type recordCell struct{ file, pass, record string }

func (c recordCell) row(buffer string) string {
	return fmt.Sprintf("Records/file=%s/pass=%s/record=%s/buffer=%s", c.file, c.pass, c.record, buffer)
}

// records are the results of that benchmark, in the order in which they were measured.
type records struct {
	res     *results.Set
	cells   []recordCell
	buffers map[string][]string // by file
}

// Of copies of a whole buffer, these are the readings.
const (
	corrected   = "/reading=corrected"
	asPublished = "/reading=asPublished"
)

// recordWays are the lines of a cell. A mapping has its readings where there is a buffer.
var recordWays = []struct{ what, way, reading string }{
	{"`WriteAt`", "writeat", ""},
	{"`Write`, with `bufio`", "bufio", ""},
	{"bare mapping, corrected", "map", corrected},
	{"bare mapping, as published", "map", asPublished},
}

func recordsOf(res *results.Set) (*records, error) {
	r := &records{res: res, buffers: map[string][]string{}}
	for _, row := range res.Rows {
		parts := strings.Split(row, "/")
		if parts[0] != "Records" {
			continue
		}
		values := map[string]string{}
		for _, part := range parts[1:] {
			key, value, _ := strings.Cut(part, "=")
			values[key] = value
		}
		c, buffer := recordCell{values["file"], values["pass"], values["record"]}, values["buffer"]
		for _, size := range []string{c.file, c.record, buffer} {
			if n, err := results.KeyedSize(size); err != nil || n == 0 && size != buffer {
				return nil, fmt.Errorf("%s: %q is no size", row, size)
			}
		}
		if !slices.Contains(r.cells, c) {
			r.cells = append(r.cells, c)
		}
		if !slices.Contains(r.buffers[c.file], buffer) {
			r.buffers[c.file] = append(r.buffers[c.file], buffer)
		}
	}
	if len(r.cells) == 0 {
		return nil, fmt.Errorf("no records were measured")
	}
	return r, nil
}

// each is the time for a record in nanoseconds, 0 if it was not measured.
func (r *records) each(c recordCell, buffer, way, reading string) float64 {
	if buffer == "none" {
		reading = ""
	}
	file, _ := results.KeyedSize(c.file)
	record, _ := results.KeyedSize(c.record)
	return r.res.Median(c.row(buffer)+reading, way) * 1e9 / float64(file/record)
}

// best is the least time with any buffer, and which one that is.
func (r *records) best(c recordCell, reading string, ways ...string) (least float64, which string) {
	for _, buffer := range r.buffers[c.file] {
		for _, way := range ways {
			t := r.each(c, buffer, way, reading)
			if buffer != "none" && t > 0 && (least == 0 || t < least) {
				least, which = t, way+", "+results.KeyedName(buffer)
			}
		}
	}
	return least, which
}

// String is the cell for people.
func (c recordCell) String() string {
	pass := "fresh file of "
	if c.pass == "later" {
		pass = "later pass over "
	}
	return results.KeyedName(c.record) + ", " + pass + results.KeyedName(c.file)
}

// unbufferedLimit is how many times the best buffered time records may take that are not collected.
const unbufferedLimit = 1.2

// worth is the table of what collecting is worth, and the names of the records that should not need it.
func (r *records) worth() (grid, []miss) {
	g := grid{{"nanoseconds for a record", "`WriteAt` each", "`Write` each", "best buffered `File`", "`WriteAt` / best", "`Write` / best",
		"bare mapping: copy each", "best buffered, corrected", "best buffered, as published"}}
	names := map[string]string{"writeat": "`WriteAt`", "bufio": "`bufio`"}
	var each [2][]miss
	for _, c := range r.cells {
		least, which := r.best(c, "", "writeat", "bufio")
		way, buffer, _ := strings.Cut(which, ", ")
		line := []string{c.String()}
		var ratios []string
		for i, u := range []struct{ way, what string }{{"writeat", "`WriteAt`"}, {"bufio", "`Write`"}} {
			t, ratio := r.each(c, "none", u.way, ""), 0.0
			if least > 0 {
				ratio = t / least
			}
			line = append(line, results.Digits(t))
			text := results.Digits(ratio)
			if ratio > unbufferedLimit {
				each[i] = append(each[i], miss{
					fmt.Sprintf("unbuffered %s, relative to the best buffered (at most %v)", u.what, unbufferedLimit),
					c.String() + " (" + text + ")",
				})
				text = "**" + text + "**"
			}
			ratios = append(ratios, text)
		}
		line = append(line, fmt.Sprintf("%s (%s, %s)", results.Digits(least), names[way], buffer))
		line = append(append(line, ratios...), results.Digits(r.each(c, "none", "map", "")))
		for _, reading := range []string{corrected, asPublished} {
			t, which := r.best(c, reading, "map")
			_, buffer, _ := strings.Cut(which, ", ")
			line = append(line, fmt.Sprintf("%s (%s)", results.Digits(t), buffer))
		}
		g = append(g, line)
	}
	return g, slices.Concat(each[:]...)
}

// grids are all results, a table for each size of the file.
func (r *records) grids() (list []grid) {
	file := ""
	for _, c := range r.cells {
		if c.file != file {
			file = c.file
			head := []string{"buffer"}
			for _, buffer := range r.buffers[file] {
				head = append(head, results.KeyedName(buffer))
			}
			list = append(list, grid{head})
		}
		for _, w := range recordWays {
			line := []string{c.String() + ": " + w.what}
			for _, buffer := range r.buffers[file] {
				line = append(line, results.Digits(r.each(c, buffer, w.way, w.reading)))
			}
			list[len(list)-1] = append(list[len(list)-1], line)
		}
	}
	return list
}
