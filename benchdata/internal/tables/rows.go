package tables

import (
	"strings"

	"go.dw1.io/mmapfile/benchdata/internal/results"
)

// named is a row and what is done in it.
type named struct{ row, what string }

// rowsOf are the rows of a list.
func rowsOf(list []named) []string {
	var rows []string
	for _, r := range list {
		rows = append(rows, r.row)
	}
	return rows
}

// firstRows are those at the top of the README: where it gains, and where it does not.
var firstRows = []named{
	{"ReadAtRecord/size=1KB", "`ReadAt` 1 KiB"},
	{"Read/size=100MB", "`Read` through 100 MiB in 4 KiB calls"},
	{"WriteRecord/size=1KB", "`Write` 1 KiB"},
	{"Policy/state=sync-1KB", "`WriteAt` 1 KiB and `Sync`"},
	{"Close", "open and close"},
}

// callRows are the rows of the first table of the measurements: the good and the bad ones, a line each.
var callRows = []named{
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
	{"ReadFrom/size=500MB", "`ReadFrom` 500 MiB"},
	{"ReadFrom/size=1GB", "`ReadFrom` 1 GiB"},
	{"Policy/state=random-64B", "200,000 × `WriteAt` 64 B, anywhere in 64 MiB"},
	{"Policy/state=sync-1KB", "`WriteAt` 1 KiB and `Sync`"},
	{"Append/size=100B", "`Write` 100 B with `O_APPEND`"},
	{"Seek", "`Seek`"},
	{"Stat", "`Stat`"},
	{"Sync", "`Sync`, with nothing to do"},
	{"Close", "open and close"},
	{"OpenRead4KBClose", "open, read 4 KiB, close"},
	{"Pipe", "64 KiB through a pipe"},
	{"WriteToBuffer/size=1MB", "`io.Copy` of 1 MiB to a `bytes.Buffer`"},
	{"CopyFileToFile/size=100MB", "`io.Copy` of 100 MiB to a file"},
	{"CopyFileToTCP/size=100MB", "`io.Copy` of 100 MiB to a TCP connection"},
}

// reasonRows are the reasons to stay with os.File that the predecessor's README gives.
var reasonRows = []struct {
	reason string
	rows   []named
}{
	{"files that grow", []named{{"AppendCursor/size=4KB", "`Write` 4 KiB at the end"}}},
	{"small files that are read once", []named{{"OpenRead4KBClose", "open, read 4 KiB, close"}}},
	{"files that are seldom used", []named{
		{"OpenOneReadAtClose", "open, read 4 KiB of 64 MiB, close"},
		{"ReadAnywhere/state=cold", "1,000 × `ReadAt` 4 KiB anywhere in 64 MiB that are not in memory"}}},
	{"much that is written in sequence", []named{
		{"CreateWriteClose/block=64KB", "create a file, write 16 MiB in 64 KiB calls, close"},
		{"Write/size=500MB", "`Write` 500 MiB"},
		{"Write/size=1GB", "`Write` 1 GiB"}}},
}

// mappingRows are those in which the other mappings take part.
var mappingRows = []named{
	{"ReadAtRecord/size=64B", "`ReadAt` 64 B"},
	{"ReadAtRecord/size=1KB", "`ReadAt` 1 KiB"},
	{"ReadAtRecord/size=4KB", "`ReadAt` 4 KiB"},
	{"ReadAtOneCall/size=100KB", "`ReadAt` 100 KiB"},
	{"ReadAtOneCall/size=1MB", "`ReadAt` 1 MiB"},
	{"ReadAtOneCall/size=100MB", "`ReadAt` 100 MiB"},
	{"SliceCopy/size=64B", "copy 64 B from the slice"},
	{"SliceCopy/size=4KB", "copy 4 KiB from the slice"},
	{"WriteAtRecord/size=1KB", "`WriteAt` 1 KiB"},
	{"WriteAt/size=1MB", "`WriteAt` 1 MiB"},
	{"ReadThrough/state=first/block=4KB", "open, `ReadAt` through 64 MiB in 4 KiB calls, close"},
	{"ReadThrough/state=cold/block=4KB", "the same, not in memory before"},
	{"ReadAnywhere/state=first", "open, 1,000 × `ReadAt` 4 KiB anywhere in 64 MiB, close"},
	{"ReadAnywhere/state=cold", "the same, not in memory before"},
}

// inState reports whether a row is that of a state of the file, and not of hot pages only.
func inState(row string) bool { return strings.Contains(row, "/state=") }

// calls are the rows without a state, states the rest, if os.File and mmapfile have them.
func calls(res *results.Set) []string {
	return compared(res, func(row string) bool { return !inState(row) })
}
func states(res *results.Set) []string { return compared(res, inState) }

func compared(res *results.Set, wanted func(row string) bool) []string {
	var rows []string
	for _, row := range res.Rows {
		if wanted(row) && res.Ratio(row, "mmapfile", "os") > 0 {
			rows = append(rows, row)
		}
	}
	return rows
}

// published are the rows of the benchmark that was published for this package's predecessor.
func published() []string {
	var rows []string
	for _, name := range []string{"Read", "ReadAt", "ReadAtParallel", "Write", "WriteAt", "ReadFrom"} {
		for _, size := range []string{"1KB", "10KB", "100KB", "1MB", "10MB", "100MB", "500MB", "1GB"} {
			rows = append(rows, name+"/size="+size)
		}
	}
	return append(rows, "Seek", "WriteTo", "Stat", "Sync", "Close")
}
