package main

import (
	"database/sql"
	"errors"
	"path/filepath"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/util/ioutil"
	"github.com/ncruces/go-sqlite3/vfs/readervfs"
	_ "modernc.org/sqlite"
	"modernc.org/sqlite/vfs"
)

// The database has a row of 512 bytes for each id. It is read through two VFSs in Go: that of
// modernc.org/sqlite seeks and reads files of an fs.FS, that of ncruces/go-sqlite3 calls ReadAt.

var sqliteFile = &dataset{"rows.sqlite", makeSQLite}

var sqlitePrograms = []program{
	{name: "sqlite-fs-id", what: "SQLite over `fs.FS`: 1,000 rows by id of 535 MB", data: sqliteFile, run: queryFS(byID), processes: 3},
	{name: "sqlite-fs-scan", what: "SQLite over `fs.FS`: scan 535 MB", data: sqliteFile, run: queryFS(scan)},
	{name: "sqlite-file-id", what: "SQLite over `ReadAt`: 1,000 rows by id of 535 MB", data: sqliteFile, run: queryFile(byID), processes: 3},
	{name: "sqlite-file-scan", what: "SQLite over `ReadAt`: scan 535 MB", data: sqliteFile, run: queryFile(scan)},
}

func sqliteRows(scale float64) int { return scaled(910_000, scale) }

func makeSQLite(path string, scale float64) (err error) {
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(off)&_pragma=synchronous(off)")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if _, err := db.Exec("create table rows (id integer primary key, n integer, body blob)"); err != nil {
		return err
	}
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback()
	insert, err := tx.Prepare("insert into rows values (?, ?, ?)")
	if err != nil {
		return err
	}
	r := random(10)
	var body []byte
	for id := range sqliteRows(scale) {
		body = appendNoise(body[:0], r, 512)
		if _, err := insert.Exec(id, r.IntN(1000), body); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// query is a statement with one argument, and its arguments.
type query struct {
	statement string
	arguments func(scale float64) []int64
}

var (
	byID = query{"select n + length(body) from rows where id = ?", func(scale float64) (ids []int64) {
		r := random(11)
		for range 1_000 {
			ids = append(ids, r.Int64N(int64(sqliteRows(scale))))
		}
		return ids
	}}
	scan = query{"select sum(n) from rows where n >= ?", func(float64) []int64 { return []int64{500} }}
)

// queryFS runs a query through modernc.org/sqlite.
func queryFS(q query) func(e *env) (result, error) {
	return func(e *env) (res result, err error) {
		name, files, err := vfs.New(e.dirFS(filepath.Dir(e.path)))
		if err != nil {
			return res, err
		}
		defer func() { err = errors.Join(err, files.Close()) }()
		db, err := sql.Open("sqlite", "file:"+filepath.Base(e.path)+"?mode=ro&immutable=1&vfs="+name)
		if err != nil {
			return res, err
		}
		defer func() { err = errors.Join(err, db.Close()) }()
		statement, err := db.Prepare(q.statement)
		if err != nil {
			return res, err
		}
		defer func() { err = errors.Join(err, statement.Close()) }()
		for _, argument := range q.arguments(e.scale) {
			var n int64
			if err := statement.QueryRow(argument).Scan(&n); err != nil {
				return res, err
			}
			res.add(n)
		}
		return res, nil
	}
}

// queryFile runs a query through ncruces/go-sqlite3.
func queryFile(q query) func(e *env) (result, error) {
	return func(e *env) (result, error) {
		return e.withFile(func(f file, res *result) (err error) {
			const name = "program.db"
			readervfs.Create(name, ioutil.NewSizeReaderAt(f))
			defer readervfs.Delete(name)
			db, err := sqlite3.OpenFlags("file:"+name+"?vfs=reader", sqlite3.OPEN_READONLY|sqlite3.OPEN_URI)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, db.Close()) }()
			statement, _, err := db.Prepare(q.statement)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, statement.Close()) }()
			for _, argument := range q.arguments(e.scale) {
				if err := statement.BindInt64(1, argument); err != nil {
					return err
				}
				for statement.Step() {
					res.add(statement.ColumnInt64(0))
				}
				if err := statement.Reset(); err != nil {
					return err
				}
			}
			return nil
		})
	}
}
