package results

import (
	"fmt"
	"strings"
)

// Kind is what a run measured.
type Kind string

// The kinds of runs. Calls is the one with rows that are none of the others; those of Reread may be among them.
const (
	Calls    Kind = "calls"
	Peers    Kind = "peers"
	Needle   Kind = "needle"
	Events   Kind = "events"
	Durable  Kind = "durable"
	Raft     Kind = "raft"
	Programs Kind = "programs"
	Cold     Kind = "cold"
	Regret   Kind = "regret"
	Reread   Kind = "reread"
)

// The rows of a kind begin with these.
const (
	RaftRows    = "Raft/"
	ProgramRows = "Programs/"
	ColdRows    = "Cold/"
	RegretRows  = "Regret/"
)

var kindOf = map[string]Kind{"Needle": Needle, "Lines": Needle, "Events": Events, "EventsRead": Events, "Records": Events,
	"Durable": Durable, "Raft": Raft, "Programs": Programs, "Cold": Cold, "Regret": Regret,
	"Reread": Reread, "OpenMemory": Reread}

// Kind returns what was measured.
func (res *Set) Kind() Kind {
	reread := true
	for _, row := range res.Rows {
		name, _, _ := strings.Cut(row, "/")
		kind, ok := kindOf[name]
		switch impls := res.Times[row]; {
		case kind == Reread:
			continue // all benchmarks of internal/lab have these among them
		case ok:
			return kind
		case impls["mmap-io"] != nil || impls["memmap2"] != nil:
			return Peers
		}
		reread = false
	}
	if reread {
		return Reread
	}
	return Calls
}

// Named is a key in names, of rows or files, and what it stands for.
type Named struct{ Key, What string }

// ImplNames are the implementations as people know them.
var ImplNames = map[string]string{
	"os": "`os.File`", "os-again": "`os.File` again", "mmapfile": "mmapfile", "v0.1.2": "v0.1.2",
	"exp": "x/exp/mmap", "edsrzf": "edsrzf/mmap-go", "copy": "the bare copy",
	"mapping": "a bare mapping",
}

// ProgramStates are the states that programs are measured in, and their names in tables.
var ProgramStates = []Named{
	{"one-process", "one process"},
	{"new-process", "new processes"},
	{"cold", "not in memory"},
}

// ProgramRow is the row of a program in a state.
func ProgramRow(program, state string) string {
	return ProgramRows + "program=" + program + "/state=" + state
}

// WriteStates is what the rows of the states of a file that is written begin with.
const WriteStates = "Policy/state="

// SearchRow is the row of a search.
func SearchRow(name, state string, workers int) string {
	return fmt.Sprintf("%s/state=%s/workers=%d", name, state, workers)
}

// ColdRow is the row of a figure of package cold, which has no name if it is the only one.
func ColdRow(key, figure string) string {
	if figure != "" {
		key += "/figure=" + figure
	}
	return ColdRows + key
}

// RereadPages and RereadTimes are which pages are read how often, in the rows of RereadRow. RereadWhere
// says where these pages are.
var (
	RereadPages = [2]string{"near", "far"}
	RereadWhere = [2]string{"side by side", "one in each 64 KiB"}
	RereadTimes = []int{1, 2, 5, 20, 100}
)

// RereadRow is the row of such pages that are read so many times.
func RereadRow(pages string, times int) string {
	return fmt.Sprintf("Reread/pages=%s/times=%d", pages, times)
}

// OpenTimes and OpenPages are how often how many pages of a file were read, in the rows of OpenRow.
var (
	OpenTimes = [2]int{2, 100}
	OpenPages = []int{1, 4, 16, 64, 256, 1024, 4096}
)

// OpenRow is the row of the memory of a file after so many pages of it were read so many times.
func OpenRow(times, pages int) string {
	return fmt.Sprintf("OpenMemory/times=%d/pages=%d", times, pages)
}

// Charts are the pictures of calls, by their files, with what they show.
var Charts = []Named{
	{"time.svg", "Time relative to os.File against size, for each method and implementation"},
	{"goroutines.svg", "Records a second by the number of goroutines"},
	{"writes.svg", "Time to write relative to os.File, by the state of the file"},
}
