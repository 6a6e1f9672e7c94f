package needle

import (
	"context"
	"errors"

	"go.dw1.io/mmapfile"
	"go.dw1.io/mmapfile/scan"
)

// libraryWays are those of mmapfile itself.
func libraryWays() []Way {
	return []Way{
		{Name: "scan", What: "`scan`, with opening and mapping", Find: scanFile, Parallel: true},
		{Name: "scan-warm", What: "`scan`, mapped before", Open: scanOpen, Parallel: true},
	}
}

func scanFile(path string, workers int) (off int64, err error) {
	f, err := mmapfile.Open(path)
	if err != nil {
		return 0, err
	}
	off, err = indexNot(f, workers)
	return off, errors.Join(err, f.Close())
}

func scanOpen(path string) (find func(workers int) (int64, error), closeFile func() error, err error) {
	f, err := mmapfile.Open(path)
	if err != nil {
		return nil, nil, err
	}
	f.Bytes() // maps it
	return func(workers int) (int64, error) { return indexNot(f, workers) }, f.Close, nil
}

func indexNot(f *mmapfile.File, workers int) (int64, error) {
	return scan.Scanner{Workers: workers}.IndexNot(context.Background(), f, 0)
}
