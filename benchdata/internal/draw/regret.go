package draw

import (
	"math"

	"go.dw1.io/mmapfile/benchdata/internal/results"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"
)

// regretChart counts the drawn programs by their time relative to os.File. Each step is a tenth of a doubling.
func regretChart(res *results.Set) (figure, error) {
	list, err := res.RandomPrograms()
	if err != nil {
		return figure{}, err
	}
	const steps = 10
	fig := figure{title: "Programs by their time relative to os.File", height: 300}
	p := newPanel("")
	p.X.Label.Text, p.Y.Label.Text = "time / os.File", "programs"
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, factors{times}
	p.X.Min, p.X.Max, p.Y.Min = 1.0/64, 4, 0
	for _, impl := range []string{"os-again", "mmapfile"} {
		counts := map[int]int{}
		for _, prog := range list {
			if ratio := prog.Ratio(prog.Figure(), impl); prog.Drawn && ratio > 0 {
				counts[int(math.Round(steps*math.Log2(min(max(ratio, p.X.Min), p.X.Max))))]++
			}
		}
		var points plotter.XYs
		for step := int(steps * math.Log2(p.X.Min)); step <= int(steps*math.Log2(p.X.Max)); step++ {
			low, high := math.Exp2((float64(step)-0.5)/steps), math.Exp2((float64(step)+0.5)/steps)
			n := float64(counts[step])
			points = append(points, plotter.XY{X: max(low, p.X.Min), Y: n}, plotter.XY{X: min(high, p.X.Max), Y: n})
		}
		e := look(impl)
		e.line = true
		addStroke(p, draw.LineStyle{Color: e.color, Width: 1.25}, points)
		fig.legend = append(fig.legend, e)
	}
	fig.panels = [][]*plot.Plot{{p}}
	return fig, nil
}
