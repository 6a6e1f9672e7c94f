package sqlite_test

import (
	"database/sql"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/util/ioutil"
	"github.com/ncruces/go-sqlite3/vfs/readervfs"
	_ "modernc.org/sqlite"
	"modernc.org/sqlite/vfs"

	"go.dw1.io/mmapfile"
)

// makeDatabase writes a database of 10,000 numbers.
func makeDatabase() (dir string) {
	dir, err := os.MkdirTemp("", "mmapfile")
	if err != nil {
		log.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(filepath.Join(dir, "numbers.sqlite")))
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	_, err = db.Exec(`create table numbers (n integer);
		with recursive up (n) as (select 1 union all select n + 1 from up where n < 10000)
		insert into numbers select n from up`)
	if err != nil {
		log.Fatal(err)
	}
	return dir
}

// modernc.org/sqlite takes an fs.FS.
func Example_modernc() {
	dir := makeDatabase()
	defer os.RemoveAll(dir)

	name, files, err := vfs.New(mmapfile.DirFS(dir))
	if err != nil {
		log.Fatal(err)
	}
	defer files.Close()
	db, err := sql.Open("sqlite", "file:numbers.sqlite?mode=ro&immutable=1&vfs="+name)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	var sum int
	if err := db.QueryRow("select sum(n) from numbers").Scan(&sum); err != nil {
		log.Fatal(err)
	}
	fmt.Println(sum)
	// Output: 50005000
}

// github.com/ncruces/go-sqlite3 takes an io.ReaderAt with a size.
func Example_ncruces() {
	dir := makeDatabase()
	defer os.RemoveAll(dir)

	f, err := mmapfile.Open(filepath.Join(dir, "numbers.sqlite"))
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	readervfs.Create("numbers", ioutil.NewSizeReaderAt(f))
	defer readervfs.Delete("numbers")
	db, err := sqlite3.OpenFlags("file:numbers?vfs=reader", sqlite3.OPEN_READONLY|sqlite3.OPEN_URI)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	statement, _, err := db.Prepare("select sum(n) from numbers")
	if err != nil {
		log.Fatal(err)
	}
	defer statement.Close()
	for statement.Step() {
		fmt.Println(statement.ColumnInt64(0))
	}
	if err := statement.Err(); err != nil {
		log.Fatal(err)
	}
	// Output: 50005000
}
