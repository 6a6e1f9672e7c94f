package draw

import (
	"fmt"
	"strconv"

	"go.dw1.io/mmapfile/benchdata/internal/results"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
)

// rereadImpls are the lines of the charts here.
var rereadImpls = []string{"os", "exp", "mmapfile"}

// rereadChart shows the time of a ReadAt against how often the same pages are read.
func rereadChart(res *results.Set) figure {
	fig := figure{title: "Time of a ReadAt of 64 B with its share of opening and closing, by how often 256 pages are read",
		height: 330, panels: [][]*plot.Plot{nil}}
	for i, where := range results.RereadWhere {
		p := newPanel("the pages are " + where + ": time (log scale)")
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, factors{results.Duration}
		p.Y.Min, p.Y.Max = 5e-9, 3e-6
		overCounts(p, "times that they are read (log scale)", results.RereadTimes)
		for _, impl := range rereadImpls {
			addLine(p, look(impl), byCount(results.RereadTimes, func(n int) float64 {
				return res.Median(results.RereadRow(results.RereadPages[i], n), impl)
			}))
		}
		fig.panels[0] = append(fig.panels[0], p)
	}
	for _, impl := range rereadImpls {
		fig.legend = append(fig.legend, look(impl))
	}
	return fig
}

// openFileChart shows what an open file takes of memory against how many of its pages were read.
func openFileChart(res *results.Set) figure {
	fig := figure{title: "Memory of an open file of 16 MiB: heap and page tables", height: 330, panels: [][]*plot.Plot{nil}}
	for _, times := range results.OpenTimes {
		p := newPanel(fmt.Sprintf("each page read %d times: memory (log scale)", times))
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.ConstantTicks{
			{Value: 1 << 6, Label: "64 B"}, {Value: 1 << 8, Label: "256 B"}, {Value: 1 << 10, Label: "1 KiB"},
			{Value: 1 << 12, Label: "4 KiB"}, {Value: 1 << 14, Label: "16 KiB"}, {Value: 1 << 16, Label: "64 KiB"},
		}
		p.Y.Min, p.Y.Max = 1<<6, 1<<16
		overCounts(p, "pages read (log scale)", results.OpenPages)
		for _, impl := range rereadImpls {
			addLine(p, look(impl), byCount(results.OpenPages, func(n int) float64 {
				return results.Median(res.Memory[results.OpenRow(times, n)][impl])
			}))
		}
		fig.panels[0] = append(fig.panels[0], p)
	}
	for _, impl := range rereadImpls {
		fig.legend = append(fig.legend, look(impl))
	}
	return fig
}

// overCounts makes the horizontal axis one of these numbers.
func overCounts(p *plot.Plot, label string, counts []int) {
	p.X.Label.Text, p.X.Scale = label, plot.LogScale{}
	p.X.Min, p.X.Max = float64(counts[0]), float64(counts[len(counts)-1])
	var ticks plot.ConstantTicks
	for _, n := range counts {
		ticks = append(ticks, plot.Tick{Value: float64(n), Label: strconv.Itoa(n)})
	}
	p.X.Tick.Marker = ticks
}

// byCount are the values that were measured.
func byCount(counts []int, value func(n int) float64) plotter.XYs {
	var points plotter.XYs
	for _, n := range counts {
		if v := value(n); v > 0 {
			points = append(points, plotter.XY{X: float64(n), Y: v})
		}
	}
	return points
}
