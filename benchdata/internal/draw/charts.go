package draw

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"go.dw1.io/mmapfile/benchdata/internal/cold"
	"go.dw1.io/mmapfile/benchdata/internal/results"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// charts are the pictures of calls, by the names that results.Charts has.
var charts = map[string]func(res *results.Set) figure{
	"time.svg":       timeChart,
	"goroutines.svg": goroutinesChart,
	"writes.svg":     writesChart,
}

// Charts returns the pictures of a run by their file names.
func Charts(res *results.Set) (map[string][]byte, error) {
	made := map[string][]byte{}
	add := func(file string, fig figure, of *results.Set) (err error) {
		made[file], err = fig.draw(of)
		return err
	}
	switch res.Kind() {
	case results.Cold:
		sizes := res.Only(func(row string) bool { return strings.HasPrefix(row, results.ColdRow(cold.SizeRows, "")) })
		if len(sizes.Rows) > 0 {
			return made, add("memory.svg", memoryChart(res), sizes)
		}
	case results.Regret:
		fig, err := regretChart(res)
		if err != nil {
			return nil, err
		}
		return made, add("regret.svg", fig, res)
	case results.Reread:
		if err := add("reread.svg", rereadChart(res), res); err != nil {
			return nil, err
		}
		return made, add("openfile.svg", openFileChart(res), res)
	case results.Calls:
		for file, chart := range charts {
			if err := add(file, chart(res), res); err != nil {
				return nil, err
			}
		}
	}
	return made, nil
}

// named is a benchmark and its name in charts.
type named struct{ row, what string }

// methods are the rows by size that the charts show, and their names there.
var methods = []named{
	{"ReadAtOneCall", "ReadAt, one call"}, {"ReadOneCall", "Read, one call"}, {"ReadAt", "ReadAt in 4 KiB calls"},
	{"WriteAt", "WriteAt, one call"}, {"Write", "Write, one call"}, {"ReadFrom", "ReadFrom"},
}

// implOrder is the order of the implementations in legends.
var implOrder = []string{"os", "mmapfile", "v0.1.2", "exp", "edsrzf", "copy"}

func timeChart(res *results.Set) figure {
	fig := figure{title: "Time per operation by size", height: 470}
	for i, m := range methods {
		p := newPanel(m.what)
		sizes(p)
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, decades{results.Duration}
		for _, impl := range implOrder {
			addLine(p, look(impl), bySize(res, m.row, func(row string) float64 { return res.Median(row, impl) }))
		}
		if i%3 == 0 {
			fig.panels = append(fig.panels, nil)
		}
		fig.panels[i/3] = append(fig.panels[i/3], p)
	}
	for _, impl := range implOrder {
		fig.legend = append(fig.legend, look(impl))
	}
	return fig
}

func goroutinesChart(res *results.Set) figure {
	fig := figure{title: "Records of 1 KiB a second, by goroutines", height: 280, panels: [][]*plot.Plot{nil}}
	for _, m := range []named{{"ReadAtGoroutines", "ReadAt, millions a second"}, {"WriteAtGoroutines", "WriteAt, millions a second"}} {
		p := newPanel(m.what)
		p.X.Label.Text = "goroutines"
		p.Y.Min = 0
		var ticks []plot.Tick
		for _, impl := range implOrder {
			var points plotter.XYs
			for _, row := range res.Rows {
				n, ok := strings.CutPrefix(row, m.row+"/goroutines=")
				count, err := strconv.Atoi(n)
				if sec := res.Median(row, impl); ok && err == nil && sec > 0 {
					points = append(points, plotter.XY{X: float64(count), Y: 1e-6 / sec})
					if tick := (plot.Tick{Value: float64(count), Label: n}); !slices.Contains(ticks, tick) {
						ticks = append(ticks, tick)
					}
				}
			}
			addLine(p, look(impl), points)
		}
		p.X.Tick.Marker, p.Y.Tick.Marker = plot.ConstantTicks(ticks), plot.TickerFunc(wholeTicks)
		fig.panels[0] = append(fig.panels[0], p)
	}
	for _, impl := range implOrder {
		fig.legend = append(fig.legend, look(impl))
	}
	return fig
}

// series are the marks of one implementation: time relative to os.File.
type series struct {
	entry
	ratio func(row string) float64
}

// writesChart has a line for each state of a file, and on it a mark for each implementation and os.File
// against itself.
func writesChart(res *results.Set) figure {
	var rows []string
	for _, row := range res.Rows {
		if strings.HasPrefix(row, results.WriteStates) && res.Median(row, "os") > 0 {
			rows = append(rows, row)
		}
	}
	var list []series
	for _, impl := range append([]string{"os-again"}, implOrder[1:]...) {
		ratio := func(row string) float64 { return res.Ratio(row, impl, "os") }
		if slices.ContainsFunc(rows, func(row string) bool { return ratio(row) > 0 }) {
			list = append(list, series{look(impl), ratio})
		}
	}
	return dots("Writes: time relative to os.File, by the state of the file", rows, list)
}

