package results

import (
	"cmp"
	"math"
	"slices"

	"golang.org/x/perf/benchmath"
)

// Loss is a row in which mmapfile is slower than another implementation.
type Loss struct {
	Row   string
	Ratio float64
}

// LostTo are the rows in which mmapfile is slower than base: by more than os.File differs from
// itself there, and so that it is no accident (p < 0.05). The worst comes first.
func (res *Set) LostTo(base string, rows []string) []Loss {
	_, list := res.Compared(base, rows)
	return list
}

// Compared returns in how many rows mmapfile is faster than base, and by the same rule the rows of LostTo.
func (res *Set) Compared(base string, rows []string) (faster int, slower []Loss) {
	for _, row := range rows {
		ratio := res.Ratio(row, "mmapfile", base)
		if ratio == 0 || math.Abs(math.Log(ratio)) <= res.Noise(row) || !res.Differ(row, "mmapfile", base) {
			continue
		}
		if ratio < 1 {
			faster++
		} else {
			slower = append(slower, Loss{row, ratio})
		}
	}
	slices.SortStableFunc(slower, func(a, b Loss) int { return cmp.Compare(b.Ratio, a.Ratio) })
	return faster, slower
}

// Differ says whether the times of two implementations in a row are significantly different.
func (res *Set) Differ(row, a, b string) bool {
	return Significant(Compare(res.Times[row][a], res.Times[row][b]))
}

// Compare is the comparison that benchstat makes.
func Compare(a, b []float64) benchmath.Comparison {
	return benchmath.AssumeNothing.Compare(
		benchmath.NewSample(slices.Clone(a), &benchmath.DefaultThresholds),
		benchmath.NewSample(slices.Clone(b), &benchmath.DefaultThresholds))
}

// Significant reports whether the difference is no accident.
func Significant(c benchmath.Comparison) bool { return c.P < c.Alpha }
