package draw

import (
	"slices"

	"go.dw1.io/mmapfile/benchdata/internal/cold"
	"go.dw1.io/mmapfile/benchdata/internal/results"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"
)

// memoryChart shows the rate against the size of the file.
func memoryChart(res *results.Set) figure {
	fig := figure{title: "Reads a second of a file that is smaller or larger than the memory", height: 350}
	p := newPanel("reads of 1 KiB a second (log scale)")
	p.X.Label.Text = "size of the file / memory: right of 1 the file does not fit (log scale)"
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Min, p.X.Max = 0.25, 4
	p.X.Tick.Marker = plot.ConstantTicks{{Value: 0.25, Label: "1/4"}, {Value: 0.5, Label: "1/2"}, {Value: 1, Label: "1"}, {Value: 2, Label: "2"}, {Value: 4, Label: "4"}}
	p.Y.Tick.Marker = decades{results.Thousands}
	p.Y.Min, p.Y.Max = 1e2, 1e7
	addStroke(p, draw.LineStyle{Color: ink, Width: 0.75}, plotter.XYs{{X: 1, Y: p.Y.Min}, {X: 1, Y: p.Y.Max}})
	for _, impl := range []string{cold.Mapping, cold.OS, cold.Mmapfile} {
		var points plotter.XYs
		for _, percent := range cold.SizePercents {
			row, x := results.ColdRow(cold.SizeKey(percent), "read"), float64(percent)/100
			if rounds := res.Times[row][impl]; len(rounds) > 0 {
				points = append(points, plotter.XY{X: x, Y: 1 / results.Median(rounds)})
				// From the slowest round to the fastest.
				addStroke(p, draw.LineStyle{Color: look(impl).color, Width: 0.75}, plotter.XYs{{X: x, Y: 1 / slices.Max(rounds)}, {X: x, Y: 1 / slices.Min(rounds)}})
			}
		}
		addLine(p, look(impl), points)
		fig.legend = append(fig.legend, look(impl))
	}
	fig.panels = [][]*plot.Plot{{p}}
	return fig
}
