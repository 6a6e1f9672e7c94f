package results

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Number prints a ratio, with a dash for none.
func Number(v float64) string {
	switch {
	case v == 0:
		return "–"
	case v < 0.1:
		return fmt.Sprintf("%.3f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// Duration prints a time to three digits, with a dash for none.
func Duration(sec float64) string {
	switch {
	case sec == 0:
		return "–"
	case sec < 999.5e-9:
		return fmt.Sprintf("%.3g ns", sec*1e9)
	case sec < 999.5e-6:
		return fmt.Sprintf("%.3g µs", sec*1e6)
	case sec < 999.5e-3:
		return fmt.Sprintf("%.3g ms", sec*1e3)
	}
	return time.Duration(sec * 1e9).Round(10 * time.Millisecond).String()
}

// Digits prints a speed or a ratio to about three digits, with a dash for none.
func Digits(v float64) string {
	switch {
	case v == 0:
		return "–"
	case v < 9.995:
		return fmt.Sprintf("%.2f", v)
	case v < 99.95:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", v)
}

// Bytes prints an amount of memory to three digits, with a dash for none.
func Bytes(v float64) string {
	switch {
	case v <= 0:
		return "–"
	case v < 1000:
		return fmt.Sprintf("%.3g B", v)
	}
	return fmt.Sprintf("%.3g KiB", v/(1<<10))
}

// Plain is text without the marks of Markdown.
func Plain(text string) string { return strings.ReplaceAll(text, "`", "") }

// Thousands prints a rate to three digits, with commas.
func Thousands(v float64) string {
	if v < 1000 {
		return fmt.Sprintf("%.3g", v)
	}
	unit := math.Pow(10, math.Floor(math.Log10(v))-2)
	text := fmt.Sprintf("%.0f", math.Round(v/unit)*unit)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

var sizeUnits = []struct {
	name  string
	bytes int64
}{{"G", 1 << 30}, {"M", 1 << 20}, {"K", 1 << 10}, {"", 1}}

// ParseSize reads a size like 4G, 256M or 1000.
func ParseSize(text string) (int64, error) {
	for _, u := range sizeUnits {
		if digits, ok := strings.CutSuffix(text, u.name); ok {
			n, err := strconv.ParseInt(digits, 10, 32)
			if err != nil || n <= 0 {
				break
			}
			return n * u.bytes, nil
		}
	}
	return 0, fmt.Errorf("size %q is not like 4G or 256M", text)
}

// FormatSize is what ParseSize reads.
func FormatSize(size int64) string {
	for _, u := range sizeUnits {
		if size%u.bytes == 0 {
			return strconv.FormatInt(size/u.bytes, 10) + u.name
		}
	}
	return ""
}

// SizeName is a size for people.
func SizeName(size string) string {
	digits := strings.TrimRight(size, "GMK")
	unit := strings.TrimPrefix(size, digits)
	return digits + " " + cmp.Or(unit, "bytes") + strings.Repeat("iB", len(unit))
}

// KeyedSize is a size as it stands in the names of benchmarks, like 10B or 2KB; none is 0.
func KeyedSize(text string) (int64, error) {
	if text == "none" {
		return 0, nil
	}
	return ParseSize(strings.TrimSuffix(text, "B"))
}

// KeyedName is a size from a benchmark's name for people.
func KeyedName(key string) string {
	if key == "none" {
		return key
	}
	return SizeName(strings.TrimSuffix(key, "B"))
}
