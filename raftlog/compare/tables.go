package main

import (
	"bufio"
	"cmp"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// results are the raw results: of each row, store and unit the values of all rounds.
type results struct {
	values map[string][]float64
	lines  []string // of the configuration
}

func readResults(name string) (*results, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	res := &results{values: map[string][]float64{}}
	in := bufio.NewScanner(f)
	for in.Scan() {
		fields := strings.Fields(in.Text())
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			res.lines = append(res.lines, in.Text())
			continue
		}
		name := strings.TrimPrefix(fields[0], "Benchmark")
		for i := 2; i+1 < len(fields); i += 2 {
			v, err := strconv.ParseFloat(fields[i], 64)
			if err != nil {
				return nil, err
			}
			key := name + " " + fields[i+1]
			res.values[key] = append(res.values[key], v)
		}
	}
	return res, in.Err()
}

// median is that of all rounds, 0 if it was not measured.
func (res *results) median(row, store, unit string) float64 {
	v := slices.Clone(res.values[row+"/store="+store+" "+unit])
	if len(v) == 0 {
		return 0
	}
	slices.Sort(v)
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

// demand is a row of a table, with the most that raftlog's value may be of raft-wal's, or the
// most that it may be itself.
type demand struct {
	what, row, unit string
	ratio, most     float64 // 0 for no demand
}

func demands() (all []demand) {
	for _, r := range rows() {
		name, _, _ := strings.Cut(r.name, "/")
		switch name {
		case "StoreLogs":
			what := strings.NewReplacer("StoreLogs/batch=", "`StoreLogs` of ", "/size=65536", " × 64 KiB",
				"/size=1024", " × 1 KiB", "/size=128", " × 128 B").Replace(r.name)
			all = append(all, demand{what + ", p50", r.name, "p50-ns", 1.05, 0}, demand{what + ", p99", r.name, "p99-ns", 1.2, 0})
		case "GetLog":
			all = append(all, demand{"`GetLog`, " + strings.TrimPrefix(r.name, "GetLog/at="), r.name, "ns/op", 0.5, 0})
		case "RaftBench":
			all = append(all, demand{"raft/bench `" + strings.TrimPrefix(r.name, "RaftBench/") + "`", r.name, "ns/op", 0, 0})
		case "DeleteRange":
			all = append(all, demand{"`DeleteRange` of a million, " + r.name[strings.LastIndex(r.name, "=")+1:], r.name, "ns/op", 0, 10e6})
		case "Memory":
			all = append(all,
				demand{"opening 10 million entries", r.name, "open-ns", 0, 0},
				demand{"their memory, after writing them", r.name, "written-bytes", 0, 200e6},
				demand{"their memory, after reading some", r.name, "read-bytes", 0, 200e6})
		case "Cluster":
			all = append(all, demand{"three nodes, 64 goroutines, 1 KiB", r.name, "events/s", 0.95, 0})
		}
	}
	return all
}

// met says whether raftlog shows what is asked for.
func (d demand) met(ours, wal float64) string {
	switch {
	case d.ratio == 0 && d.most == 0, ours == 0:
		return ""
	case d.most > 0 && ours <= d.most, d.unit == "events/s" && ours >= d.ratio*wal,
		d.unit != "events/s" && d.ratio > 0 && ours <= d.ratio*wal:
		return "yes"
	}
	return "**no**"
}

func (d demand) limit() string {
	switch {
	case d.unit == "events/s":
		return fmt.Sprintf("≥ %g", d.ratio)
	case d.ratio > 0:
		return fmt.Sprintf("≤ %g", d.ratio)
	case d.most > 0:
		return "≤ " + show(d.most, d.unit)
	}
	return ""
}

func show(v float64, unit string) string {
	switch {
	case v == 0:
		return "–"
	case strings.HasSuffix(unit, "bytes"):
		return fmt.Sprintf("%.3g MB", v/1e6)
	case unit == "events/s":
		return fmt.Sprintf("%.0f/s", v)
	case v >= 1e9:
		return fmt.Sprintf("%.3g s", v/1e9)
	case v >= 1e6:
		return fmt.Sprintf("%.3g ms", v/1e6)
	case v >= 1e3:
		return fmt.Sprintf("%.3g µs", v/1e3)
	}
	return fmt.Sprintf("%.3g ns", v)
}

// table is all rows that were measured.
func (res *results) table() string {
	var s strings.Builder
	s.WriteString("| | raftlog | raft-wal | raft-boltdb | of raft-wal | wanted | met |\n|---|---|---|---|---|---|---|\n")
	for _, d := range demands() {
		v := map[string]float64{}
		for _, k := range stores {
			v[k.name] = res.median(d.row, k.name, d.unit)
		}
		ours, wal := v["raftlog"], v["raft-wal"]
		if ours == 0 {
			continue
		}
		ratio := "–"
		if wal > 0 {
			ratio = fmt.Sprintf("%.2f", ours/wal)
		}
		fmt.Fprintf(&s, "| %s | %s | %s | %s | %s | %s | %s |\n", d.what, show(ours, d.unit), show(wal, d.unit),
			show(v["raft-boltdb"], d.unit), ratio, d.limit(), d.met(ours, wal))
	}
	fmt.Fprintf(&s, "\n%s\n", strings.Join(res.lines, "; "))
	return s.String()
}

// model is what follows from the time of a flush and of a round trip.
func model() string {
	const batch = 64 // MaxAppendEntries of raft.DefaultConfig
	var s strings.Builder
	s.WriteString("| | flush | round trip | one event takes | one client, in order | at most |\n|---|---|---|---|---|---|\n")
	for _, m := range []struct {
		what        string
		flush, trip float64 // in ns
	}{
		{"NVMe with a protected cache, one rack", 50e3, 100e3},
		{"NVMe, one data center", 1e6, 300e3},
		{"network disk, three zones", 1.5e6, 1e6},
		{"consumer SSD, three regions", 4e6, 30e6},
	} {
		takes := m.trip + 2*m.flush
		fmt.Fprintf(&s, "| %s | %s | %s | %s | %.0f/s | %.0f/s |\n", m.what, show(m.flush, "ns"), show(m.trip, "ns"),
			show(takes, "ns"), 1e9/takes, batch*1e9/m.flush)
	}
	return s.String()
}

// render puts the tables into the page.
func render(page string, res *results) (string, error) {
	for _, part := range []struct{ name, text string }{{"table", res.table()}, {"model", model()}} {
		begin, end := "<!-- "+part.name+":begin -->\n", "<!-- "+part.name+":end -->\n"
		before, rest, ok := strings.Cut(page, begin)
		_, after, ok2 := strings.Cut(rest, end)
		if !ok || !ok2 {
			return "", fmt.Errorf("the page has no marks for %s", part.name)
		}
		page = before + begin + part.text + end + after
	}
	return page, nil
}

func writeTables(readme, raw string) error {
	page, err := os.ReadFile(readme)
	res, rerr := readResults(raw)
	if err := cmp.Or(err, rerr); err != nil {
		return err
	}
	text, err := render(string(page), res)
	if err != nil {
		return err
	}
	return os.WriteFile(readme, []byte(text), 0o666)
}
