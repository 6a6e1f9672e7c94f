package main

import (
	"bufio"
	"errors"
	"io"

	"github.com/parquet-go/parquet-go"
)

var parquetFile = &dataset{"table.parquet", makeParquet}

var parquetPrograms = []program{
	{name: "parquet-column", what: "parquet-go: one column of 600,000 rows, 60 MB", data: parquetFile, run: readColumn},
	{name: "parquet-rows", what: "parquet-go: 600,000 rows, 60 MB", data: parquetFile, run: readRows},
}

type parquetRow struct {
	ID    int64
	Score float64
	Name  string
	Body  []byte
}

func makeParquet(path string, scale float64) error {
	return writeFile(path, func(out *bufio.Writer) error {
		w := parquet.NewGenericWriter[parquetRow](out, parquet.MaxRowsPerRowGroup(100_000))
		r := random(15)
		for i := range scaled(600_000, scale) {
			row := parquetRow{int64(i), r.Float64(), string(appendText(nil, r, 20)), appendNoise(nil, r, 64)}
			if _, err := w.Write([]parquetRow{row}); err != nil {
				return err
			}
		}
		return w.Close()
	})
}

func readColumn(e *env) (result, error) {
	return e.withFile(func(f file, res *result) error {
		info, err := f.Stat()
		if err != nil {
			return err
		}
		table, err := parquet.OpenFile(f, info.Size())
		if err != nil {
			return err
		}
		values := make([]parquet.Value, 4096)
		for _, group := range table.RowGroups() {
			if err := addColumn(res, group.ColumnChunks()[0].Pages(), values); err != nil {
				return err
			}
		}
		return nil
	})
}

// addColumn adds up the values of a column.
func addColumn(res *result, pages parquet.Pages, values []parquet.Value) (err error) {
	defer func() { err = errors.Join(err, pages.Close()) }()
	for {
		page, err := pages.ReadPage()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		for r := page.Values(); ; {
			n, err := r.ReadValues(values)
			for _, v := range values[:n] {
				res.add(v.Int64())
			}
			if err == io.EOF {
				break
			}
			if err != nil {
				return err
			}
		}
		parquet.Release(page)
	}
}

func readRows(e *env) (result, error) {
	return e.withFile(func(f file, res *result) (err error) {
		r := parquet.NewGenericReader[parquetRow](f)
		defer func() { err = errors.Join(err, r.Close()) }()
		rows := make([]parquetRow, 1024)
		for {
			n, err := r.Read(rows)
			for _, row := range rows[:n] {
				res.add(row.ID + int64(len(row.Name)) + int64(row.Body[0]))
			}
			if err == io.EOF {
				return nil
			}
			if err != nil {
				return err
			}
		}
	})
}