// dots has a line for each row.
func dots(title string, rows []string, list []series) figure {
	p := newPanel("")
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, factors{times}
	p.X.Min, p.X.Max = 0.9, 1.1 // and what the marks need
	p.Y.Min, p.Y.Max = 0.5, float64(len(rows))+0.5
	fig := figure{title: title, height: vg.Length(80 + 13*len(rows)), panels: [][]*plot.Plot{{p}}}
	var ticks []plot.Tick
	for i, row := range rows {
		ticks = append(ticks, plot.Tick{Value: float64(len(rows) - i), Label: strings.TrimPrefix(row, results.WriteStates)})
	}
	p.Y.Tick.Marker = plot.ConstantTicks(ticks)
	one := plotter.XYs{{X: 1, Y: p.Y.Min}, {X: 1, Y: p.Y.Max}}
	addStroke(p, draw.LineStyle{Color: ink, Width: 0.75}, one)
	for _, s := range list {
		var points plotter.XYs
		for i, row := range rows {
			if r := s.ratio(row); r > 0 {
				points = append(points, plotter.XY{X: r, Y: float64(len(rows) - i)})
			}
		}
		addMarks(p, s.entry, points)
		fig.legend = append(fig.legend, s.entry)
	}
	return fig
}

func look(impl string) entry {
	l := looks[impl]
	return entry{results.Plain(cmp.Or(results.ImplNames[impl], impl)), l.color, l.shape}
}

// bySize are the values of the rows with a key for the size, by that.
func bySize(res *results.Set, method string, value func(row string) float64) plotter.XYs {
	var points plotter.XYs
	for _, row := range res.Rows {
		size, ok := strings.CutPrefix(row, method+"/size=")
		if n, err := results.KeyedSize(size); ok && err == nil && value(row) > 0 {
			points = append(points, plotter.XY{X: float64(n), Y: value(row)})
		}
	}
	slices.SortFunc(points, func(a, b plotter.XY) int { return cmp.Compare(a.X, b.X) })
	return points
}

func addLine(p *plot.Plot, e entry, points plotter.XYs) {
	addStroke(p, draw.LineStyle{Color: e.color, Width: 1.25}, points)
	addMarks(p, e, points)
}

func addStroke(p *plot.Plot, style draw.LineStyle, points plotter.XYs) {
	if line, err := plotter.NewLine(points); err == nil { // no points, no line
		line.LineStyle = style
		p.Add(line)
	}
}

func addMarks(p *plot.Plot, e entry, points plotter.XYs) {
	if marks, err := plotter.NewScatter(points); err == nil {
		marks.GlyphStyle = draw.GlyphStyle{Color: e.color, Radius: 2.5, Shape: e.shape}
		p.Add(marks)
	}
}

// sizes makes the horizontal axis one of sizes from 1 KiB to 1 GiB.
func sizes(p *plot.Plot) {
	p.X.Scale = plot.LogScale{}
	p.X.Min, p.X.Max = 1<<10, 1<<30
	p.X.Tick.Marker = plot.ConstantTicks{
		{Value: 1 << 10, Label: "1 KiB"}, {Value: 1 << 15, Label: "32 KiB"}, {Value: 1 << 20, Label: "1 MiB"},
		{Value: 1 << 25, Label: "32 MiB"}, {Value: 1 << 30, Label: "1 GiB"},
	}
}

// decades are the powers of ten on a logarithmic axis.
type decades struct{ label func(v float64) string }

func (d decades) Ticks(low, high float64) []plot.Tick {
	var ticks []plot.Tick
	for e := math.Floor(math.Log10(low)); e <= math.Ceil(math.Log10(high)); e++ {
		v := math.Pow(10, e)
		ticks = append(ticks, plot.Tick{Value: v, Label: d.label(v)})
	}
	return ticks
}

// wholeTicks are the library's, without digits after the point.
func wholeTicks(low, high float64) []plot.Tick {
	ticks := plot.DefaultTicks{}.Ticks(low, high)
	for i, t := range ticks {
		if t.Label != "" {
			ticks[i].Label = strconv.FormatFloat(t.Value, 'f', -1, 64)
		}
	}
	return ticks
}

// factors are 1, 2 and 5 on each power of ten.
type factors struct{ label func(v float64) string }

// times is how a ratio is written.
func times(v float64) string { return fmt.Sprintf("%.3g×", v) }

func (s factors) Ticks(low, high float64) []plot.Tick {
	var ticks []plot.Tick
	for _, d := range (decades{results.Duration}).Ticks(low, high) {
		for _, f := range []float64{1, 2, 5} {
			v := d.Value * f
			ticks = append(ticks, plot.Tick{Value: v, Label: s.label(v)})
		}
	}
	return ticks
}

// caption says on what the results were measured.
func caption(res *results.Set) string {
	c := func(key string) string { return cmp.Or(res.Config[key], "unknown") }
	return fmt.Sprintf("%s, %s cores, %s, %s, %s; medians of %d rounds at %s",
		c("cpu"), c("cores"), c("kernel"), c("fs"), c("go"), res.Rounds(), c("commit"))
}

// draw is a picture of the results.
func (fig figure) draw(res *results.Set) ([]byte, error) {
	fig.caption = caption(res)
	return fig.svg()
}
