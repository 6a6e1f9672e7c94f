package tables

import (
	"testing"

	"go.dw1.io/mmapfile/benchdata/internal/results"
	"go.dw1.io/mmapfile/benchdata/internal/results/resultstest"
)

// os.File takes 100 to 104 ns in each row, and mmapfile some 2 more than what is given here.
func TestRenderReread_Gains(t *testing.T) {
	for want, ns := range map[string][]float64{
		": read 1 to 5 times, `File` takes 1.10 to 1.29 of the time of `os.File`, which is no gain; read 20 to 100 times, 0.22 to 0.41.\n": {110, 130, 120, 40, 20},
		": read 1 to 100 times, `File` takes 1.02 to 1.49 of the time of `os.File`, which is no gain.\n":                                   {102, 103, 110, 150, 120},
		": read 1 to 100 times, `File` takes 0.12 to 0.51 of the time of `os.File`.\n":                                                     {50, 40, 30, 20, 10},
		// A gain that is lost again is none.
		": read 1 to 20 times, `File` takes 0.51 to 1.20 of the time of `os.File`, which is no gain; read 100 times, 0.12.\n": {50, 105, 106, 120, 10},
	} {
		raw := ""
		for _, pages := range results.RereadPages {
			for i, n := range results.RereadTimes {
				raw += resultstest.Rounds(results.RereadRow(pages, n), ns[i], ns[i]+1, ns[i]+2, ns[i]+3, ns[i]+4)
			}
		}
		text, err := renderReread(resultstest.Parse(t, raw))
		if err != nil {
			t.Fatal(err)
		}
		resultstest.Contains(t, text, "Pages side by side: ", "Pages one in each 64 KiB: ", want)
	}
}

func TestReport_Reread(t *testing.T) {
	raw := resultstest.Rounds(results.RereadRow("far", 20), 40, 41, 42, 43, 44) +
		"Benchmark" + results.OpenRow(2, 256) + "/impl=mmapfile-2 1 256 heap-B/op 2048 page-tables-B/op\n"
	resultstest.Contains(t, printed(t, resultstest.Parse(t, raw)), "far, 20 times\t102 ns\t–\t42 ns\t0.41\t1.04\n", "2 times\t256\t–\t–\t2.25 KiB\n")
}
