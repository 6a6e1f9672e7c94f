package results

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Regretted is the ratio to os.File from which a program may have lost.
const Regretted = 1.05

// Lost reports whether mmapfile is slower than os.File, by both of its measurements, and by more than these
// differ. times are those of a program by implementation.
func Lost(times map[string][]float64) bool {
	own, base, again := Median(times["mmapfile"]), Median(times["os"]), Median(times["os-again"])
	noise := max(base, again) / min(base, again)
	return own > Regretted*base && own > noise*max(base, again) &&
		Significant(Compare(times["mmapfile"], times["os"])) && Significant(Compare(times["mmapfile"], times["os-again"]))
}

// RegretProgram begins the key of the line that describes a program. Its number follows, as in the rows.
const RegretProgram = "program-"

// Program is a random program that was measured.
type Program struct {
	Text   string
	Drawn  bool // or given, and not made of a loser
	Lost   bool
	Rounds int
	rows   map[string]map[string][]float64 // by figure and implementation
}

// Figure is what the program is judged by: its wall time if the file was not in memory, else its CPU time.
func (p Program) Figure() string {
	if strings.Contains(p.Text, "cold=1") {
		return "wall"
	}
	return "cpu"
}

// Ratio is the time of impl relative to os.File, 0 if it was not measured.
func (p Program) Ratio(figure, impl string) float64 {
	base := Median(p.rows[figure]["os"])
	if base == 0 {
		return 0
	}
	return Median(p.rows[figure][impl]) / base
}

// RandomPrograms are the programs of a search.
func (res *Set) RandomPrograms() ([]Program, error) {
	var list []Program
	at := map[string]int{}
	for _, row := range res.Rows {
		number, figure, _ := strings.Cut(strings.TrimPrefix(row, RegretRows+"program="), "/figure=")
		how, text, ok := strings.Cut(res.Config[RegretProgram+number], " ")
		if !ok {
			return nil, fmt.Errorf("%s has no line with its program", row)
		}
		i, known := at[number]
		if !known {
			i = len(list)
			at[number] = i
			list = append(list, Program{Text: text, Drawn: how != "mutated", rows: map[string]map[string][]float64{}})
		}
		list[i].rows[figure] = res.Times[row]
	}
	for i := range list {
		p := &list[i]
		times := p.rows[p.Figure()]
		p.Lost, p.Rounds = Lost(times), len(times["mmapfile"])
	}
	return list, nil
}

// Percentile returns the value below which that share of the values is, from 0 to 1.
func Percentile(values []float64, share float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(int(math.Ceil(share*float64(len(sorted))))-1, len(sorted)-1)]
}
