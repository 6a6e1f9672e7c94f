package needle

// libraryWays are those of mmapfile itself.
//
// THE PLACE FOR THE LIBRARY'S ROWS: once package go.dw1.io/mmapfile/scan is there, go.mod gets
// "require go.dw1.io/mmapfile v0.0.0" and "replace go.dw1.io/mmapfile => ../", and this returns
//
//	{Name: "scan", What: "`mmapfile` and `scan`", Find: scanFile, Parallel: true},
//	{Name: "scan-warm", What: "`scan`, mapped before", Open: scanOpen, Parallel: true},
//
// where scanFile opens, searches with scan.Scanner{Workers: workers}.IndexNot(ctx, f, 0) and
// closes, and scanOpen opens and maps with f.Bytes() and returns the search and f.Close.
func libraryWays() []Way {
	return nil
}
