package tables

import (
	"fmt"
	"slices"
	"strconv"

	"go.dw1.io/mmapfile/benchdata/internal/results"
)

var (
	rereadBlock   = block{"../README.md", "reread", renderReread}
	openFileBlock = block{paysPage, "memory", renderOpenFile}
)

// rereadSections are the figures that the two pictures show.
func rereadSections(res *results.Set) ([]section, error) {
	reads := grid{{"the same pages", "os.File", "x/exp/mmap", "mmapfile", "mmapfile / os.File", "noise"}}
	for _, pages := range results.RereadPages {
		for _, n := range results.RereadTimes {
			line := []string{fmt.Sprintf("%s, %d times", pages, n)}
			row := results.RereadRow(pages, n)
			for _, impl := range []string{"os", "exp", "mmapfile"} {
				line = append(line, results.Duration(res.Median(row, impl)))
			}
			reads = append(reads, append(line, results.Number(res.Ratio(row, "mmapfile", "os")), results.Number(res.Ratio(row, "os-again", "os"))))
		}
	}
	memory := grid{{"read", "pages", "os.File", "x/exp/mmap", "mmapfile"}}
	for _, n := range results.OpenTimes {
		for _, pages := range results.OpenPages {
			line := []string{fmt.Sprintf("%d times", n), strconv.Itoa(pages)}
			for _, impl := range []string{"os", "exp", "mmapfile"} {
				line = append(line, results.Bytes(results.Median(res.Memory[results.OpenRow(n, pages)][impl])))
			}
			memory = append(memory, line)
		}
	}
	return []section{{grid: reads}, {grid: memory, notes: "This is what an open file takes of the heap and of page tables."}}, nil
}

// renderReread is the picture of reads, and what it shows.
func renderReread(res *results.Set) (string, error) {
	text := "![Time of a ReadAt by how often the same pages are read](benchdata/charts/reread.svg)\n\n"
	for i, where := range results.RereadWhere {
		sentence, err := rereadGain(res, results.RereadPages[i], where)
		if err != nil {
			return "", err
		}
		text += sentence + "\n"
	}
	return text, nil
}

// rereadGain says from how often on pages gain if they are read again.
func rereadGain(res *results.Set, pages, where string) (string, error) {
	var rows []string
	for _, n := range results.RereadTimes {
		rows = append(rows, results.RereadRow(pages, n))
	}
	if err := res.Complete(rows); err != nil {
		return "", err
	}
	first := len(rows) // of those from which on each one is faster
	for first > 0 {
		if faster, _ := res.Compared("os", rows[first-1:first]); faster == 0 {
			break
		}
		first--
	}
	part := func(from, to int) (times, ratios string) {
		var all []float64
		for _, row := range rows[from:to] {
			all = append(all, res.Ratio(row, "mmapfile", "os"))
		}
		return span(fmt.Sprint(results.RereadTimes[from]), fmt.Sprint(results.RereadTimes[to-1])),
			span(results.Number(slices.Min(all)), results.Number(slices.Max(all)))
	}
	const whole = "read %s times, `File` takes %s of the time of `os.File`"
	few, many := "", ""
	if first > 0 {
		times, ratios := part(0, first)
		few = fmt.Sprintf(whole+", which is no gain", times, ratios)
	}
	if first < len(rows) {
		times, ratios := part(first, len(rows))
		if many = fmt.Sprintf(whole, times, ratios); first > 0 {
			many = fmt.Sprintf("; read %s times, %s", times, ratios)
		}
	}
	return "Pages " + where + ": " + few + many + ".", nil
}

// renderOpenFile is the picture of memory, and what it shows.
func renderOpenFile(res *results.Set) (string, error) {
	most := map[string]float64{} // by implementation
	var ofFile [len(results.OpenTimes)]float64
	for i, times := range results.OpenTimes {
		for _, pages := range results.OpenPages {
			row := results.OpenRow(times, pages)
			for _, impl := range []string{"os", "exp", "mmapfile"} {
				list := res.Memory[row][impl]
				if len(list) == 0 {
					return "", fmt.Errorf("%s was not measured with %s", row, impl)
				}
				most[impl] = max(most[impl], results.Median(list))
			}
			ofFile[i] = max(ofFile[i], results.Median(res.Memory[row]["mmapfile"]))
		}
	}
	return fmt.Sprintf("![Memory of an open file by how many of its pages were read](../benchdata/charts/openfile.svg)\n\n"+
		"If each page is read %d times, an open `File` takes up to %s; if it is read %d times, up to %s. `x/exp/mmap` takes up to %s, and `os.File` up to %s.\n\n",
		results.OpenTimes[0], results.Bytes(ofFile[0]), results.OpenTimes[1], results.Bytes(ofFile[1]),
		results.Bytes(most["exp"]), results.Bytes(most["os"])) + origin(res, "make bench-reread"), nil
}

// span is a range, or a value if both ends are that.
func span(from, to string) string {
	if from == to {
		return from
	}
	return from + " to " + to
}
