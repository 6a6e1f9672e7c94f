package results

// Units of what internal/lab says of warming up.
const (
	warmCallsUnit = "warm-calls" // how many it took
	warmRatioUnit = "warm-ratio" // how long one of them took, relative to the row's figure
)

// Warmed is what warming up has cost an implementation in a row: a value for each round.
type Warmed struct{ Calls, Ratios []float64 }

// addWarm notes it for a line of the results, if it says so.
func (res *Set) addWarm(row, impl string, value func(unit string) (float64, bool)) {
	calls, ok := value(warmCallsUnit)
	ratio, okRatio := value(warmRatioUnit)
	if !ok || !okRatio {
		return
	}
	if res.Warm[row] == nil {
		res.Warm[row] = map[string]*Warmed{}
	}
	if res.Warm[row][impl] == nil {
		res.Warm[row][impl] = &Warmed{}
	}
	w := res.Warm[row][impl]
	w.Calls, w.Ratios = append(w.Calls, calls), append(w.Ratios, ratio)
}
