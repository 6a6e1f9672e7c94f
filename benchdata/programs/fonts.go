package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goitalic"
	"golang.org/x/image/font/gofont/gomono"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// The fonts are those of the Go project, each in several files.

var fontDir = &dataset{"fonts", makeFonts}

var fontPrograms = []program{
	{name: "sfnt-open", what: "`sfnt.ParseReaderAt` and close: 48 fonts", data: fontDir, run: openFonts, processes: 3},
	{name: "sfnt-glyphs", what: "`sfnt`: all glyphs of 4 fonts", data: fontDir, run: loadGlyphs, processes: 3},
}

const fontCopies = 12

var fonts = [...][]byte{goregular.TTF, gobold.TTF, goitalic.TTF, gomono.TTF}

func fontPath(dir string, font, number int) string {
	return filepath.Join(dir, fmt.Sprintf("font-%d-%02d.ttf", font, number))
}

func makeFonts(path string, _ float64) error {
	err := os.Mkdir(path, 0o755)
	for i, font := range fonts {
		for n := range fontCopies {
			err = errors.Join(err, os.WriteFile(fontPath(path, i, n), font, 0o644))
		}
	}
	return err
}

func openFonts(e *env) (result, error) {
	return e.eachFont(fontCopies, func(*sfnt.Font, *result) error { return nil })
}

func loadGlyphs(e *env) (result, error) {
	var b sfnt.Buffer
	return e.eachFont(1, func(font *sfnt.Font, res *result) error {
		for i := range font.NumGlyphs() {
			segments, err := font.LoadGlyph(&b, sfnt.GlyphIndex(i), fixed.I(12), nil)
			if err != nil {
				return err
			}
			for _, s := range segments {
				res.add(int64(s.Op)<<32 + int64(s.Args[0].X)<<16 + int64(s.Args[0].Y))
			}
		}
		return nil
	})
}

// eachFont opens some copies of each font.
func (e *env) eachFont(copies int, fn func(font *sfnt.Font, res *result) error) (res result, err error) {
	for i := range fonts {
		for n := range copies {
			if err := e.withFont(fontPath(e.path, i, n), &res, fn); err != nil {
				return res, err
			}
		}
	}
	return res, nil
}

func (e *env) withFont(path string, res *result, fn func(font *sfnt.Font, res *result) error) error {
	f, err := e.open(path)
	if err != nil {
		return err
	}
	font, err := sfnt.ParseReaderAt(f)
	if err == nil {
		res.add(int64(font.NumGlyphs()))
		err = fn(font, res)
	}
	return errors.Join(err, f.Close())
}
