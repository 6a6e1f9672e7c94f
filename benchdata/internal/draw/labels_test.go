package draw

import (
	"bytes"
	"encoding/xml"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/plot/font"
)

// label is a text of a chart and the box around it, in the units of the file.
type label struct {
	text                     string
	left, right, top, bottom float64
}

// labels returns the texts of a chart, each as wide as DejaVu Sans makes it. What is rotated is turned to the left.
func labels(t *testing.T, svg []byte) (all []label, width, height float64) {
	t.Helper()
	number := func(s string) float64 {
		v, err := strconv.ParseFloat(strings.TrimSuffix(s, "pt"), 64)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	type move struct{ x, y, angle float64 }
	var moves []move // a transform for each open group
	var open *label
	var style string
	d := xml.NewDecoder(bytes.NewReader(svg))
	for {
		token, err := d.Token()
		if err != nil {
			return all, width, height
		}
		switch e := token.(type) {
		case xml.StartElement:
			attr := map[string]string{}
			for _, a := range e.Attr {
				attr[a.Name.Local] = a.Value
			}
			switch e.Name.Local {
			case "svg":
				box := strings.Fields(attr["viewBox"])
				width, height = number(box[2]), number(box[3])
			case "g":
				m := move{}
				if s, ok := strings.CutPrefix(attr["transform"], "rotate("); ok {
					m.angle = number(strings.Trim(s, ") "))
				} else if s, ok := strings.CutPrefix(attr["transform"], "translate("); ok {
					x, y, _ := strings.Cut(strings.Trim(s, ") "), ",")
					m.x, m.y = number(strings.TrimSpace(x)), number(strings.TrimSpace(y))
				}
				moves = append(moves, m)
			case "text":
				open, style = &label{left: number(attr["x"]), bottom: number(attr["y"])}, attr["style"]
			}
		case xml.CharData:
			if open != nil {
				open.text += string(e)
			}
		case xml.EndElement:
			switch e.Name.Local {
			case "g":
				moves = moves[:len(moves)-1]
			case "text":
				_, size, _ := strings.Cut(style, "font-size:")
				size, _, _ = strings.Cut(size, "px")
				points := number(size)
				face := font.DefaultCache.Lookup(textStyle(points).Font, font.Length(points))
				wide := float64(face.Width(open.text))
				// gonum turns the axis upside down for a text: y is minus the distance from the bottom.
				x, y := open.left, -open.bottom
				turned := false
				for i := len(moves) - 1; i >= 0; i-- {
					if moves[i].angle != 0 {
						x, y, turned = -y, x, true
					}
					x, y = x+moves[i].x, y+moves[i].y
				}
				if turned {
					*open = label{open.text, x - 0.75*points, x + 0.2*points, y + wide, y}
				} else {
					*open = label{open.text, x, x + wide, y + 0.75*points, y - 0.2*points}
				}
				all = append(all, *open)
				open = nil
			}
		}
	}
}

// No label leaves the picture, and none is on another one.
func TestCharts_Labels(t *testing.T) {
	files, err := filepath.Glob("../../charts/*.svg")
	if err != nil || len(files) < 7 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			svg, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			all, width, height := labels(t, svg)
			if len(all) < 10 {
				t.Fatalf("%d labels", len(all))
			}
			for i, a := range all {
				if a.left < 0 || a.right > width || a.bottom < 0 || a.top > height {
					t.Errorf("%q leaves the picture of %g by %g: %+v", a.text, width, height, a)
				}
				for _, b := range all[:i] {
					if a.left < b.right && b.left < a.right && a.bottom < b.top && b.bottom < a.top {
						t.Errorf("%q is on %q: %+v, %+v", a.text, b.text, a, b)
					}
				}
			}
		})
	}
}
