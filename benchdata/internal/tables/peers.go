package tables

import (
	"fmt"
	"strings"

	"go.dw1.io/mmapfile/benchdata/internal/results"
)

// peerRows say what is done in the rows of the comparison with Rust.
var peerRows = []named{
	{"Walk/window=4KB", "walk through 16 MiB in windows of 4 KiB"},
	{"Walk/window=64KB", "walk through 16 MiB in windows of 64 KiB"},
	{"WalkWritable/window=4KB", "walk through 16 MiB in windows of 4 KiB, mapped writable"},
	{"Stride/size=1MB", "a byte of each page of 1 MiB"},
	{"Stride/size=16MB", "a byte of each page of 16 MiB"},
	{"Stride/size=256MB", "a byte of each page of 256 MiB"},
	{"SumBytes/size=1MB", "sum of all bytes of 1 MiB"},
	{"SumBytes/size=16MB", "sum of all bytes of 16 MiB"},
	{"SumBytes/size=256MB", "sum of all bytes of 256 MiB"},
	{"ReadInto/size=1MB", "copy 1 MiB into a buffer"},
	{"ReadInto/size=16MB", "copy 16 MiB into a buffer"},
	{"ReadInto/size=256MB", "copy 256 MiB into a buffer"},
	{"RandomRead/size=64B", "copy 64 B from anywhere in 16 MiB"},
	{"RandomRead/size=256B", "copy 256 B from anywhere in 16 MiB"},
	{"RandomRead/size=4KB", "copy 4 KiB from anywhere in 16 MiB"},
	{"RandomRead/size=64KB", "copy 64 KiB from anywhere in 16 MiB"},
	{"RandomWindow/size=64B", "slice of 64 B, from `Bytes`"},
	{"RandomWindow/size=256B", "slice of 256 B, from `Bytes`"},
	{"RandomWindow/size=4KB", "slice of 4 KiB, from `Bytes`"},
	{"RandomWindow/size=64KB", "slice of 64 KiB, from `Bytes`"},
	{"RandomView/size=64B", "slice of 64 B, in `View`"},
	{"RandomView/size=256B", "slice of 256 B, in `View`"},
	{"RandomView/size=4KB", "slice of 4 KiB, in `View`"},
	{"RandomView/size=64KB", "slice of 64 KiB, in `View`"},
	{"TouchPages/size=1GB", "touch the pages of 1 GiB, mapped already"},
	{"SyncRange/size=64B", "write 64 B and sync them"},
	{"SyncRange/size=4KB", "write 4 KiB and sync them"},
	{"AtomicAdd/goroutines=1", "start a goroutine (or thread) that does 10,000 atomic additions"},
	{"AtomicAdd/goroutines=2", "start two of them"},
	{"WritePolicy/policy=none", "write 4 MiB in 64 KiB calls"},
	{"WritePolicy/policy=64KB", "write 4 MiB in 64 KiB calls, flush after each"},
	{"WritePolicy/policy=10ms", "write 4 MiB in 64 KiB calls, flush every 10 ms"},
	{"Grow", "change the size from 1 MiB to 8 MiB and back"},
}

// peersSections are the table of the comparison with Rust.
func peersSections(res *results.Set) ([]section, error) {
	g := grid{{"operation", "mmapfile", "mmap-io", "memmap2", "mmapfile / mmap-io", "mmapfile / memmap2"}}
	for _, r := range peerRows {
		// The peers guard no slices: those that mmapfile guards have the same counterparts as the others.
		peerRow := strings.Replace(r.row, "RandomView/", "RandomWindow/", 1)
		own := res.Median(r.row, "mmapfile")
		line := []string{r.what, results.Duration(own)}
		var ratios []string
		for _, impl := range []string{"mmap-io", "memmap2"} {
			peer, ratio := res.Median(peerRow, impl), 0.0
			if peer > 0 {
				ratio = own / peer
			}
			line, ratios = append(line, results.Duration(peer)), append(ratios, results.Number(ratio))
		}
		g = append(g, append(line, ratios...))
	}
	return []section{{grid: g}}, nil
}

// renderPeers is that table for the page. It leaves no row out.
func renderPeers(res *results.Set) (string, error) {
	if len(res.Rows) > len(peerRows) {
		return "", fmt.Errorf("%d rows were measured, and only %d are known", len(res.Rows), len(peerRows))
	}
	list, _ := peersSections(res)
	return markdown(list...) + origin(res, "make bench-peers", "rustc", "mmap-io", "memmap2"), res.Complete(rowsOf(peerRows))
}
