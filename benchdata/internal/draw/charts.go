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
	fig := figure{title: "Time relative to os.File, by the size that is read or written", height: 560}
	for i, m := range methods {
		// The title names the vertical axis: the library leaves room for a label at the wrong place of a log scale.
		p := newPanel(m.what + ": time / os.File (log scale)")
		sizes(p)
		p.X.Label.Text = "size (log scale)"
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, factors{times}
		p.Y.Min, p.Y.Max = 0.02, 5
		for _, impl := range implOrder {
			ratio := func(row string) float64 { return max(res.Ratio(row, impl, "os"), 0) }
			addLine(p, look(impl), bySize(res, m.row, ratio))
		}
		if i%2 == 0 {
			fig.panels = append(fig.panels, nil)
		}
		fig.panels[i/2] = append(fig.panels[i/2], p)
	}
	for _, impl := range implOrder {
		fig.legend = append(fig.legend, look(impl))
	}
	return fig
}

func goroutinesChart(res *results.Set) figure {
	fig := figure{title: "Records of 1 KiB a second, by goroutines", height: 300, panels: [][]*plot.Plot{nil}}
	for _, m := range []named{{"ReadAtGoroutines", "ReadAt"}, {"WriteAtGoroutines", "WriteAt"}} {
		p := newPanel(m.what)
		p.X.Label.Text, p.Y.Label.Text = "goroutines", "millions a second"
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

// writesChart has a line for each state of a file, and on it a mark for each implementation and os.File
// against itself.
func writesChart(res *results.Set) figure {
	p := newPanel("")
	p.X.Label.Text = "time / os.File (log scale)"
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, factors{times}
	p.X.Min, p.X.Max = 0.9, 1.1 // and what the marks need
	impls := append([]string{"os-again"}, implOrder[1:]...)
	points := map[string]plotter.XYs{}
	var ticks []plot.Tick
	y := 0.0
	for _, group := range stateGroups {
		y--
		ticks = append(ticks, plot.Tick{Value: y, Label: group.what + ":"})
		for _, st := range group.states {
			row := results.WriteStates + st.key
			if res.Median(row, "os") == 0 {
				continue
			}
			y--
			ticks = append(ticks, plot.Tick{Value: y, Label: st.what})
			for _, impl := range impls {
				if r := res.Ratio(row, impl, "os"); r > 0 {
					points[impl] = append(points[impl], plotter.XY{X: r, Y: y})
				}
			}
		}
	}
	p.Y.Min, p.Y.Max = y-0.5, -0.5
	p.Y.Tick.Marker = plot.ConstantTicks(ticks)
	fig := figure{title: "Writes: time relative to os.File, by the state of the file", height: vg.Length(95 - 13*y), panels: [][]*plot.Plot{{p}}}
	addStroke(p, draw.LineStyle{Color: ink, Width: 0.75}, plotter.XYs{{X: 1, Y: p.Y.Min}, {X: 1, Y: p.Y.Max}})
	for _, impl := range impls {
		if len(points[impl]) > 0 {
			addMarks(p, look(impl), points[impl])
			fig.legend = append(fig.legend, look(impl))
		}
	}
	return fig
}

func look(impl string) entry {
	l := looks[impl]
	return entry{name: results.Plain(cmp.Or(results.ImplNames[impl], impl)), color: l.color, shape: l.shape}
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
	addStroke(p, draw.LineStyle{Color: ink, Width: 0.75}, plotter.XYs{{X: p.X.Min, Y: 1}, {X: p.X.Max, Y: 1}})
}

// decades are the powers of ten on a logarithmic axis.
type decades struct{ label func(v float64) string }

func (d decades) Ticks(low, high float64) []plot.Tick {
	var ticks []plot.Tick
	for e := math.Floor(math.Log10(low)); e <= math.Ceil(math.Log10(high)); e++ {
		v := math.Pow(10, e)
		ticks = append(ticks, plot.Tick{Value: v, Label: d.label(v)})
	}
	return within(ticks, low, high)
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
	for e := math.Floor(math.Log10(low)); e <= math.Ceil(math.Log10(high)); e++ {
		for _, f := range []float64{1, 2, 5} {
			v := f * math.Pow(10, e)
			ticks = append(ticks, plot.Tick{Value: v, Label: s.label(v)})
		}
	}
	return within(ticks, low, high)
}

// within drops the ticks outside of an axis, for which the library would leave room.
func within(ticks []plot.Tick, low, high float64) []plot.Tick {
	const rounding = 1e-9
	return slices.DeleteFunc(ticks, func(t plot.Tick) bool { return t.Value < low*(1-rounding) || t.Value > high*(1+rounding) })
}

// caption says on what the results were measured.
func caption(res *results.Set) string {
	c := func(key string) string { return cmp.Or(res.Config[key], "unknown") }
	cpu := strings.NewReplacer("(R)", "", "(TM)", "").Replace(c("cpu"))
	return fmt.Sprintf("%s, %s cores, %s, %s, %s; medians of %d rounds at %s",
		cpu, c("cores"), c("kernel"), c("fs"), c("go"), res.Rounds(), c("commit"))
}

// draw is a picture of the results.
func (fig figure) draw(res *results.Set) ([]byte, error) {
	fig.caption = caption(res)
	return fig.svg()
}
