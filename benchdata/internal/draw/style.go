// Package draw makes the charts of raw results.
package draw

import (
	"bytes"
	"fmt"
	"image/color"
	"strings"

	"codeberg.org/go-fonts/dejavu/dejavusans"
	"golang.org/x/image/font/opentype"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// How the charts look: on a card of their own, light or dark as the reader's system is.

var (
	ink   = color.RGBA{0x1f, 0x23, 0x28, 0xff}
	faint = color.RGBA{0xd8, 0xde, 0xe4, 0xff}
	paper = color.RGBA{0xff, 0xff, 0xff, 0xff}
)

// darkStyle turns the three colours around in the dark. Those of the lines are legible on both.
const darkStyle = `<style>@media (prefers-color-scheme: dark) {
[style*="fill:#1F2328"] { fill: #E6EDF3 !important }
[style*="stroke:#1F2328"] { stroke: #E6EDF3 !important }
[style*="fill:#D8DEE4"] { fill: #2D333B !important }
[style*="stroke:#D8DEE4"] { stroke: #2D333B !important }
[style*="fill:#FFFFFF"] { fill: #0D1117 !important }
}</style>
`

// looks of the implementations, the same in all charts.
var looks = map[string]struct {
	color color.RGBA
	shape draw.GlyphDrawer
}{
	"os":       {color.RGBA{0x8b, 0x94, 0x9e, 0xff}, draw.BoxGlyph{}},
	"os-again": {color.RGBA{0x8b, 0x94, 0x9e, 0xff}, draw.PlusGlyph{}},
	"mmapfile": {color.RGBA{0x2f, 0x81, 0xf7, 0xff}, draw.CircleGlyph{}},
	"v0.1.2":   {color.RGBA{0xe8, 0x83, 0x0c, 0xff}, draw.TriangleGlyph{}},
	"exp":      {color.RGBA{0x2d, 0xa4, 0x4e, 0xff}, draw.PyramidGlyph{}},
	"edsrzf":   {color.RGBA{0xa3, 0x71, 0xf7, 0xff}, draw.RingGlyph{}},
	"mapping":  {color.RGBA{0xe8, 0x83, 0x0c, 0xff}, draw.TriangleGlyph{}},
	"copy":     {color.RGBA{0xd6, 0x40, 0x9f, 0xff}, draw.CrossGlyph{}},
}

const (
	chartWidth  = vg.Length(620)
	captionSize = 7
	headSize    = 11
	margin      = vg.Length(10)
)

// The labels are placed with the metrics of DejaVu Sans, the widest of the usual fonts, which Verdana shares.
func init() {
	face, err := opentype.Parse(dejavusans.TTF)
	if err != nil {
		panic(err)
	}
	font.DefaultCache.Add(font.Collection{{Font: font.Font{Typeface: "DejaVu", Variant: "Sans"}, Face: face}})
}

func textStyle(size float64) text.Style {
	return text.Style{
		Color:   ink,
		Font:    font.Font{Typeface: "DejaVu", Variant: "Sans", Size: font.Length(size)},
		Handler: plot.DefaultTextHandler,
	}
}

// newPanel is an empty plot in this style.
func newPanel(title string) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = paper
	p.Title.Text, p.Title.TextStyle = title, centered(textStyle(9))
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Color, axis.Tick.Color = ink, ink
		axis.Label.TextStyle = centered(textStyle(8))
		axis.Tick.Label = withColor(axis.Tick.Label, 7.5)
		axis.Width, axis.Tick.Width = 0.5, 0.5
	}
	grid := plotter.NewGrid()
	grid.Horizontal = draw.LineStyle{Color: faint, Width: 0.5}
	grid.Vertical = grid.Horizontal
	p.Add(grid)
	return p
}

func centered(s text.Style) text.Style {
	s.XAlign, s.YAlign = draw.XCenter, draw.YBottom
	return s
}

func withColor(s text.Style, size float64) text.Style {
	own := textStyle(size)
	own.XAlign, own.YAlign = s.XAlign, s.YAlign
	return own
}

// entry is a line of a chart's legend.
type entry struct {
	name  string
	color color.RGBA
	shape draw.GlyphDrawer
	line  bool // drawn as a line, without marks
}

// figure is a chart, which may have several panels.
type figure struct {
	title   string
	legend  []entry
	panels  [][]*plot.Plot
	height  vg.Length
	caption string
}

// svg draws the figure, the same bytes each time.
func (fig figure) svg() ([]byte, error) {
	canvas := vgsvg.NewWith(vgsvg.UseWH(chartWidth, fig.height))
	fig.drawOn(draw.New(canvas))
	var out bytes.Buffer
	if _, err := canvas.WriteTo(&out); err != nil {
		return nil, err
	}
	return finish(out.String(), fig.title)
}

func (fig figure) drawOn(dc draw.Canvas) {
	dc.SetColor(paper)
	dc.Fill(dc.Rectangle.Path())
	dc = draw.Crop(dc, margin, -margin, margin, -margin)

	head := textStyle(headSize)
	head.YAlign = draw.YTop
	dc.FillText(head, vg.Point{X: dc.Min.X, Y: dc.Max.Y}, fig.title)
	foot := textStyle(captionSize)
	dc.FillText(foot, vg.Point{X: dc.Min.X, Y: dc.Min.Y}, fig.caption)
	top := fig.drawLegend(dc, dc.Max.Y-20)

	dc.Min.Y += 18
	dc.Max.Y = top - 14
	tiles := draw.Tiles{Rows: len(fig.panels), Cols: len(fig.panels[0]), PadX: 14, PadY: 20}
	for i, row := range plot.Align(fig.panels, tiles, dc) {
		for j, tile := range row {
			if fig.panels[i][j] != nil {
				fig.panels[i][j].Draw(tile)
			}
		}
	}
}

// drawLegend draws the legend in lines from y downwards, and returns where it ends.
func (fig figure) drawLegend(dc draw.Canvas, y vg.Length) vg.Length {
	style := textStyle(8.5)
	x := dc.Min.X
	for _, e := range fig.legend {
		width := 22 + style.Width(e.name)
		if x+width > dc.Max.X {
			x, y = dc.Min.X, y-13
		}
		if e.line {
			dc.StrokeLine2(draw.LineStyle{Color: e.color, Width: 1.25}, x, y-5, x+8, y-5)
		} else {
			dc.DrawGlyph(draw.GlyphStyle{Color: e.color, Radius: 3, Shape: e.shape}, vg.Point{X: x + 4, Y: y - 5})
		}
		dc.FillText(style, vg.Point{X: x + 11, Y: y - 8}, e.name)
		x += width
	}
	return y - 13
}

// finish makes the text of the library a picture that tells what it is, in any light, and with
// fonts that other systems have.
func finish(svg, title string) ([]byte, error) {
	begin := strings.Index(svg, "<svg")
	end := strings.Index(svg[max(begin, 0):], ">\n")
	if begin < 0 || end < 0 {
		return nil, fmt.Errorf("this is no SVG: %.80q", svg)
	}
	end += begin + len(">\n")
	svg = svg[begin:end] + "<title>" + title + "</title>\n" + darkStyle + svg[end:]
	svg = strings.ReplaceAll(svg, "font-family:DejaVu Sans;font-variant:normal;font-weight:normal;font-style:normal;",
		"font-family:DejaVu Sans,Verdana,Arial,Helvetica,sans-serif;")
	return []byte(svg), nil
}
