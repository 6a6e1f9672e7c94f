package results_test

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"go.dw1.io/mmapfile/benchdata/internal/results"
	"go.dw1.io/mmapfile/benchdata/internal/results/resultstest"
)

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9*math.Abs(b) }

func TestResults(t *testing.T) {
	res := resultstest.Parse(t, resultstest.Sample)
	if want := []string{"Read/size=1KB", "Stat"}; !slices.Equal(res.Rows, want) {
		t.Errorf("rows %q, want %q", res.Rows, want)
	}
	if got := res.Config["fs"]; got != "ext4" {
		t.Errorf("fs %q", got)
	}
	for _, c := range []struct {
		what      string
		got, want float64
	}{
		{"odd number", res.Median("Read/size=1KB", "os"), 400e-9},
		{"even number", res.Median("Stat", "os"), 250e-9},
		{"none", res.Median("Stat", "exp"), 0},
		{"ratio", res.Ratio("Read/size=1KB", "mmapfile", "os"), 0.25},
		{"ratio to none", res.Ratio("Stat", "mmapfile", "copy"), 0},
		{"noise", res.Noise("Read/size=1KB"), math.Log(1.1)},
		{"noise of a row that has none", res.Noise("Stat"), math.Log(1.1)},
	} {
		if c.got != c.want && !near(c.got, c.want) {
			t.Errorf("%s: %v, want %v", c.what, c.got, c.want)
		}
	}
	if n := res.Rounds(); n != 2 {
		t.Errorf("%d rounds, want 2", n)
	}
	// The geometric mean of 1/4 and 6/5; rows that were not measured do not count.
	mean, n := res.Geomean(res.Rows, "os")
	if want := math.Sqrt(0.25 * 1.2); n != 2 || !near(mean, want) {
		t.Errorf("geometric mean of %d rows is %v, want %v", n, mean, want)
	}
}

func TestResults_Memory(t *testing.T) {
	row := results.OpenRow(2, 16)
	memory := "Benchmark" + row + "/impl=mmapfile-2 1 300 heap-B/op 4096 page-tables-B/op\n"
	res := resultstest.Parse(t, memory+memory)
	if got := results.Median(res.Memory[row]["mmapfile"]); got != 4396 || res.Rounds() != 2 || !slices.Equal(res.Rows, []string{row}) {
		t.Errorf("%v bytes, %d rounds, rows %q", got, res.Rounds(), res.Rows)
	}
	// All benchmarks of internal/lab in one run are one of calls.
	if kind := res.Kind(); kind != results.Reread {
		t.Errorf("kind %s", kind)
	}
	if kind := resultstest.Parse(t, memory+resultstest.Sample).Kind(); kind != results.Calls {
		t.Errorf("kind %s with calls", kind)
	}
}

func TestNoResults(t *testing.T) {
	file := filepath.Join(t.TempDir(), "raw.txt")
	if err := os.WriteFile(file, []byte("cpu: EPYC\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := results.Read(file); err == nil {
		t.Error("no error for a file without results")
	}
}

func TestNumbers(t *testing.T) {
	for sec, want := range map[float64]string{
		0: "–", 2.514e-9: "2.51 ns", 435.4e-9: "435 ns", 999.7e-9: "1 µs", 18.24e-6: "18.2 µs",
		0.25: "250 ms", 1.234: "1.23s",
	} {
		if got := results.Duration(sec); got != want {
			t.Errorf("Duration(%v) = %q, want %q", sec, got, want)
		}
	}
	for v, want := range map[float64]string{0: "–", 0.0667: "0.067", 0.2549: "0.25", 1: "1.00"} {
		if got := results.Number(v); got != want {
			t.Errorf("Number(%v) = %q, want %q", v, got, want)
		}
	}
}

func TestThousands(t *testing.T) {
	for v, want := range map[float64]string{0.5: "0.5", 123.4: "123", 1234: "1,230", 121_499: "121,000", 2_345_678: "2,350,000"} {
		if got := results.Thousands(v); got != want {
			t.Errorf("%v is %s, want %s", v, got, want)
		}
	}
}

func TestSizes(t *testing.T) {
	for text, want := range map[string]int64{"4G": 4 << 30, "256M": 256 << 20, "3K": 3072, "1001": 1001} {
		got, err := results.ParseSize(text)
		if got != want || err != nil {
			t.Errorf("ParseSize(%q) = %d, %v", text, got, err)
		}
		if back := results.FormatSize(want); back != text {
			t.Errorf("FormatSize(%d) = %q, want %q", want, back, text)
		}
	}
	for _, text := range []string{"", "G", "-1G", "0", "1.5G", "1T", "99999999999G"} {
		if n, err := results.ParseSize(text); err == nil {
			t.Errorf("ParseSize(%q) = %d and no error", text, n)
		}
	}
	for size, want := range map[string]string{"4G": "4 GiB", "256M": "256 MiB", "1001": "1001 bytes"} {
		if got := results.SizeName(size); got != want {
			t.Errorf("SizeName(%q) = %q, want %q", size, got, want)
		}
	}
}

func TestKeyedSize_OfRows(t *testing.T) {
	for size, want := range map[string]int64{"64B": 64, "1KB": 1 << 10, "10MB": 10 << 20, "1GB": 1 << 30, "none": 0} {
		if got, err := results.KeyedSize(size); got != want || err != nil {
			t.Errorf("%s is %v bytes, %v", size, got, err)
		}
	}
}
