package tables

import (
	"fmt"
	"strings"

	"go.dw1.io/mmapfile/benchdata/internal/results"
)

// raftRows are the rows of the logs of raft.
var raftRows = func() (rows []named) {
	sizes := []named{{"128", "128 B"}, {"1024", "1 KiB"}, {"65536", "64 KiB"}}
	for _, size := range sizes {
		for _, batch := range []int{1, 8, 64} {
			for _, figure := range []string{"p50", "p99"} {
				rows = append(rows, named{fmt.Sprintf("StoreLogs/batch=%d/size=%s/figure=%s", batch, size.row, figure), fmt.Sprintf("`StoreLogs` of %d × %s, %s", batch, size.what, figure)})
			}
		}
	}
	for _, where := range []string{"first", "middle", "last"} {
		rows = append(rows, named{"GetLog/at=" + where, "`GetLog`, " + where})
	}
	for _, name := range strings.Fields("FirstIndex LastIndex GetLog StoreLog StoreLogs Set Get SetUint64 GetUint64") {
		rows = append(rows, named{"RaftBench/" + name, "raft/bench `" + name + "`"})
	}
	for _, where := range []string{"front", "back"} {
		rows = append(rows, named{"DeleteRange/entries=1000000/at=" + where, "`DeleteRange` of a million, " + where})
	}
	return append(rows, named{"Cluster/goroutines=64/size=1024", "an event of 1 KiB, three nodes, 64 goroutines"})
}()

// raftSections are the table of the logs of raft.
func raftSections(res *results.Set) ([]section, error) {
	g := grid{{"", "raftlog", "raft-wal", "raft-boltdb", "raftlog / raft-wal"}}
	for _, r := range raftRows {
		row := results.RaftRows + r.row
		if res.Median(row, "raftlog") == 0 {
			continue
		}
		line := []string{r.what}
		for _, impl := range g[0][1:4] {
			line = append(line, results.Duration(res.Median(row, impl)))
		}
		g = append(g, append(line, significant(res, row, "raftlog", "raft-wal")))
	}
	return []section{{grid: g, notes: "In bold: raftlog is slower (p < 0.05)."}}, nil
}

// renderRaft is that table for the page. It leaves no row out.
func renderRaft(res *results.Set) (string, error) {
	list, _ := raftSections(res)
	if n := len(list[0].grid) - 1; n != len(raftRows) {
		return "", fmt.Errorf("%d of %d rows of raft's logs were measured", n, len(raftRows))
	}
	return markdown(list...) + origin(res, "make raftlog"), nil
}
