package main

import (
	"context"
	"path/filepath"
	"strings"

	"go.dw1.io/mmapfile/benchdata/internal/draw"
	"go.dw1.io/mmapfile/benchdata/internal/results"
	"go.dw1.io/mmapfile/benchdata/internal/tables"
)

// publish writes what is made from raw results: the pages, the charts, and the table of benchstat. With
// check it only looks whether they are there.
func publish(ctx context.Context, res *results.Set, check bool) error {
	made, err := artifacts(res)
	if err != nil {
		return err
	}
	if res.Kind() == results.Calls {
		table, err := benchstat(ctx, res.File)
		if err != nil {
			return err
		}
		made = append(made, tables.Artifact{Path: strings.TrimSuffix(res.File, ".txt") + ".benchstat.txt", Text: table})
	}
	return put(made, check)
}

// publishWorst writes what the pages say of all raw results together. With check it only looks whether it is there.
func publishWorst(all []*results.Set, check bool) error {
	made, err := tables.Worst(all, filepath.Dir(filepath.Dir(all[0].File)))
	if err != nil {
		return err
	}
	return put(made, check)
}

func put(made []tables.Artifact, check bool) error {
	for _, a := range made {
		if err := a.Put(check); err != nil {
			return err
		}
	}
	return nil
}

// artifacts are the pages and the charts. The pages are in the directory above that of the results.
func artifacts(res *results.Set) ([]tables.Artifact, error) {
	dir := filepath.Dir(filepath.Dir(res.File))
	made, err := tables.Pages(res, dir)
	if err != nil {
		return nil, err
	}
	charts, err := draw.Charts(res)
	for file, svg := range charts {
		made = append(made, tables.Artifact{Path: filepath.Join(dir, "charts", file), Text: svg})
	}
	return made, err
}
