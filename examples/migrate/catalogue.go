package main

import (
	"errors"
	"os"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs/readervfs"
)

// catalogue is a SQLite database that is read through an open file.
type catalogue struct {
	file *os.File
	db   *sqlite3.Conn
}

func openCatalogue(name string) (*catalogue, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	c := &catalogue{file: f}
	readervfs.Create("catalogue", c)
	c.db, err = sqlite3.OpenFlags("file:catalogue?vfs=reader", sqlite3.OPEN_READONLY|sqlite3.OPEN_URI)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return c, nil
}

// ReadAt and Size are what SQLite reads the file through.
func (c *catalogue) ReadAt(p []byte, off int64) (int, error) { return c.file.ReadAt(p, off) }

func (c *catalogue) Size() (int64, error) {
	info, err := c.file.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// sums returns the checksum of each member.
func (c *catalogue) sums() (map[string]uint32, error) {
	rows, _, err := c.db.Prepare("select name, crc from members")
	if err != nil {
		return nil, err
	}
	sums := map[string]uint32{}
	for rows.Step() {
		sums[rows.ColumnText(0)] = uint32(rows.ColumnInt64(1))
	}
	return sums, errors.Join(rows.Err(), rows.Close())
}

func (c *catalogue) close() error {
	err := c.db.Close()
	readervfs.Delete("catalogue")
	return errors.Join(err, c.file.Close())
}
