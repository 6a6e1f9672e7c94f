// Package sqlite has examples that read SQLite databases with package mmapfile, through the
// virtual file systems of modernc.org/sqlite and of github.com/ncruces/go-sqlite3. Both
// read databases that do not change.
//
// A query that reads many pages gains, since each page is a small read. A query for a few
// rows by their key gains nothing, and neither do pages in SQLite's own cache: see
// docs/where-it-pays.md of package mmapfile. For a database that is written, use the
// library's default, which locks its files.
package sqlite
