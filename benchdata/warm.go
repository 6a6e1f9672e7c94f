package main

import (
	"cmp"
	"fmt"
	"strings"
)

// Units of what internal/lab says of warming up.
const (
	warmCallsUnit = "warm-calls" // how many it took
	warmRatioUnit = "warm-ratio" // how long one of them took, relative to the row's figure
)

// warmed is what warming up has cost an implementation in a row: a value for each round.
type warmed struct{ calls, ratios []float64 }

// addWarm notes it for a line of the results, if it says so.
func (res *results) addWarm(row, impl string, value func(unit string) (float64, bool)) {
	calls, ok := value(warmCallsUnit)
	ratio, okRatio := value(warmRatioUnit)
	if !ok || !okRatio {
		return
	}
	if res.warm[row] == nil {
		res.warm[row] = map[string]*warmed{}
	}
	if res.warm[row][impl] == nil {
		res.warm[row][impl] = &warmed{}
	}
	w := res.warm[row][impl]
	w.calls, w.ratios = append(w.calls, calls), append(w.ratios, ratio)
}

// warmText says what the first calls cost, which are in no figure; nothing for results that do not tell.
func warmText(res *results) string {
	var parts []string
	for _, impl := range []string{"os", "mmapfile"} {
		var ratios []float64
		dearest, worst := "", 0.0
		for _, row := range res.rows {
			if w := res.warm[row][impl]; w != nil {
				ratio := median(w.ratios)
				ratios = append(ratios, ratio)
				if ratio > worst {
					dearest = fmt.Sprintf("`%s`: %.0f calls of %s times its figure", row, median(w.calls), number(ratio))
					worst = ratio
				}
			}
		}
		if len(ratios) > 0 {
			parts = append(parts, fmt.Sprintf("with %s one took %s times the row's figure in the middle row (the most: %s)", implNames[impl], number(median(ratios)), dearest))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("Rows of a steady state are warmed up, by %s. The calls of that are in no figure: %s.",
		cmp.Or(res.config["warm"], "a rule that is not known"), strings.Join(parts, "; "))
}
