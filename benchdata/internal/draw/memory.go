package draw

import (
	"go.dw1.io/mmapfile/benchdata/internal/cold"
	"go.dw1.io/mmapfile/benchdata/internal/results"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
)

// memoryChart shows the rate against the size of the file.
func memoryChart(res *results.Set) figure {
	fig := figure{title: "Reads of 1 KiB a second, by the size of the file relative to the memory", height: 330}
	p := newPanel("")
	p.X.Label.Text = "size of the file / limit of memory"
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Min, p.X.Max = 0.25, 4
	p.X.Tick.Marker = plot.ConstantTicks{{Value: 0.25, Label: "1/4"}, {Value: 0.5, Label: "1/2"}, {Value: 1, Label: "1"}, {Value: 2, Label: "2"}, {Value: 4, Label: "4"}}
	p.Y.Tick.Marker = decades{results.Thousands}
	for _, impl := range []string{cold.Mapping, cold.OS, cold.Mmapfile} {
		var points plotter.XYs
		for _, percent := range cold.SizePercents {
			if t := res.Median(results.ColdRow(cold.SizeKey(percent), "read"), impl); t > 0 {
				points = append(points, plotter.XY{X: float64(percent) / 100, Y: 1 / t})
			}
		}
		addLine(p, look(impl), points)
		fig.legend = append(fig.legend, look(impl))
	}
	fig.panels = [][]*plot.Plot{{p}}
	return fig
}
